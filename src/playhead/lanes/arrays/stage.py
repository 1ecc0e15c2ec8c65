"""Rows of one array that wait until enough of them are there to be compressed together.

The background alone puts rows and writes chunks. The caller, who must copy what may still be changed, copies a large
row to where it will be needed: into the memory of its chunk, which the background takes over when it comes to that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from playhead.lanes.arrays.kind import ArrayKind

_LARGE, _HUGE = 1 << 12, 1 << 20  # bytes of a row


class Rows(NamedTuple):
    """Rows of an array that follow one another."""

    first: int
    rows: NDArray[Any]


class Chunk(NamedTuple):
    """The memory of a chunk, as bytes and as rows."""

    bytes: memoryview
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
        self._is_whole_number = self.least < self.most
        self._size, self._row_bytes = kind.chunk, kind.row_bytes
        self._spare: list[Chunk] = []  # that were used before
        self._ahead: dict[int, Chunk] = {}  # by their first row, those that are yet to come
        self._copying: Chunk | None = None  # that the caller copies into
        self._chunk: Chunk | None = None  # that rows are put into
        self.rebase(base)

    def rebase(self, base: int) -> None:
        """Begin a new segment; every row before it is written, and nobody copies one meanwhile."""
        self._base = base
        self._ahead.clear()
        self._copying_at = -1
        self.turn(base)

    def _start_of(self, row: int) -> int:
        return row - (row - self._base) % self._size

    def _new_chunk(self) -> Chunk:
        try:
            return self._spare.pop()
        except IndexError:
            memory = np.empty(self._size * self._row_bytes, np.uint8)
            return Chunk(memoryview(memory.data), memory.view(self.dtype).reshape(self._size, *self.shape))

    # -- the caller's side ------------------------------------------------------------------------------------------

    def copied(self, row: int, value: NDArray[Any]) -> NDArray[Any] | Chunk:
        """Copy a value of the right shape and type; a large one to where its row will be written from."""
        if not self._is_large or not value.flags.c_contiguous:
            return value.copy()
        start = self._start_of(row)
        chunk = self._copying
        if start != self._copying_at or chunk is None:
            self._copying = self._ahead[start] = chunk = self._new_chunk()
            self._copying_at = start
        # As NumPy would, but without letting go of the interpreter for it: taking it back costs more than the copy.
        at = (row - start) * self._row_bytes
        chunk.bytes[at : at + self._row_bytes] = value.data.cast("B")
        return chunk

    # -- the background's side --------------------------------------------------------------------------------------

    def turn(self, row: int) -> None:
        """Go on to the chunk of a row; every row before it is written."""
        self._start = self._start_of(row)
        self.stop = self._start + self._size  # the row behind the chunk
        self._end = self._written = 0  # places behind the last row that was put, and that is written
        if self._chunk is not None:
            self._spare.append(self._chunk)
        self._chunk = self._ahead.pop(self._start, None) or self._new_chunk()
        for start in list(self._ahead):
            if start < self._start:
                del self._ahead[start]  # the caller came to that chunk after the background did

    @property
    def next(self) -> int:
        """The row behind the last one that was put."""
        return self._start + self._end

    def put(self, first: int, values: Sequence[Any]) -> int:
        """Put values of the right shape and type into the chunk, as many as it has room for; tell how many.

        Rows that were left out are empty.
        """
        assert self._chunk is not None
        place, (memory, rows) = first - self._start, self._chunk
        stop = min(place + len(values), self._size)
        if place > self._end:
            rows[self._end : place] = np.zeros((), self.dtype)
        if self._is_whole_number:
            rows[place:stop] = values[: stop - place]
        else:
            for at, value in zip(range(place, stop), values, strict=False):
                if value is self._chunk:  # it was copied to just there
                    continue
                if type(value) is Chunk:  # the caller came to it after the background did
                    rows[at] = value.rows[at]
                elif self._is_large and value.flags.c_contiguous:
                    memory[at * self._row_bytes : (at + 1) * self._row_bytes] = value.data.cast("B")
                else:
                    rows[at] = value
        self._end = stop
        return stop - place

    def pending(self) -> Rows | None:
        """Give the rows that are not written yet, if there are any."""
        if self._end == self._written:
            return None
        assert self._chunk is not None
        return Rows(self._start + self._written, self._chunk.rows[self._written : self._end])

    def settle(self) -> None:
        """Hear that what is pending has been written."""
        self._written = self._end


def _limits(dtype: np.dtype[Any]) -> tuple[int, int]:
    """Give the range of whole numbers that a type holds; an empty one for other types."""
    if dtype.kind not in "iu":
        return 0, -1
    found = np.iinfo(dtype)
    return int(found.min), int(found.max)
