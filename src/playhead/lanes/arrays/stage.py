"""Rows of one array that wait until enough of them are there to be compressed together.

The background alone puts rows and writes chunks. The caller, who must copy what may still be changed, copies a large
row to where it will be needed: into a buffer for its chunk, which the background takes over when it comes to that.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from playhead.lanes.arrays.kind import ArrayKind

_LARGE, _HUGE = 1 << 12, 1 << 20  # bytes of a row


class Rows(NamedTuple):
    """Rows of an array that follow one another."""

    first: int
    rows: NDArray[Any]


class Stage:
    """The newest rows of one array.

    Args:
        kind: The array.
        number: Its number in the journal.
        bit: Its group in `has`.
        base: The row at which the segment begins.
    """

    def __init__(self, kind: ArrayKind, number: int, bit: int, base: int) -> None:
        self.kind = kind
        self.number = number
        self.bit = bit
        self.shape = kind.shape
        self.dtype = np.dtype(kind.dtype)
        self.least, self.most = _limits(self.dtype) if kind.shape == () else (0, -1)
        is_plain = self.dtype.kind in "biuf" and self.dtype.itemsize <= 8
        self._is_large = is_plain and _LARGE <= kind.row_bytes < _HUGE
        self._chunk, self._row_bytes = kind.chunk, kind.row_bytes
        self._spare: list[NDArray[np.uint8]] = []  # buffers that were used before
        self._buffers: dict[int, NDArray[np.uint8]] = {}  # by the first row of a chunk that is yet to come
        self._buffer = np.empty(0, np.uint8)  # of the chunk that rows are put into
        self.rebase(base)

    def rebase(self, base: int) -> None:
        """Begin a new segment; every row before it is written, and nobody copies one meanwhile."""
        self._base = base
        self._buffers.clear()
        self._ahead = -1  # the first row of the chunk that the caller copies into
        self.turn(base)

    def _start_of(self, row: int) -> int:
        return row - (row - self._base) % self._chunk

    def _new_buffer(self) -> NDArray[np.uint8]:
        try:
            return self._spare.pop()
        except IndexError:
            return np.empty(self._chunk * self._row_bytes, np.uint8)

    # -- the caller's side ------------------------------------------------------------------------------------------

    def copied(self, row: int, value: NDArray[Any]) -> NDArray[Any]:
        """Copy a value of the right shape and type, if it is a large one to where its row will be written from."""
        if not self._is_large or not value.flags.c_contiguous:
            return value.copy()
        start = self._start_of(row)
        if start != self._ahead:
            buffer = self._buffers[start] = self._new_buffer()
            self._ahead, self._ahead_bytes, self._ahead_rows = start, memoryview(buffer.data), self._rows_in(buffer)
        # As NumPy would, but without letting go of the interpreter for it: taking it back costs more than the copy.
        at = (row - start) * self._row_bytes
        self._ahead_bytes[at : at + self._row_bytes] = value.data.cast("B")
        copy: NDArray[Any] = self._ahead_rows[row - start]
        return copy

    def _rows_in(self, buffer: NDArray[np.uint8]) -> NDArray[Any]:
        return buffer.view(self.dtype).reshape(self._chunk, *self.shape)

    # -- the background's side --------------------------------------------------------------------------------------

    def turn(self, row: int) -> None:
        """Go on to the chunk of a row; every row before it is written."""
        self._start = self._start_of(row)
        self.stop = self._start + self._chunk  # the row behind the chunk
        self._end = self._written = 0  # places behind the last row that was put, and that is written
        if self._buffer.size:
            self._spare.append(self._buffer)
        ahead = self._buffers.pop(self._start, None)
        self._buffer = self._new_buffer() if ahead is None else ahead
        self._bytes, self._rows = memoryview(self._buffer.data), self._rows_in(self._buffer)
        for start in list(self._buffers):
            if start < self._start:
                del self._buffers[start]  # the caller came to that chunk after the background did

    def put(self, row: int, value: Any) -> bool:
        """Put a value of the right shape and type into a row of the chunk; tell whether the chunk is full.

        Rows that were left out are empty. Putting a row again does no harm.
        """
        place = row - self._start
        if place > self._end:
            self._rows[self._end : place] = np.zeros((), self.dtype)
        if not self._is_large or not value.flags.c_contiguous:
            self._rows[place] = value
        elif value.base is not self._buffer:  # else it was copied to just there
            at = place * self._row_bytes
            self._bytes[at : at + self._row_bytes] = value.data.cast("B")
        self._end = place + 1
        return row + 1 == self.stop

    def pending(self) -> Rows | None:
        """Give the rows that are not written yet, if there are any."""
        if self._end == self._written:
            return None
        return Rows(self._start + self._written, self._rows[self._written : self._end])

    def settle(self) -> None:
        """Hear that what is pending has been written."""
        self._written = self._end


def _limits(dtype: np.dtype[Any]) -> tuple[int, int]:
    """Give the range of whole numbers that a type holds; an empty one for other types."""
    if dtype.kind not in "iu":
        return 0, -1
    found = np.iinfo(dtype)
    return int(found.min), int(found.max)
