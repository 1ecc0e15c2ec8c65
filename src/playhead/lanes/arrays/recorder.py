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
from playhead.lanes.arrays.values import as_array, fitted
from playhead.signal.contract import check_stamp
from playhead.signal.keys import LEAST, MOST
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
        self._facts = _json(facts or {})
        self._stacks = dict(stacks or {})
        self._on_roll = on_roll
        self._rolling: threading.Thread | None = None
        self._is_roll_due = False
        self._on_end = on_end
        self._lock = threading.RLock()  # held by whoever records
        self._pool = Pool(config.queue, self.check)
        self._stamps = clock.Stamps(begin.last_ns)
        self._groups, self._agents, self._kinds = begin.groups, begin.agents, begin.kinds
        self._written, self._episode = begin.row, begin.episode
        self._rare = {FINALS: begin.finals, PREFIXES: begin.prefixes}  # rows of these axes
        self._bases = {STEPS: begin.row, **self._rare}
        self._is_open = False  # an episode is
        self._steps_of: dict[int, int] = {}  # for each agent, the number of its next step
        self._is_timed = False  # the caller gives times
        self._stages: dict[str, Stage] = {}
        self._rare_stages: dict[tuple[str, str], Stage] = {}
        self._declared: list[Stage] = []
        self._sound: set[tuple[str, ...]] = set()  # names of arrays that come together
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
    def _row(self) -> int:
        # Nothing but the append to `_steps` makes a step: an exception of a signal comes before it or behind it.
        return self._written + len(self._steps)

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
                note["facts"] = _json(facts)
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
            names = tuple(arrays)
            if names not in self._sound:
                self._take_up(names, arrays)
            puts, has = [], 0
            stages = self._stages
            for name, given in arrays.items():
                stage, value = stages[name], given
                if type(value) is np.ndarray:
                    if value.shape != stage.shape or value.dtype != stage.dtype:
                        value = fitted(given, stage.kind)
                elif type(value) not in _INTEGERS or not stage.least <= value <= stage.most:
                    value = fitted(given, stage.kind)
                puts.append((stage, value))
                has |= stage.bit
            if type(info) is not bytes:
                raise WrongType(f"an info is JSON as bytes, not {type(info).__name__}")
            reward = float(reward)
            number = 0 if agent is None else self._agent(agent)
            if step is not None:
                self._check_step(step, number)
            if not self._is_open:
                self.begin(ts_ns=ts_ns)
            if ts_ns is None:
                stamp = self._stamps.next()
            elif type(ts_ns) is int and self._stamps.last < ts_ns <= MOST:
                stamp = self._stamps.last = ts_ns
            else:
                stamp = self._stamp(ts_ns)
            row = self._written + len(self._steps)
            for stage, value in puts:
                stage.put(row, value)
            place = self._steps_of.get(number, 0) if step is None else step
            flags = (rows.TERMINATED if terminated else 0) | (rows.TRUNCATED if truncated else 0)
            self._steps_of[number] = place + 1
            self._steps.append((stamp, reward, place, self._episode, number, has, flags, info))
            return row

    def end(
        self,
        how: str,
        finals: Mapping[str, Any] | None = None,
        facts: Mapping[str, Any] | None = None,
        *,
        ts_ns: int | None = None,
    ) -> None:
        """End the open episode; without one, nothing happens.

        Args:
            how: `terminated`, `truncated`, `reset`, `error` or `closed`.
            finals: What was seen after its last step, by name.
            facts: What is known at its end, as JSON.
            ts_ns: When it ends, at the last step at the earliest; without it, now, or where the caller gives the times
                of steps, with the last one.
        """
        with self._lock:
            if not self._is_open:
                return
            self.refuse_in_child()
            if ts_ns is not None:
                self._stamps.last = max(self._stamps.last, ts_ns)
            stamp = self._stamps.last if self._is_timed else self._stamps.next()
            note: dict[str, Any] = {"end": self._episode, "row": self._row, "how": how, "ns": stamp}
            if facts:
                note["facts"] = _json(facts)
            note |= self._put_rare(FINALS, finals or {})
            self._notes.append((self._row, note))
            self._is_open = False
            self._episode += 1

    def _put_rare(self, axis: str, values: Mapping[str, Any]) -> dict[str, Any]:
        """Record what lies at an end of an episode; give what its note says of it."""
        if not values:
            return {}
        kinds = {name: self._kind_of(name, axis, value) for name, value in values.items()}
        fitting = [(name, fitted(value, kinds[name])) for name, value in values.items()]
        row = self._rare[axis]
        for name, value in fitting:
            stage = self._rare_stages.get((axis, name)) or self._new_stage(kinds[name])
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

    def _check_step(self, step: Any, agent: int) -> None:
        if not isinstance(step, int) or isinstance(step, bool) or not 0 <= step < 1 << 63:
            raise WrongType(f"the number of a step is a whole number from 0, not {step!r}")
        if self._is_open and step < self._steps_of.get(agent, 0):
            raise OutOfOrder(f"step {step} comes behind step {self._steps_of[agent] - 1} of this episode")

    def _agent(self, name: str) -> int:
        if not isinstance(name, str) or not name:
            raise WrongType(f"an agent is named by a text, not {name!r}")
        if name not in self._agents:
            self._agents.append(name)
            self._notes.append((self._row, {"agent": name}))
        return self._agents.index(name)

    def _take_up(self, names: tuple[str, ...], arrays: Mapping[str, Any]) -> None:
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
        self._sound.add(names)

    def _kind_of(self, name: str, axis: str, first: Any) -> ArrayKind:
        """Describe an array, by its first row where it is new."""
        kind = self._kinds.get((axis, name))
        if kind is None:
            like = self._kinds.get((STEPS, name))
            array = as_array(name, first, None if like is None else np.dtype(like.dtype))
            stack = self._stacks.get(name, 1) if axis == STEPS else 1
            kind = ArrayKind.of(name, axis, array, chunk=self._config.chunk if axis == STEPS else RARE, stack=stack)
        return kind

    def _new_stage(self, kind: ArrayKind) -> Stage:
        """Make the stage of an array and declare it."""
        bit = self._bit(kind.group)
        with self._turn:
            stage = Stage(kind, len(self._declared) + 1, bit, self._bases[kind.axis], self._pool, self.writer.wake)
            self._declared.append(stage)
            if not self._is_new:
                self._declare(stage)
        self._kinds[kind.axis, kind.name] = kind
        if kind.axis != STEPS:
            self._rare_stages[kind.axis, kind.name] = stage
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
                self._write(stage.full(self._until(stage)) for stage in self._declared)
        steps = self._row - self._bases[STEPS]
        self._is_roll_due = self._journal.size >= self._config.segment_bytes or steps >= SEGMENT_STEPS

    def _fetch(self) -> None:
        until = self._row
        steps = self._steps[: until - self._written]
        noted = sum(1 for row, _ in self._notes if row <= until)
        notes = [note for _, note in self._notes[:noted]]
        self._write(stage.pending(self._until(stage, until)) for stage in self._declared)
        if steps or notes:
            self._open_segment()
            self._append(SAMPLES, ROWS_NUMBER, *rows.pack(self._written, steps, notes))
            count = len(steps)
            # One statement without a call: a signal's exception, or another thread, comes before or behind it.
            self._steps, self._notes, self._written = self._steps[count:], self._notes[noted:], until
        self._fetched_at = clock.elapsed_ns()

    def _until(self, stage: Stage, row: int | None = None) -> int:
        """Give the row up to which an array is written: that of a step, or for finals and prefixes, all there is."""
        if stage.kind.axis != STEPS:
            return _UNBOUNDED
        return self._row if row is None else row

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

    def _roll(self) -> None:
        """Go on in a new segment, if that is due. Whoever records does it, between two steps."""
        if not self._is_roll_due:
            return
        with self._turn:
            self._fetch()
            bases = {STEPS: self._row, **self._rare}
            self._is_roll_due, self._is_new, self._bases = False, True, bases
            self._journal.roll()
            for stage in self._declared:
                stage.rebase(self._bases[stage.kind.axis])
            self._open_segment()
        if self._on_roll is not None and (self._rolling is None or not self._rolling.is_alive()):
            self._rolling = threading.Thread(target=self._tell, args=(self._on_roll,))
            self._rolling.start()

    def _tell(self, on_roll: Callable[[int], None]) -> None:
        told = -1
        try:
            while told < self._journal.segment:
                told = self._journal.segment
                on_roll(told)
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


def _json(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Take facts that a file will hold as JSON.

    Raises:
        WrongType: They cannot be.
    """
    try:
        strictjson.encode(dict(facts))
    except TypeError as error:
        raise WrongType(f"facts are kept as JSON, and these cannot be: {error}") from error
    return dict(facts)
