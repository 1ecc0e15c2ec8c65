"""TraceTape: recording a trace beside the thread that makes it.

A step costs the caller a stamp and a line in a list; its input, and its state where that is kept, are packed at once,
since the caller may change them. A thread compresses and writes. Where keyframes are dropped again, the file is made
anew from what is left each time as many lie there as the retention allows, and the tape begins from there: so neither
grows with what was dropped.
"""

from __future__ import annotations

import math
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np

from playhead import clock, disk, strictjson
from playhead.errors import StoreLocked, WrongType
from playhead.lanes.keyframes import blocks, frames, sealing, tree
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
_LEAST_DEAD = 64  # keyframes for which making the file anew pays
_MOST_STEPS = 1 << 16  # in one block of the tape
_BEFORE = "before"  # on the tape, what the file was when the recording began, once that is made anew

# The time, the error, the packed input, the keyframes that are given up, and the packed state where it is kept: one
# value, so that a signal's exception comes before all of a step or behind it.
_Row = tuple[int, float, bytes | None, tuple[int, ...], bytes | None]


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
        self._base, self._is_compacted = length, False
        self._had_file = target.exists()
        self._written = length  # steps that are in the journal or the file
        self._stated = length  # steps whose states are in the journal, where they are kept
        self._least = least
        self._coming: tuple[int, float] | None = None  # a best step that is being added
        self._stamps = clock.Stamps(LEAST - 1 if last_ns is None else last_ns)
        self._can_compact = can_compact
        self._kept, self._dead = kept, 0  # keyframes, of those in the journal and the file
        self._rows: list[_Row] = []
        self._waiting = 0  # bytes
        self._adding = threading.RLock()  # held by whoever adds a row, or takes written ones away
        self._is_fetching = self._is_dropped = False
        try:
            if self._journal.number:
                raise StoreLocked(f"{target} was recorded by another writer meanwhile; try again")
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
        if self._coming is not None:  # a signal's exception came, before that step was there or behind it
            self._least = self._coming[1] if self._coming[0] < step else self._least
            self._coming = None
        value = error if type(error) is float else _as_error(error, step)
        packed_input = None if given is None else _packed(given)
        is_best = value < self._least
        packed: bytes | None = None
        dropped: tuple[int, ...] = ()
        if self._retention.keeps(step, is_best=is_best):
            packed = _packed(state)
            stamp = self._stamp(ts_ns)
            dropped = tuple(self._retention.note(step, is_best=is_best))
        else:
            stamp = self._stamps.next() if ts_ns is None else self._stamp(ts_ns)
        if is_best:
            self._coming = step, value
        row = stamp, value, packed_input, dropped, packed
        with self._adding:
            self._rows.append(row)
            self._waiting += len(packed or b"") + len(packed_input or b"")
        if is_best:
            self._least, self._coming = value, None
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
        self._append(SAMPLES, STATE, STATE_HEAD.pack(step, tree.digest(packed)), frames.squeezed(packed))

    def _stamp(self, ts_ns: int | None) -> int:
        return self._stamps.next() if ts_ns is None else self._stamps.at(check_stamp(ts_ns, self._stamps.last))

    def _relieve(self) -> None:
        """Write in the caller's thread what waits: the disk is slower than the caller."""
        self.refuse_in_child()
        with self._turn:
            self._fetch()

    def _fetch(self) -> None:
        self._is_fetching = True
        try:
            self._write_rows()
        finally:
            self._is_fetching = False
        if self._is_dropped:
            self._sync()
            self._let_go()

    def _next_rows(self) -> list[_Row]:
        """Give the oldest rows, as many as make a block."""
        if self._waiting <= _QUEUE_BYTES:
            return self._rows[:_MOST_STEPS]
        size, rows = 0, []
        for row in self._rows[:_MOST_STEPS]:
            rows.append(row)
            size += _size(row)
            if size > _QUEUE_BYTES:
                break
        return rows

    def _write_rows(self) -> None:
        while self._rows:
            rows = self._next_rows()
            dropped = [old for row in rows for old in row[3]]
            unseen = {old for old in dropped if old >= self._written}  # given up before anybody could read them
            new = sum(row[4] is not None for row in rows) - len(unseen)
            self._make_room(new)
            for step, row in enumerate(rows, self._written):
                if row[4] is not None and step >= self._stated and step not in unseen:
                    self._append_state(step, row[4])
                self._stated = max(self._stated, step + 1)
            block = Block(
                self._written,
                np.array([row[0] for row in rows], np.int64),
                np.array([row[1] for row in rows], np.float64),
                [row[2] for row in rows],
                dropped,
            )
            self._append(SAMPLES, STEPS, block.pack())
            size = sum(map(_size, rows))
            with self._adding:
                rest, waiting = self._rows[len(rows) :], max(0, self._waiting - size)
                # Without a call: a signal's exception comes before or behind.
                self._written, self._rows, self._waiting = block.stop, rest, waiting
            self._kept += new
            self._dead += len(dropped) - len(unseen)
            self._make_room()

    def _make_room(self, coming: int = 0) -> None:
        """Make the file anew where more states would lie on the disk than may.

        So many as the retention says; else half as many again as are not given up.
        """
        most = self._retention.most(self._written)
        if most is None:
            most = self._kept - self._dead + max(_LEAST_DEAD, (self._kept - self._dead) // 2) + coming
        if self._can_compact and self._dead and self._kept + coming > most:
            self._compact()

    def _compact(self) -> None:
        """Make the file anew from the keyframes that are left, and go on with an empty tape."""
        self._sync()
        if not self._is_compacted:
            if self._had_file:
                disk.link(self._target, self._journal.folder / _BEFORE)
            self._is_compacted = True
        kept = sealing.seal(self._target)
        self._stated = self._written  # states whose block did not get there go with the journal
        self._journal.roll()
        self._say_facts(self._written)
        self._journal.remove_before(self._journal.segment)
        self._kept, self._dead = kept, 0

    def discard(self) -> None:
        """Stop, and take back all that was recorded: the file is as it was. Discarding again after an error is fine."""
        self.refuse_in_child()
        self._crew.leave(self)
        self._crew.abandon()
        with self._turn:
            self._rows = []  # a round of the thread may still be coming
            if self._is_compacted:
                self._go_back()
                self._is_compacted = False
            self.take_away()

    def _go_back(self) -> None:
        """Put the file back that was there, with a tape that goes on from there at each moment."""
        self._journal.roll()
        self._say_facts(self._base)
        self._sync()
        if not self._had_file:
            disk.remove(self._target)
        elif (before := self._journal.folder / _BEFORE).exists():
            disk.rename(before, self._target)
        disk.sync_folder(self._target.parent)

    def drop(self) -> None:
        """Write down what waits and let go, since nobody holds the recording any more."""
        if self._is_closed or self._pid != os.getpid():
            return
        with self._turn:
            if self._is_fetching:  # garbage is collected amid that: it goes on, and lets go itself
                self._is_dropped = True
                return
            try:
                self.flush()
            finally:
                self.abandon()


def _size(row: _Row) -> int:
    return len(row[2] or b"") + len(row[4] or b"")


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
