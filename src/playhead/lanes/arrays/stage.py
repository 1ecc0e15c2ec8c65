"""Rows of one array on their way from the caller to the journal.

The caller copies a row into the newest chunk; the background compresses chunks that are full, and at each flush what
there is of the newest. Neither waits for the other: the caller alone puts rows and hands chunks over, the background
alone marks rows as written and gives buffers back, and each step of that is one operation of the interpreter.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from playhead.lanes.arrays.kind import ArrayKind

_WAIT_SECONDS = 0.05
_FEW = 3  # chunks of one size
_MOMENT = 0.002
_LARGE, _HUGE = 1 << 12, 1 << 20  # bytes of a row


class Rows(NamedTuple):
    """Rows of an array that follow one another."""

    first: int
    rows: NDArray[Any]


class Pool:
    """Buffers of chunks that were handed over and wait to be written; at most so many bytes of them.

    The caller also waits a moment when a few chunks wait: the background then works on what the processor still has in
    its caches, which is faster for both. Where it is held up by the disk, the caller goes on until the bytes are used.

    Args:
        most_bytes: How much may wait before the caller does.
        check: Raises what went wrong in the background, so that nobody waits for it in vain.
    """

    def __init__(self, most_bytes: int, check: Callable[[], None]) -> None:
        self._most = most_bytes
        self._check = check
        self._free: defaultdict[int, list[NDArray[np.uint8]]] = defaultdict(list)
        self._waiting = 0
        self._change = threading.Condition()

    def take(self, size: int) -> NDArray[np.uint8]:
        """Give a buffer, used before or new."""
        free = self._free[size]
        try:
            return free.pop()
        except IndexError:
            return np.empty(size, np.uint8)

    def wait_for(self, size: int) -> None:
        """Count a buffer as waiting; wait where there are too many."""
        with self._change:
            if self._waiting + size > min(_FEW * size, self._most):
                self._change.wait(_MOMENT)
            while self._waiting and self._waiting + size > self._most:
                self._change.wait(_WAIT_SECONDS)
                self._check()
            self._waiting += size

    def give_back(self, buffer: NDArray[np.uint8]) -> None:
        """Take a buffer that was written."""
        with self._change:
            self._waiting = max(0, self._waiting - buffer.size)
            self._free[buffer.size].append(buffer)
            self._change.notify()


class _Chunk:
    """A buffer of rows: `start` is the row of its first place, `end` the place behind the last row that was put,
    `written` the place behind the last that is in the journal, `next` the chunk that follows, once it is full.
    """

    __slots__ = ("buffer", "bytes", "end", "next", "rows", "start", "written")

    def __init__(self, buffer: NDArray[np.uint8], rows: NDArray[Any], start: int) -> None:
        self.buffer = buffer
        self.bytes = memoryview(buffer.data)
        self.rows = rows
        self.start = start
        self.end = 0
        self.written = 0
        self.next: _Chunk | None = None


class Stage:
    """The newest rows of one array.

    Args:
        kind: The array.
        number: Its number in the journal.
        bit: Its group in `has`.
        base: The row at which the segment begins.
        pool: Where buffers come from.
        wake: Tells the background that a chunk is full.
    """

    def __init__(self, kind: ArrayKind, number: int, bit: int, base: int, pool: Pool, wake: Callable[[], None]) -> None:
        self.kind = kind
        self.number = number
        self.bit = bit
        self.shape = kind.shape
        self.dtype = np.dtype(kind.dtype)
        self.least, self.most = _limits(self.dtype) if kind.shape == () else (0, -1)
        self._chunk = kind.chunk
        self._row_bytes = kind.row_bytes
        is_plain = self.dtype.kind in "biuf" and self.dtype.itemsize <= 8
        self._is_large = is_plain and _LARGE <= kind.row_bytes < _HUGE
        self._size = kind.chunk * kind.row_bytes
        self._pool = pool
        self._wake = wake
        self.rebase(base)

    def rebase(self, base: int) -> None:
        """Begin a new segment; every row before it is written."""
        chunk = self._new(base)
        self._base, self._oldest, self._newest = base, chunk, chunk

    def _new(self, start: int) -> _Chunk:
        buffer = self._pool.take(self._size)
        return _Chunk(buffer, buffer.view(self.dtype).reshape(self._chunk, *self.shape), start)

    def put(self, row: int, value: Any) -> None:
        """Copy a value of the right shape and type into a row; those left out in between are empty."""
        chunk = self._newest
        place = row - chunk.start
        if place >= self._chunk:
            chunk = self._turn(row)
            place = row - chunk.start
        if place > chunk.end:
            chunk.rows[chunk.end : place] = np.zeros((), self.dtype)
        if self._is_large and value.flags.c_contiguous:
            # As NumPy would, but without letting go of the interpreter for it: taking it back costs more than the copy.
            at = place * self._row_bytes
            chunk.bytes[at : at + self._row_bytes] = value.data.cast("B")
        else:
            chunk.rows[place] = value
        chunk.end = place + 1

    def _turn(self, row: int) -> _Chunk:
        """Hand the newest chunk over and begin the one of a row."""
        chunk = self._newest
        if chunk.end:
            self._pool.wait_for(self._size)
        new = self._new(row - (row - self._base) % self._chunk)
        # One statement without a call: a signal's exception, or another thread, comes before or behind it.
        chunk.next, self._newest = new, new
        self._wake()
        return new

    def pending(self, until: int) -> Iterator[Rows]:
        """Walk over the rows that are not written yet, up to a row; one that was given is taken to be written."""
        yield from self.full(until)
        chunk = self._oldest
        end = min(chunk.end, until - chunk.start)
        if end > chunk.written:
            yield Rows(chunk.start + chunk.written, chunk.rows[chunk.written : end])
            chunk.written = end

    def full(self, until: int) -> Iterator[Rows]:
        """Walk over the rows of chunks that were handed over and begin before a row: more may come meanwhile."""
        while (chunk := self._oldest).next is not None and chunk.start < until:
            if chunk.end > chunk.written:
                yield Rows(chunk.start + chunk.written, chunk.rows[chunk.written : chunk.end])
                chunk.written = chunk.end
            self._oldest = chunk.next
            if chunk.end:
                self._pool.give_back(chunk.buffer)


def _limits(dtype: np.dtype[Any]) -> tuple[int, int]:
    """Give the range of whole numbers that a type holds; an empty one for other types."""
    if dtype.kind not in "iu":
        return 0, -1
    found = np.iinfo(dtype)
    return int(found.min), int(found.max)
