"""ReelTape: the background's side of recording a reel.

Arrays reach the journal before the block of steps that says they are there, so that whatever a crash leaves, a step
that can be read has its arrays. Each segment stands by itself: it begins with what it holds and the row it begins with,
and no row lies in two of them, so that each can be sealed into a file of its own and then removed.

What the caller hands over waits by row. The background lays it into chunks and compresses those that are full; at each
flush it also compresses what there is of the newest, and then writes the block of steps. Everything here may be tried
again after an error: a row is let go of only when all of it lies in its chunks, a chunk when it is in the journal, and
steps when their block is.
"""

from __future__ import annotations

import contextlib
import struct
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from playhead import clock, disk, strictjson
from playhead.errors import PlayheadError, WrongType
from playhead.lanes.arrays import codec, rows
from playhead.lanes.arrays.config import SEGMENT_STEPS, ReplayConfig
from playhead.lanes.arrays.gathering import Copies
from playhead.lanes.arrays.kind import FINALS, GROUPS, KEYFRAMES, PREFIXES, STEPS, ArrayKind
from playhead.lanes.arrays.stage import Stage
from playhead.owner import FIELD
from playhead.signal.keys import LEAST
from playhead.tape import DECLARATION, SAMPLES, Crew, Declaration, Tape
from playhead.writer import Bell

ROWS, ARRAYS = "steps", "arrays"  # what the declarations of a journal are about
RECORD = struct.Struct("<QI")  # first row and number of rows, before their bytes
ROWS_NUMBER = 0
VERSION = 1
_UNBOUNDED = 1 << 62
_MOMENT = 0.002
_WAIT_SECONDS = 0.05


class Together(NamedTuple):
    """Arrays that come together in a step: where they go, and their bits in `has`."""

    stages: tuple[Stage, ...]
    has: int


class Stretch(NamedTuple):
    """Steps that follow one another and have the same arrays: the first of them, and the values of one after the other.

    Values of a step that was not added, since a signal's exception came in between, are replaced by those of the next.
    """

    first: int
    together: Together
    values: list[Any]


@dataclass(slots=True)
class Beginning:
    """Where a recording begins: behind what there is.

    Attributes:
        row: The next step.
        episode: The next episode.
        finals: The next final observation.
        prefixes: The next stack of frames from before an episode.
        keyframes: The next state of a simulator.
        last_ns: The newest stamp.
        groups: The bits of `has`, in order.
        agents: The agents, in order.
        kinds: The arrays, by axis and name: a run never changes their shape.
    """

    row: int = 0
    episode: int = 0
    finals: int = 0
    prefixes: int = 0
    keyframes: int = 0
    last_ns: int = LEAST - 1
    groups: list[str] = field(default_factory=lambda: list(GROUPS))
    agents: list[str] = field(default_factory=list)
    kinds: dict[tuple[str, str], ArrayKind] = field(default_factory=dict)


