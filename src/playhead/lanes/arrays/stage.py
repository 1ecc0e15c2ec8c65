"""Rows of one array that wait until enough of them are there to be compressed together.

The background alone lays rows into chunks and writes these. The caller, who must copy what may still be changed, copies
a large row to where it will be needed: into the memory of its chunk, which the background takes over when it comes to
that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from playhead.lanes.arrays.gathering import Copies
from playhead.lanes.arrays.kind import ArrayKind
from playhead.native.colours import Colours

_LARGE, _HUGE = 1 << 12, 1 << 20  # bytes of a row


class Chunk(NamedTuple):
    """The memory of a chunk, as bytes and as rows."""

    bytes: memoryview
    rows: NDArray[Any]


class Rows(NamedTuple):
    """Rows of an array that follow one another, and the memory that is free when they are written."""

    first: int
    rows: NDArray[Any]
    free: Chunk | None


class Stage:
    """The newest rows of one array.

    Args:
        kind: The array.
        number: Its number in the journal.
        bit: Its group in `has`.
        base: The row at which the segment begins.

    Attributes:
        colours: What rows may be given as numbers of, where they are pictures.
    """

    def __init__(self, kind: ArrayKind, number: int, bit: int, base: int) -> None:
        self.kind = kind
        self.number = number
        self.bit = bit
        self.shape = kind.shape
        self.dtype = np.dtype(kind.dtype)
        self.colours: Colours | None = None
        self.least, self.most = _limits(self.dtype) if kind.shape == () else (0, -1)
        is_plain = self.dtype.kind in "biuf" and self.dtype.itemsize <= 8
        self._is_large = is_plain and _LARGE <= kind.row_bytes < _HUGE
        self._is_whole_number = self.least < self.most
        self._size, self._row_bytes = kind.chunk, kind.row_bytes
        self._spare: list[Chunk] = []  # that were used before
        self._ahead: dict[int, Chunk] = {}  # by their first row, those that the caller has begun to copy into
        self._copying: Chunk | None = None  # the newest of them
        self.rebase(base)

    def rebase(self, base: int) -> None:
        """Begin a new segment; every row before it is written, and nobody copies one meanwhile."""
        self._base = base
        self._ahead.clear()
        self._copying_at = -1
        self._chunks: dict[int, Chunk] = {}  # by their first row, those that rows are laid into
        self._closed: list[Rows] = []  # of chunks that no row will be laid into any more, and that are not written
        self._planned = base  # the row behind the last one that was laid, whether that counts or not
        # The newest chunk's first row, and how many of its rows are laid, and are written.
        self._start, self._laid, self._written = base, 0, 0

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

    def _chunk_at(self, start: int) -> Chunk:
        chunk = self._chunks.get(start)
        if chunk is None:
            copied = self._ahead.get(start)
            chunk = self._chunks[start] = self._new_chunk() if copied is None else copied
            self._ahead.pop(start, None)
        return chunk

    @property
    def next(self) -> int:
        """The row behind the last one that was laid."""
        return self._start + self._laid

    def lay(self, first: int, values: list[Any], copies: Copies) -> None:
        """Lay rows into chunks; they count when `reach` says so. Laying them again does no harm.

        Args:
            first: The first of them; rows that were left out before it are empty.
            values: Of the right shape and type.
            copies: Takes what is to be copied until then.
        """
        if first > self._planned:
            self._leave_out(self._planned, first)
        done = 0
        while done < len(values):
            start = self._start_of(first + done)
            place = first + done - start
            count = min(len(values) - done, self._size - place)
            self._lay_into(self._chunk_at(start), place, values[done : done + count], copies)
            done += count
        self._planned = max(self._planned, first + len(values))

    def _leave_out(self, first: int, stop: int) -> None:
        """Lay empty rows into the chunks of the first and the last of them; those between are left out whole."""
        begun, last = self._start_of(first), self._start_of(stop)
        if begun < last and first > begun:
            self._chunk_at(begun).rows[first - begun :] = np.zeros((), self.dtype)
        at = max(first - last, 0)
        if stop > last + at:
            self._chunk_at(last).rows[at : stop - last] = np.zeros((), self.dtype)

    def _lay_into(self, chunk: Chunk, place: int, values: list[Any], copies: Copies) -> None:
        if self._is_whole_number:
            chunk.rows[place : place + len(values)] = values
        elif not self._is_large or not copies.add(self._bytes_of(chunk, place, len(values)), values, self.colours):
            for at, value in enumerate(values, place):
                if type(value) is Chunk:
                    if value is not chunk:  # else it was copied to just there
                        chunk.rows[at] = value.rows[at]
                else:
                    chunk.rows[at] = value if self.colours is None else self.colours.spelled(value)

    def _bytes_of(self, chunk: Chunk, place: int, count: int) -> memoryview:
        return chunk.bytes[place * self._row_bytes : (place + count) * self._row_bytes]

    def reach(self, row: int) -> None:
        """Hear that every row before this one is laid, and copied: chunks before its own are full."""
        start = self._start_of(row)
        laid, written = (self._laid, self._written) if start == self._start else (0, 0)
        closed, chunks = [*self._closed], {}
        for begun, chunk in sorted(self._chunks.items()):
            if begun >= start:
                chunks[begun] = chunk
            else:
                done = self._written if begun == self._start else 0
                closed.append(Rows(begun + done, chunk.rows[done:], chunk))
        for begun in list(self._ahead):
            if begun < start:
                del self._ahead[begun]  # the caller came to that chunk after the background did
        now = max(laid, row - start)
        # One statement without a call: a signal's exception comes before it, and all is laid again, or behind it.
        self._closed, self._chunks, self._start, self._laid, self._written = closed, chunks, start, now, written

    def pending(self, *, closed: bool = False) -> list[Rows]:
        """Give the rows that are not written yet.

        Args:
            closed: Only those of chunks that no row will be laid into any more.
        """
        found = [rows for rows in self._closed if len(rows.rows)]
        if not closed and self._laid > self._written:
            rows = self._chunks[self._start].rows[self._written : self._laid]
            found.append(Rows(self._start + self._written, rows, None))
        return found

    def settle(self, written: Sequence[Rows]) -> None:
        """Hear which of the rows that were pending have been written."""
        ends = [first + len(rows) - self._start for first, rows, free in written if free is None]
        # One statement without a call, as above: memory must never be free twice.
        self._written, self._closed = (*ends, self._written)[0], []
        self._spare += [free for _, _, free in written if free is not None]


def _limits(dtype: np.dtype[Any]) -> tuple[int, int]:
    """Give the range of whole numbers that a type holds; an empty one for other types."""
    if dtype.kind not in "iu":
        return 0, -1
    found = np.iinfo(dtype)
    return int(found.min), int(found.max)
