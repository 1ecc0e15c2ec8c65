"""TraceTape: recording a trace beside the thread that makes it.

A step costs the caller a stamp and a line in a list; its input, and its state where that is kept, are packed at once,
since the caller may change them. A thread compresses and writes. Where keyframes are dropped again, the file is made
anew from what is left each time half as much is dead, and the tape begins from there: so neither grows with what was
dropped.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np

from playhead import clock, strictjson
from playhead.errors import WrongType
from playhead.lanes.keyframes import blocks, sealing, tree
from playhead.lanes.keyframes.blocks import Block
from playhead.lanes.keyframes.contents import Contents
from playhead.lanes.keyframes.retention import Retention
from playhead.lanes.keyframes.taped import STATE, STATE_HEAD, STEPS
from playhead.signal.contract import check_stamp
from playhead.signal.keys import LEAST
from playhead.signal.solo import tape_of
from playhead.tape import FACTS, SAMPLES, Tape

INTERVAL = 0.2
_QUEUE_BYTES = 64 << 20
_LEAST_DEAD = 256  # keyframes for which making the file anew pays
_MOST_STEPS = 1 << 16  # in one block of the tape


class TraceTape(Tape):
    """Records a trace. For one thread at a time.

    Args:
        target: The file that will be made of it.
        facts: What does not change, as JSON.
        retention: Which states are kept.
        length: How many steps there are already, in the file.
        least: The smallest error so far.
        last_ns: The newest stamp so far; None where there is none.
        kept: How many keyframes there are.
        copied: How many steps `take_over` will put on the tape: until they are there, the tape does not count.
        can_compact: The file is one that can be made anew while recording.
    """

    def __init__(
        self,
        target: Path,
        facts: dict[str, Any],
        retention: Retention,
        *,
        length: int = 0,
        least: float = math.inf,
        last_ns: int | None = None,
        kept: int = 0,
        copied: int = 0,
        can_compact: bool = True,
    ) -> None:
        super().__init__(tape_of(target), interval=INTERVAL)
        self._target, self._facts, self._retention = target, facts, retention
        self._written = length  # steps that are in the journal or the file
        self._least = least
        self._stamps = clock.Stamps(LEAST - 1 if last_ns is None else last_ns)
        self._can_compact = can_compact
        self._kept, self._dead = kept, 0  # keyframes, of those in the journal and the file
        self._rows: list[tuple[int, float, bytes | None, tuple[int, ...]]] = []
        self._states: deque[tuple[int, bytes]] = deque()
        self._waiting = 0  # bytes
        self._adding = threading.RLock()  # held by whoever adds a row, or takes written ones away
        try:
            self._say_facts(length, copied)
        except BaseException:
            self._is_closed = True
            self._journal.close()
            raise
        self._start()

    def _say_facts(self, base: int, copied: int = 0) -> None:
        self._append(FACTS, 0, strictjson.encode({"base": base, "copied": copied, "facts": self._facts}))

    @property
    def length(self) -> int:
        """How many steps there are."""
        with self._adding:
            return self._written + len(self._rows)

    def add(self, state: Any, error: float | None, given: Any, ts_ns: int | None) -> int:  # type: ignore[override]
        """Record a step; give its number.

        Raises:
            WrongType: State, error or input is none. Nothing is recorded.
            OutOfOrder: The time does not increase.
        """
        if self.writer.error is not None:
            self.check()
        with self._adding:
            step = self._written + len(self._rows)
        value = error if type(error) is float else _as_error(error, step)
        packed_input = None if given is None else _packed(given)
        is_best = value < self._least
        if self._retention.keeps(step, is_best=is_best):
            packed = _packed(state)
            stamp = self._stamp(ts_ns)
            dropped = tuple(self._retention.note(step, is_best=is_best))
            self._states.append((step, packed))
            self._waiting += len(packed)
        else:
            stamp, dropped = self._stamps.next() if ts_ns is None else self._stamp(ts_ns), ()
        if packed_input is not None:
            self._waiting += len(packed_input)
        if is_best:
            self._least = value
        with self._adding:
            self._rows.append((stamp, value, packed_input, dropped))
        if self._waiting > _QUEUE_BYTES or len(self._rows) >= _MOST_STEPS:
            self._relieve()
        return step

    def take_over(self, contents: Contents) -> None:
        """Put another trace on the tape, as the beginning of this one."""
        with self._turn:
            for step in contents.keyframes.tolist():
                self._append_state(step, contents.packed(step))
            for block in sealing.blocks_of(contents):
                self._append(SAMPLES, STEPS, block.pack())
            self._written = contents.length

    def _append_state(self, step: int, packed: bytes) -> None:
        self._append(SAMPLES, STATE, STATE_HEAD.pack(step, tree.digest(packed)), blocks.squeezed(packed))

    def _stamp(self, ts_ns: int | None) -> int:
        return self._stamps.next() if ts_ns is None else self._stamps.at(check_stamp(ts_ns, self._stamps.last))

    def _relieve(self) -> None:
        """Write in the caller's thread what waits: the disk is slower than the caller."""
        self.refuse_in_child()
        with self._turn:
            self._fetch()

    def _fetch(self) -> None:
        while self._rows:
            rows = self._rows[:_MOST_STEPS]  # a state is queued before its row, so that those of these rows are there
            while self._states:
                step, packed = self._states[0]
                self._append_state(step, packed)
                self._kept += 1
                self._states.popleft()
            dropped = [old for row in rows for old in row[3]]
            block = Block(
                self._written,
                np.array([row[0] for row in rows], np.int64),
                np.array([row[1] for row in rows], np.float64),
                [row[2] for row in rows],
                dropped,
            )
            self._append(SAMPLES, STEPS, block.pack())
            with self._adding:
                rest = self._rows[len(rows) :]
                self._written, self._rows = (
                    block.stop,
                    rest,
                )  # without a call: a signal's exception comes before or behind
            self._waiting = 0
            self._dead += len(dropped)

    def _round(self) -> None:
        super()._round()
        with self._turn:
            if self._can_compact and self._dead > max(_LEAST_DEAD, (self._kept - self._dead) // 2):
                self._compact()

    def _compact(self) -> None:
        """Make the file anew from the keyframes that are left, and go on with an empty tape."""
        self._sync()
        sealing.seal(self._target)
        self._journal.roll()
        self._say_facts(self._written)
        self._journal.remove_before(self._journal.segment)
        self._kept, self._dead = self._kept - self._dead, 0


def _packed(value: Any) -> bytes:
    packed = tree.pack(value)
    if len(packed) > blocks.MOST_PACKED:
        raise WrongType(f"a state or an input of {len(packed):,} bytes: a trace takes {blocks.MOST_PACKED:,} at most")
    return packed


def _as_error(error: Any, step: int) -> float:
    try:
        if not isinstance(error, (str, bytes)):  # which float() would read
            return math.nan if error is None else float(error)
    except (TypeError, ValueError, OverflowError) as wrong:
        raise WrongType(
            f"the error of step {step} is a number or None, not a {type(error).__name__}: {wrong}"
        ) from wrong
    raise WrongType(f"the error of step {step} is a number or None, not {error!r}")