class ReelTape(Tape):
    """Lays the steps of one environment down in a journal.

    Args:
        folder: The journal.
        config: How.
        prepare: Called with the number of the first segment of this recording, when the journal is ours; seals what an
            earlier one left, and says where this one begins.
        facts: What does not change, as JSON: the environment, its spaces.
        on_roll: Called in a thread of its own when a segment is complete, with the number of the next one.
        on_end: Called when everything is written, while the journal is still ours.
        crew: The thread that writes, where several reels share one.
    """

    _owner: Mapping[str, Any] | None = None  # whose the journal is, where that is known

    def __init__(
        self,
        folder: disk.StrPath,
        config: ReplayConfig,
        prepare: Callable[[int], Beginning],
        *,
        facts: Mapping[str, Any] | None = None,
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
        self._begin_at = begin
        self._config = config
        self._facts = as_json(facts or {})
        self._on_roll = on_roll
        self._rolling: threading.Thread | None = None
        self._is_roll_due = False
        self._on_end = on_end
        self._groups, self._agents = begin.groups, begin.agents
        self._written = begin.row
        # Rows of the axes that not every step has a row of.
        self._rare = {FINALS: begin.finals, PREFIXES: begin.prefixes, KEYFRAMES: begin.keyframes}
        self._bases = {STEPS: begin.row, **self._rare}
        self._declared: list[Stage] = []
        self._steps: list[rows.Step] = []
        self._notes: list[tuple[int, dict[str, Any]]] = []
        self._waiting = [Stretch(begin.row, Together((), 0), [])]  # what is in no chunk yet; the last one grows
        self._rare_waiting: list[tuple[Stage, int, Any]] = []
        self._staged = begin.row  # the first step that waits
        self._at_once = 1  # steps that are laid into chunks before those that are full are written
        self._is_new = True  # nothing is in the segment yet
        self._fetched_at = clock.elapsed_ns()
        self._staging_ns = 0.0  # of the processor for one step, when some were last staged
        self._moved = Bell()  # rung when steps were staged
        self._adding = threading.RLock()  # held by whoever adds a step or a note, or takes written ones away

    @property
    def _row(self) -> int:
        # Nothing but the append to `_steps` makes a step: an exception of a signal comes before it or behind it.
        return self._written + len(self._steps)

    def _wait_for_room(self, row: int, few: int, most: int) -> None:
        """Hold the caller up for a moment while a few steps wait, and for longer while many do.

        Both then work in memory that the processor still has in its caches: a copy into other memory takes twice as
        long. Where the background is held up by the disk, the caller goes on until the memory is used that it may use.
        """
        self.writer.wake()
        if row - self._staged >= few:
            self._moved.wait(_MOMENT)
        while row - self._staged >= most and not self._is_closed:
            self._moved.wait(_WAIT_SECONDS)
            self.check()

    # -- what the background does; `_turn` is held --------------------------------------------------------------------

    def _round(self) -> None:
        with self._turn:
            if clock.elapsed_ns() - self._fetched_at >= self._config.interval / 2 * clock.SECOND:
                super()._round()
            else:
                self._stage(self._row)

    def _fetch(self) -> None:
        until, written = self._row, self._written
        steps = self._steps[: until - written]
        noted = sum(1 for row, _ in self._notes if row <= until)
        notes = [note for _, note in self._notes[:noted]]
        self._stage(until)
        self._write()
        if steps or notes:
            self._open_segment()
            self._append(SAMPLES, ROWS_NUMBER, *rows.pack(self._written, steps, notes))
            with self._adding:
                # Without a call: a signal's exception, or another thread, comes before or behind all three.
                del self._steps[: until - written], self._notes[:noted]
                self._written = until
        self._fetched_at = clock.elapsed_ns()

    def _stage(self, until: int) -> None:
        """Lay what waits into chunks, up to a step, and write those that are full."""
        self._write(closed=True)  # what an error left: where the disk takes nothing, nothing more is laid
        first, began = self._staged, clock.spent_ns()
        while self._staged < until:
            self._lay(min(until, self._staged + self._at_once))
            self._moved.ring()
            self._write(closed=True)
        if self._staged > first:
            self._staging_ns = (clock.spent_ns() - began) / (self._staged - first)
        if self._journal.size >= self._config.segment_bytes or self._staged - self._bases[STEPS] >= SEGMENT_STEPS:
            self._is_roll_due = True
        while self._rare_waiting:
            stage, row, value = self._rare_waiting[0]
            if row >= stage.next:  # else a signal's exception came before the last line here
                copies = Copies()
                stage.lay(row, [value], copies)
                copies.make()
                stage.reach(row + 1)
            del self._rare_waiting[0]

    def _lay(self, stop: int) -> None:
        """Lay what waits into chunks, up to a step."""
        waiting, copies = self._waiting, Copies()
        reached: dict[Stage, int] = {}
        for place, (first, (stages, _), values) in enumerate(waiting):
            width = len(stages)
            end = min(stop, waiting[place + 1].first) if place + 1 < len(waiting) else stop
            for column, stage in enumerate(stages):
                start = max(first, self._staged, stage.next)  # what was laid before an error stays so
                if start < end:
                    stage.lay(start, values[(start - first) * width + column : (end - first) * width : width], copies)
                    reached[stage] = end
            if end == stop:
                break
        copies.make()
        for stage, row in reached.items():
            stage.reach(row)
        self._staged = stop
        while len(waiting) > 1 and waiting[1].first <= stop:
            del waiting[0]

    def _write(self, *, closed: bool = False) -> None:
        """Write what lies in chunks, all or only what lies in those that nothing more is laid into."""
        found = [(stage, stage.pending(closed=closed)) for stage in self._declared]
        pieces = [(stage, rows) for stage, pending in found for rows in pending]
        if pieces:
            self._open_segment()
            packed = codec.encode_all([piece.rows for _, piece in pieces], self._level)
            heads = [(stage.number, RECORD.pack(piece.first, len(piece.rows))) for stage, piece in pieces]
            self._append_all(SAMPLES, [(*head, data) for head, data in zip(heads, packed, strict=True)])
        for stage, pending in found:
            stage.settle(pending)

    @property
    def _level(self) -> int:
        return self._config.strength if self._config.codec == codec.ZSTD else codec.level_of(codec.ZSTD)

    def _open_segment(self) -> None:
        if not self._is_new:
            return
        facts = {
            "version": VERSION,
            "bases": self._bases,
            "groups": self._groups,
            "agents": self._agents,
            "facts": self._facts,
            FIELD: self._owner,
            "codec": self._config.codec,
            "level": self._config.strength,
        }
        declaration = Declaration(ROWS, "", facts)
        self._append(DECLARATION, ROWS_NUMBER, strictjson.encode(declaration._asdict()))
        for stage in self._declared:
            self._declare(stage)
        self._is_new = False

    def _declare(self, stage: Stage) -> None:
        declaration = Declaration(ARRAYS, stage.kind.name, stage.kind.to_json())
        self._append(DECLARATION, stage.number, strictjson.encode(declaration._asdict()))

    def _add_stage(self, kind: ArrayKind, bit: int) -> Stage:
        """Make the stage of an array and declare it."""
        with self._turn:
            stage = Stage(kind, len(self._declared) + 1, bit, self._bases[kind.axis])
            self._declared.append(stage)
            if not self._is_new:
                self._declare(stage)
        return stage

    def _roll(self) -> None:
        """Go on in a new segment, if that is due. Whoever records does it, between two steps.

        It is due until all of this is done: after a signal's exception it is done again.
        """
        if not self._is_roll_due:
            return
        with self._turn:
            self._fetch()
            bases = {STEPS: self._row, **self._rare}
            self._is_new, self._bases = True, bases
            self._journal.roll()
            for stage in self._declared:
                stage.rebase(self._bases[stage.kind.axis])
            self._open_segment()
            self._is_roll_due = False
        if self._on_roll is not None:
            self._rolling = threading.Thread(target=self._tell, args=(self._on_roll, self._rolling))
            with contextlib.suppress(RuntimeError):  # the interpreter ends and starts no more threads
                self._rolling.start()

    def _tell(self, on_roll: Callable[[int], None], before: threading.Thread | None) -> None:
        _wait_for(before)  # one at a time; whether one that is under way would still see this segment is not known
        try:
            on_roll(self._journal.segment)
        except (OSError, PlayheadError) as error:
            self.writer.error = error

    def _let_go(self) -> None:
        try:
            _wait_for(self._rolling)
            if self._on_end is not None:
                self._on_end()
        finally:
            super()._let_go()


def _wait_for(thread: threading.Thread | None) -> None:
    if thread is not None and thread.ident is not None:  # it was started
        thread.join()


def as_json(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Take facts that a file will hold as JSON.

    Raises:
        WrongType: They cannot be.
    """
    try:
        strictjson.encode(dict(facts))
    except TypeError as error:
        raise WrongType(f"facts are kept as JSON, and these cannot be: {error}") from error
    return dict(facts)
