"""ReelRecorder: takes steps and arrays from the caller, and keeps them in a journal.

Arrays reach the journal before the block of steps that says they are there, so that whatever a crash leaves, a step
that can be read has its arrays. Each segment stands by itself: it begins with what it holds and the row it begins with,
and no row lies in two of them, so that each can be sealed into a file of its own and then removed.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead import clock, disk, strictjson
from playhead.errors import Closed, OutOfOrder, PlayheadError, WrongShape, WrongType
from playhead.lanes.arrays import codec, rows
from playhead.lanes.arrays.config import SEGMENT_STEPS, ReplayConfig
from playhead.lanes.arrays.kind import FINALS, GROUPS, MOST_GROUPS, PREFIXES, STEPS, ArrayKind
from playhead.lanes.arrays.stage import Pool, Rows, Stage
from playhead.signal.contract import check_stamp
from playhead.signal.keys import LEAST
from playhead.tape import DECLARATION, SAMPLES, Crew, Declaration, Tape

ROWS, ARRAYS = "steps", "arrays"  # what the declarations of a journal are about
RECORD = struct.Struct("<QI")  # first row and number of rows, before their bytes
ROWS_NUMBER = 0
VERSION = 1
RARE = 4  # rows that are compressed together where an episode has one
_UNBOUNDED = 1 << 62
_INTEGERS = frozenset((int, np.int64, np.int32))


@dataclass(slots=True)
class Beginning:
    """Where a recording begins: behind what there is.

    Attributes:
        row: The next step.
        episode: The next episode.
        finals: The next final observation.
        prefixes: The next stack of frames from before an episode.
        last_ns: The newest stamp.
        groups: The bits of `has`, in order.
        agents: The agents, in order.
        kinds: The arrays, by axis and name: a run never changes their shape.
    """

    row: int = 0
    episode: int = 0
    finals: int = 0
    prefixes: int = 0
    last_ns: int = LEAST - 1
    groups: list[str] = field(default_factory=lambda: list(GROUPS))
    agents: list[str] = field(default_factory=list)
    kinds: dict[tuple[str, str], ArrayKind] = field(default_factory=dict)


class ReelRecorder(Tape):
    """Records the steps of one environment into a journal.

    `step` costs the caller one copy of each array. Safe in threads.

    Args:
        folder: The journal.
        config: How.
        prepare: Called with the number of the first segment of this recording, when the journal is ours; seals what an
            earlier one left, and says where this one begins.
        facts: What does not change, as JSON: the environment, its spaces.
        stacks: For arrays of which a row is the newest of several that one observation is made of, how many.
        on_roll: Called in a thread of its own when a segment is complete, with the number of the next one.
        on_end: Called when everything is written, while the journal is still ours.
        crew: The thread that writes, where several reels share one.
    """

    def __init__(
        self,
        folder: disk.StrPath,
        config: ReplayConfig,
        prepare: Callable[[int], Beginning],
        *,
        facts: Mapping[str, Any] | None = None,
        stacks: Mapping[str, int] | None = None,
        on_roll: Callable[[int], None] | None = None,
        on_end: Callable[[], None] | None = None,
        crew: Crew | None = None,
    ) -> None:
        sync_ns = None if config.sync is None else round(config.sync * clock.SECOND)
        super().__init__(folder, interval=config.interval / 2, sync_ns=sync_ns, segment_bytes=_UNBOUNDED, crew=crew)
        try:
            self._journal.roll()
            begin = prepare(self._journal.segment)
        except BaseException:
            self._is_closed = True
            self._journal.close()
            raise
        self._config = config
        self._facts = dict(facts or {})
        self._stacks = dict(stacks or {})
        self._on_roll = on_roll
        self._rolling: threading.Thread | None = None
        self._is_roll_due = False
        self._on_end = on_end
        self._lock = threading.RLock()  # held by whoever records
        self._pool = Pool(config.queue, self.check)
        self._stamps = clock.Stamps(begin.last_ns)
        self._groups, self._agents, self._kinds = begin.groups, begin.agents, begin.kinds
        self._row, self._written, self._episode = begin.row, begin.row, begin.episode
        self._rare = {FINALS: begin.finals, PREFIXES: begin.prefixes}  # rows of these axes
        self._bases = {STEPS: begin.row, **self._rare}
        self._is_open = False  # an episode is
        self._steps_of: dict[int, int] = {}  # for each agent, the number of its next step
        self._is_timed = False  # the caller gives times
        self._stages: dict[str, Stage] = {}
        self._rare_stages: dict[tuple[str, str], Stage] = {}
        self._declared: list[Stage] = []
        self._steps: list[tuple[Any, ...]] = []
        self._notes: list[tuple[int, dict[str, Any]]] = []
        self._ended: Closed | None = None
        self._is_new = True  # nothing is in the segment yet
        self._fetched_at = clock.elapsed_ns()
        self._start()

    # -- the caller's side ------------------------------------------------------------------------------------------

    @property
    def row(self) -> int:
        """The position of the next step."""
        return self._row

    @property
    def episode(self) -> int:
        """The number of the episode that is open, or comes next."""
        return self._episode

    @property
    def is_open(self) -> bool:
        """Whether an episode is open."""
        return self._is_open

    def begin(
        self,
        facts: Mapping[str, Any] | None = None,
        prefixes: Mapping[str, NDArray[Any]] | None = None,
        *,
        ts_ns: int | None = None,
    ) -> int:
        """Begin an episode; one that is open ends without a result.

        Args:
            facts: What is known at its start, as JSON: seed, options.
            prefixes: For each array that holds stacks, the rows of the first stack that come before its newest.
            ts_ns: When it begins; without it, now.

        Returns:
            Its number.
        """
        with self._lock:
            self._refuse_ended()
            if self._is_open:
                self.end("reset")
            note: dict[str, Any] = {"begin": self._episode, "row": self._row, "ns": self._stamp(ts_ns)}
            if ts_ns is not None:
                self._stamps.last = ts_ns - 1  # its first step may have the same time
            if facts:
                note["facts"] = dict(facts)
            note |= self._put_rare(PREFIXES, prefixes or {})
            self._notes.append((self._row, note))
            self._is_open, self._steps_of = True, {}
            return self._episode

    def step(
        self,
        arrays: Mapping[str, Any],
        reward: Any,
        terminated: bool,
        truncated: bool,
        info: bytes = b"",
        *,
        agent: str | None = None,
        step: int | None = None,
        ts_ns: int | None = None,
    ) -> int:
        """Record a step.

        Args:
            arrays: What was seen and done, by name; those left out are empty here.
            reward: What came of it.
            terminated: The episode came to its end.
            truncated: The episode was cut off.
            info: JSON, or nothing.
            agent: Who acted, where there are several.
            step: Its number in the episode; without it, one more than the last.
            ts_ns: Its time; without it, now.

        Returns:
            Its position.

        Raises:
            WrongShape, WrongType: An array differs from those before. Nothing is recorded.
        """
        with self._lock:
            if self._ended is not None or self.writer.error is not None or self._is_roll_due:
                self._refuse_ended()
                self._roll()
            puts, has = [], 0
            stages = self._stages
            for name, given in arrays.items():
                stage, value = stages.get(name), given
                if stage is None:
                    stage = self._new_stage(name, STEPS, given)
                    value = fitted(given, stage.kind)
                elif type(value) is np.ndarray:
                    if value.shape != stage.shape or value.dtype != stage.dtype:
                        value = fitted(given, stage.kind)
                elif type(value) not in _INTEGERS or not stage.least <= value <= stage.most:
                    value = fitted(given, stage.kind)
                puts.append((stage, value))
                has |= stage.bit
            number = 0 if agent is None else self._agent(agent)
            if step is not None and self._is_open and step < self._steps_of.get(number, 0):
                raise OutOfOrder(f"step {step} comes behind step {self._steps_of[number] - 1} of this episode")
            reward = float(reward)
            if not self._is_open:
                self.begin(ts_ns=ts_ns)
            stamp = self._stamps.next() if ts_ns is None else self._stamp(ts_ns)
            row = self._row
            for stage, value in puts:
                stage.put(row, value)
            place = self._steps_of.get(number, 0) if step is None else step
            flags = (rows.TERMINATED if terminated else 0) | (rows.TRUNCATED if truncated else 0)
            self._steps.append((stamp, reward, place, self._episode, number, has, flags, info))
            self._row = row + 1
            self._steps_of[number] = place + 1
            return row

    def end(self, how: str, finals: Mapping[str, Any] | None = None, facts: Mapping[str, Any] | None = None) -> None:
        """End the open episode; without one, nothing happens.

        Args:
            how: `terminated`, `truncated`, `reset`, `error` or `closed`.
            finals: What was seen after its last step, by name.
            facts: What is known at its end, as JSON.
        """
        with self._lock:
            if not self._is_open:
                return
            stamp = self._stamps.last if self._is_timed else self._stamps.next()
            note: dict[str, Any] = {"end": self._episode, "row": self._row, "how": how, "ns": stamp}
            if facts:
                note["facts"] = dict(facts)
            note |= self._put_rare(FINALS, finals or {})
            self._notes.append((self._row, note))
            self._is_open = False
            self._episode += 1

    def _put_rare(self, axis: str, values: Mapping[str, Any]) -> dict[str, Any]:
        """Record what lies at an end of an episode; give what its note says of it."""
        if not values:
            return {}
        stages = {name: self._rare_stages.get((axis, name)) for name in values}
        found = {name: stage or self._new_stage(name, axis, values[name]) for name, stage in stages.items()}
        fitting = [(stage, fitted(values[name], stage.kind)) for name, stage in found.items()]
        row = self._rare[axis]
        for stage, value in fitting:
            stage.put(row, value)
        self._rare[axis] = row + 1
        return {axis: row, "arrays": list(values)}

    def _refuse_ended(self) -> None:
        if self._ended is not None:
            raise self._ended.with_traceback(None)
        self.check()

    def _stamp(self, ts_ns: int | None) -> int:
        self._is_timed = ts_ns is not None
        if ts_ns is None:
            return self._stamps.next()
        return self._stamps.at(check_stamp(ts_ns, self._stamps.last))

    def _agent(self, name: str) -> int:
        if name not in self._agents:
            self._agents.append(name)
            self._notes.append((self._row, {"agent": name}))
        return self._agents.index(name)

    def _new_stage(self, name: str, axis: str, first: Any) -> Stage:
        """Take up an array with its first row."""
        kind = self._kinds.get((axis, name))
        if kind is None:
            like = self._kinds.get((STEPS, name))
            array = as_array(name, first, None if like is None else np.dtype(like.dtype))
            stack = self._stacks.get(name, 1) if axis == STEPS else 1
            kind = ArrayKind.of(name, axis, array, chunk=self._config.chunk if axis == STEPS else RARE, stack=stack)
        fitted(first, kind)
        bit = self._bit(kind.group)
        with self._turn:
            stage = Stage(kind, len(self._declared) + 1, bit, self._bases[axis], self._pool, self.writer.wake)
            self._declared.append(stage)
            if not self._is_new:
                self._declare(stage)
        self._kinds[axis, name] = kind
        if axis == STEPS:
            self._stages[name] = stage
        else:
            self._rare_stages[axis, name] = stage
        return stage

    def _bit(self, group: str) -> int:
        if group not in self._groups:
            if len(self._groups) == MOST_GROUPS:
                raise WrongType(f"a replay holds at most {MOST_GROUPS} groups of arrays; {group!r} is one too many")
            self._groups.append(group)
            self._notes.append((self._row, {"group": group}))
        return 1 << self._groups.index(group)

    # -- the background's side; `_turn` is held ---------------------------------------------------------------------

    def _round(self) -> None:
        with self._turn:
            if clock.elapsed_ns() - self._fetched_at >= self._config.interval / 2 * clock.SECOND:
                super()._round()
            else:
                self._write(stage.full() for stage in self._declared)
        is_full = self._journal.size >= self._config.segment_bytes or self._row - self._bases[STEPS] >= SEGMENT_STEPS
        self._is_roll_due = is_full and not self._is_rolling()

    def _fetch(self) -> None:
        until = self._row
        steps = self._steps[: until - self._written]
        noted = sum(1 for row, _ in self._notes if row <= until)
        notes = [note for _, note in self._notes[:noted]]
        self._write(stage.pending(until if stage.kind.axis == STEPS else _UNBOUNDED) for stage in self._declared)
        if steps or notes:
            self._open_segment()
            self._append(SAMPLES, ROWS_NUMBER, *rows.pack(self._written, steps, notes))
            del self._steps[: len(steps)]
            del self._notes[:noted]
            self._written = until
        self._fetched_at = clock.elapsed_ns()

    def _write(self, staged: Iterable[Iterator[Rows]]) -> None:
        for number, pending in enumerate(staged, ROWS_NUMBER + 1):
            for first, values in pending:
                self._open_segment()
                data = codec.encode(codec.ZSTD, values, self._level)
                self._append(SAMPLES, number, RECORD.pack(first, len(values)), data)

    @property
    def _level(self) -> int:
        return self._config.level if self._config.codec == codec.ZSTD else 1

    def _open_segment(self) -> None:
        if not self._is_new:
            return
        facts = {
            "version": VERSION,
            "bases": self._bases,
            "groups": self._groups,
            "agents": self._agents,
            "facts": self._facts,
            "codec": self._config.codec,
            "level": self._config.level,
        }
        declaration = Declaration(ROWS, "", facts)
        self._append(DECLARATION, ROWS_NUMBER, strictjson.encode(declaration._asdict()))
        for stage in self._declared:
            self._declare(stage)
        self._is_new = False

    def _declare(self, stage: Stage) -> None:
        declaration = Declaration(ARRAYS, stage.kind.name, stage.kind.to_json())
        self._append(DECLARATION, stage.number, strictjson.encode(declaration._asdict()))

    def _is_rolling(self) -> bool:
        return self._rolling is not None and self._rolling.is_alive()

    def _roll(self) -> None:
        """Go on in a new segment, if that is due. Whoever records does it, between two steps."""
        if not self._is_roll_due:
            return
        with self._turn:
            self._is_roll_due = False
            self._fetch()
            self._journal.roll()
            self._is_new = True
            self._bases = {STEPS: self._row, **self._rare}
            for stage in self._declared:
                stage.rebase(self._bases[stage.kind.axis])
            self._open_segment()
        if self._on_roll is not None:
            self._rolling = threading.Thread(target=self._rolled, args=(self._journal.segment,), daemon=True)
            self._rolling.start()

    def _rolled(self, segment: int) -> None:
        assert self._on_roll is not None
        try:
            self._on_roll(segment)
        except (OSError, PlayheadError) as error:
            self.writer.error = error

    # -- the end ----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Write everything down and give the journal back; an open episode ends. Closing twice is fine."""
        with self._lock:
            if self._ended is None:
                self.refuse_in_child()
                self.end("closed")
                self._ended = Closed("the recording has ended and takes no more steps")
        super().close()

    def _let_go(self) -> None:
        try:
            if self._rolling is not None:
                self._rolling.join()
            if self._on_end is not None:
                self._on_end()
        finally:
            super()._let_go()

    def abandon(self) -> None:
        """Give the journal back as it is."""
        self._on_end = None
        self._ended = Closed("the recording was abandoned and takes no more steps")
        super().abandon()

    def disown(self) -> None:
        """Let go in a forked child, where another thread of the parent may have held the lock."""
        self._lock = threading.RLock()
        super().disown()


