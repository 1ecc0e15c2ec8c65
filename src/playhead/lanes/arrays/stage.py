"""Rows of one array that wait until enough of them are there to be compressed together. For one thread at a time."""

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
    """The newest rows of one array: those of one chunk.

    Args:
        kind: The array.
        number: Its number in the journal.
        bit: Its group in `has`.
        base: The row at which the segment begins.
    """

    __slots__ = (
        "_base",
        "_bytes",
        "_end",
        "_is_large",
        "_row_bytes",
        "_rows",
        "_start",
        "_written",
        "bit",
        "dtype",
        "kind",
        "least",
        "most",
        "number",
        "shape",
        "stop",
    )

    def __init__(self, kind: ArrayKind, number: int, bit: int, base: int) -> None:
        self.kind = kind
        self.number = number
        self.bit = bit
        self.shape = kind.shape
        self.dtype = np.dtype(kind.dtype)
        self.least, self.most = _limits(self.dtype) if kind.shape == () else (0, -1)
        self._row_bytes = kind.row_bytes
        is_plain = self.dtype.kind in "biuf" and self.dtype.itemsize <= 8
        self._is_large = is_plain and _LARGE <= kind.row_bytes < _HUGE
        buffer = np.empty(kind.chunk * kind.row_bytes, np.uint8)
        self._bytes = memoryview(buffer.data)
        self._rows: NDArray[Any] = buffer.view(self.dtype).reshape(kind.chunk, *kind.shape)
        self.rebase(base)

    def rebase(self, base: int) -> None:
        """Begin a new segment; every row before it is written."""
        self._base = base
        self.turn(base)

    def turn(self, row: int) -> None:
        """Go on to the chunk of a row; every row before it is written."""
        self._start = row - (row - self._base) % self.kind.chunk
        self.stop = self._start + self.kind.chunk  # the row behind the chunk
        self._end = self._written = 0  # places behind the last row that was put, and that is written

    def put(self, row: int, value: Any) -> bool:
        """Copy a value of the right shape and type into a row of the chunk; tell whether the chunk is full.

        Rows that were left out are empty. Putting a row again does no harm.
        """
        place = row - self._start
        if place > self._end:
            self._rows[self._end : place] = np.zeros((), self.dtype)
        if self._is_large and value.flags.c_contiguous:
            # As NumPy would, but without letting go of the interpreter for it: taking it back costs more than the copy.
            at = place * self._row_bytes
            self._bytes[at : at + self._row_bytes] = value.data.cast("B")
        else:
            self._rows[place] = value
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
