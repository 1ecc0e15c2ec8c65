"""DeclaringTape: which arrays, groups of arrays and agents a reel has, and by their size, how often they are written.

Each is taken up with the first step that has it, and stays as it was then: a run never changes the shape of an array.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from playhead import clock, disk
from playhead.errors import WrongShape, WrongType
from playhead.lanes.arrays import rows
from playhead.lanes.arrays.config import ReplayConfig
from playhead.lanes.arrays.kind import CHECKS, KEYFRAMES, MOST_GROUPS, STEPS, ArrayKind
from playhead.lanes.arrays.reeltape import Beginning, ReelTape, Together
from playhead.lanes.arrays.stage import Stage
from playhead.lanes.arrays.values import as_array, fitted
from playhead.tape import Crew

RARE = 4  # rows that are compressed together where an episode has one
STATES = 16  # states of a simulator that are: each is much like the one before
_FEW = 3  # batches that wait while the caller is not held up
_FEW_BYTES = 1 << 20  # of copied steps that are, or one batch: copies into few chunks stay in the processor's caches
_BATCH = 64  # copied steps after which the background is woken, or fewer: what it gives back is still in a cache then
_LARGE_BATCH = 128  # steps that are not copied: each time costs a busy caller some tens of microseconds
_GIVEN = 16  # steps that are recorded together
_STEP_BYTES = 600  # of Python objects that one waiting step is, besides its arrays and its info
_SMALL_INFO = 256
_LEAST_WAITING = 4  # steps, however large
_OUTRUN = 1.0  # the time between steps, of that for staging one, below which they come too fast
_MOST_AGENT = int(np.iinfo(rows.ROW["agent"]).max)


class DeclaringTape(ReelTape):
    """Lays the steps of one environment down, and knows what they hold; the arguments are those of `ReelRecorder`."""

    def __init__(
        self,
        folder: disk.StrPath,
        config: ReplayConfig,
        prepare: Callable[[int], Beginning],
        *,
        facts: Mapping[str, Any] | None,
        stacks: Mapping[str, int] | None,
        on_roll: Callable[[int], None] | None,
        on_end: Callable[[], None] | None,
        crew: Crew | None,
    ) -> None:
        super().__init__(folder, config, prepare, facts=facts, on_roll=on_roll, on_end=on_end, crew=crew)
        self._stacks = dict(stacks or {})
        self._kinds = self._begin_at.kinds
        self._numbers = {name: number for number, name in enumerate(self._agents)}
        self._stages: dict[str, Stage] = {}
        self._rare_stages: dict[tuple[str, str], Stage] = {}
        self._together: dict[tuple[str, ...], Together] = {}
        self._batch, self._large_batch, self._most = _BATCH, _LARGE_BATCH, _LEAST_WAITING
        self._few, self._large_few = _LEAST_WAITING, _LEAST_WAITING
        self._most_given = _GIVEN
        self._info_bytes = _SMALL_INFO  # the longest so far
        self._wake_at = self._begin_at.row
        self._handed = self._begin_at.row, 0  # the step that was last handed over to the background, and when

    def shape_of(self, name: str, axis: str = STEPS) -> tuple[int, ...] | None:
        """Give the shape of an array's rows; None where there is none yet."""
        kind = self._kinds.get((axis, name))
        return None if kind is None else kind.shape

    def _note(self, note: dict[str, Any]) -> None:
        with self._adding:
            self._notes.append((self._row, note))

    def _agent(self, name: str) -> int:
        number = self._numbers.get(name) if isinstance(name, str) else None
        return self._new_agent(name) if number is None else number

    def _new_agent(self, name: str) -> int:
        if not isinstance(name, str) or not name or not _can_be_written(name):
            raise WrongType(f"an agent is named by a text of whole characters without U+0000, not {name!r}")
        if len(self._agents) > _MOST_AGENT:
            raise WrongType(f"a replay holds at most {_MOST_AGENT + 1:,} agents; {name!r} is one too many")
        if name not in self._agents:  # else a signal's exception came before the last line here
            self._agents.append(name)
            self._note({"agent": name})
        self._numbers[name] = number = self._agents.index(name)
        return number

    def _take_up(self, names: tuple[str, ...], arrays: Mapping[str, Any]) -> Together:
        """Take up the arrays of a step that are new; those of one group come together, or not at all.

        Raises:
            WrongShape, WrongType: One of them cannot be recorded. None is taken up.
        """
        kinds = {name: self._kind_of(name, STEPS, arrays[name]) for name in names}
        for name, kind in kinds.items():
            fitted(arrays[name], kind)
        for group in {kind.group for kind in kinds.values()}:
            known = {name for (axis, name), kind in self._kinds.items() if axis == STEPS and kind.group == group}
            given = {name for name, kind in kinds.items() if kind.group == group}
            if known and given != known:
                odd = ", ".join(sorted(known ^ given))
                raise WrongShape(f"a step that has {group} has all its parts, as those before; it differs in {odd}")
        for name, kind in kinds.items():
            if name not in self._stages:
                self._stages[name] = self._new_stage(kind)
        stages = tuple(self._stages[name] for name in names)
        has = 0
        for stage in stages:
            has |= stage.bit
        self._pace()
        return self._together.setdefault(names, Together(stages, has))

    def _pace(self) -> None:
        """Say how often the background is woken, and how much may wait, by the size of all arrays."""
        kinds = [stage.kind for stage in self._stages.values()]
        step_bytes = _STEP_BYTES + self._info_bytes + sum(kind.row_bytes for kind in kinds)
        self._most = max(_LEAST_WAITING, self._config.queue // step_bytes)
        self._large_batch = min(_LARGE_BATCH, max(1, self._most // 4))
        self._large_few = min(self._most, _FEW * self._large_batch)
        self._batch = min([_BATCH, self._large_batch, *(kind.chunk for kind in kinds)])
        self._few = min(self._most, max(self._batch, min(_FEW * self._batch, _FEW_BYTES // step_bytes)))
        self._at_once = max(1, self._most // 2)
        self._most_given = min(_GIVEN, max(1, self._most // 4))

    def _hand_over(self, row: int, batch: int, few: int) -> None:
        """Let the background work on what waits, and wait for it where that is more than a few steps.

        Where steps come so fast that it could only be waited for, its work is done here instead, in the memory that
        this processor has in its caches: for a tenth less of the processor in all.
        """
        self._wake_at = row + batch - (row + 1 - self._bases[STEPS]) % batch  # a step that makes chunks full
        is_mine = not self._config.background or self._is_outrun(row)
        if is_mine:
            self._lay_here()
            few = self._most  # which only a disk that takes nothing leaves waiting
        if row - self._staged >= few:
            self._wait_for_room(row, few, self._most)
        elif not is_mine:
            self.writer.wake()
        self._handed = row, clock.elapsed_ns()

    def _is_outrun(self, row: int) -> bool:
        """Tell whether steps come faster than anybody could write them."""
        before, handed_at = self._handed
        return clock.elapsed_ns() - handed_at < _OUTRUN * self._staging_ns * (row - before)

    def _lay_here(self) -> None:
        """Do what the background does otherwise."""
        with self._turn:
            try:
                self._stage(self._row)
            except OSError as error:  # raised by the next call, as one of the background
                self.writer.error = error

    def _kind_of(self, name: str, axis: str, first: Any) -> ArrayKind:
        """Describe an array, by its first row where it is new."""
        kind = self._kinds.get((axis, name))
        if kind is None:
            like = self._kinds.get((STEPS, name))
            array = as_array(name, first, None if like is None else np.dtype(like.dtype))
            stack = self._stacks.get(name, 1) if axis == STEPS else 1
            chunk = {STEPS: self._config.chunk, KEYFRAMES: STATES}.get(axis, RARE)
            kind = ArrayKind.of(name, axis, array, chunk=chunk, stack=stack)
        return kind

    def _new_stage(self, kind: ArrayKind) -> Stage:
        """Make the stage of an array and declare it."""
        stage = self._add_stage(kind, self._bits(kind))
        self._kinds[kind.axis, kind.name] = kind
        if kind.axis != STEPS:
            self._rare_stages[kind.axis, kind.name] = stage
        return stage

    def _bits(self, kind: ArrayKind) -> int:
        """Give the bit of a group; a step with a check of an array counts as one that has the array."""
        if kind.axis == KEYFRAMES:
            return 0
        head, _, checked = kind.name.partition(".")
        return self._bit(head) | (self._bit(checked.partition(".")[0]) if head == CHECKS and checked else 0)

    def _bit(self, group: str) -> int:
        if group not in self._groups:
            if len(self._groups) == MOST_GROUPS:
                raise WrongType(f"a replay holds at most {MOST_GROUPS} groups of arrays; {group!r} is one too many")
            self._groups.append(group)
            self._note({"group": group})
        return 1 << self._groups.index(group)


def _can_be_written(text: str) -> bool:
    """Tell whether a text can lie in HDF5 and in UTF-8."""
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:  # half a character
        return False