def as_array(name: str, value: Any, dtype: np.dtype[Any] | None) -> NDArray[Any]:
    """Give what a caller handed in as an array; whole numbers are int32 where they fit.

    Raises:
        WrongType: It is none.
    """
    if type(value) is np.ndarray:
        return value
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        wanted = dtype or np.dtype(np.int32 if -(1 << 31) <= value < 1 << 31 else np.int64)
        if wanted.kind in "iu" and not np.iinfo(wanted).min <= value <= np.iinfo(wanted).max:
            raise WrongType(f"{name}: {value} does not fit into {wanted}, the type of the first one")
        return np.array(value, wanted)
    try:
        return np.asarray(value)
    except (ValueError, TypeError) as error:
        raise WrongType(f"{name}: {type(value).__name__} is not an array: {error}") from error


def fitted(value: Any, kind: ArrayKind) -> NDArray[Any]:
    """Give a value as a row of its array.

    Raises:
        WrongShape, WrongType: It is not one.
    """
    dtype = np.dtype(kind.dtype)
    array = as_array(kind.name, value, dtype)
    if array.shape != kind.shape:
        raise WrongShape(
            f"{kind.name} has the shape {list(array.shape)} where those before have {list(kind.shape)}: "
            "arrays of a run keep their shape; record another environment into another run"
        )
    if array.dtype == dtype:
        return array
    if type(value) is not np.ndarray and np.can_cast(array.dtype, dtype, "same_kind"):
        return array.astype(dtype)
    is_shorter = array.dtype.kind == dtype.kind == "S" and array.itemsize <= dtype.itemsize
    if is_shorter or array.dtype.newbyteorder("<") == dtype:
        return array.astype(dtype)
    raise WrongType(
        f"{kind.name} has the type {array.dtype} where those before have {dtype}: arrays of a run keep their type"
    )
