"""Some of the rows of a table, as ranges: position to row and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_MANY = 1024  # positions; for fewer, a search is as fast as what makes it faster


class Spans:
    """Ranges of rows, one behind the other.

    Args:
        starts: The first row of each; they increase.
        stops: The row behind the last of each; no two ranges overlap.
    """

    def __init__(self, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> None:
        has_rows = stops > starts
        starts, stops = starts[has_rows], stops[has_rows]
        joins = np.flatnonzero(starts[1:] == stops[:-1])  # what touches is one range
        self.starts, self.stops = np.delete(starts, joins + 1), np.delete(stops, joins)
        self._ends = np.cumsum(self.stops - self.starts)  # the position behind each
        self._shifts = self.stops - self._ends
        self._guide: tuple[int, NDArray[np.int32]] | None = None

    def __len__(self) -> int:
        """Count the rows."""
        return int(self._ends[-1]) if len(self._ends) else 0

    @property
    def count(self) -> int:
        """How many ranges there are."""
        return len(self.starts)

    def rows(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give the rows at positions that are within the length."""
        found: NDArray[np.int64] = positions + self._shifts[self._ranges(positions)]
        return found

    def _ranges(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give the range that each position is in.

        Where many are asked for, positions are parted evenly, about four parts for each range, and it is known in which
        range each part begins: most are in that one or the next. The few others are searched for, as all would be.
        """
        if self._guide is None:
            if positions.size < _MANY:
                found: NDArray[np.int64] = np.searchsorted(self._ends, positions, "right")
                return found
            shift = max(0, (len(self) // (4 * self.count)).bit_length() - 1)
            firsts = np.arange((len(self) >> shift) + 1, dtype=np.int64) << shift
            self._guide = shift, np.searchsorted(self._ends, firsts, "right").astype(np.int32)
        shift, begins = self._guide
        flat = positions.reshape(-1)
        ranges: NDArray[np.int64] = begins[flat >> shift].astype(np.int64)
        late = np.flatnonzero(self._ends[ranges] <= flat)
        ranges[late] += 1
        late = late[self._ends[ranges[late]] <= flat[late]]
        ranges[late] = np.searchsorted(self._ends, flat[late], "right")
        return ranges.reshape(positions.shape)

    def within(self, start: int, stop: int) -> Spans:
        """Give what lies between two rows."""
        some = slice(np.searchsorted(self.stops, start, "right"), np.searchsorted(self.starts, stop, "left"))
        return Spans(np.clip(self.starts[some], start, stop), np.clip(self.stops[some], start, stop))

    def common(self, other: Spans) -> Spans:
        """Give the rows that are in both."""
        first = np.searchsorted(other.stops, self.starts, "right")
        last = np.searchsorted(other.starts, self.stops, "left")
        counts = np.maximum(last - first, 0)
        mine = np.repeat(np.arange(self.count), counts)
        theirs = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts - first, counts)
        return Spans(
            np.maximum(self.starts[mine], other.starts[theirs]), np.minimum(self.stops[mine], other.stops[theirs])
        )

    def __eq__(self, other: object) -> bool:
        """Tell whether another has the same rows."""
        if not isinstance(other, Spans):
            return NotImplemented
        return bool(np.array_equal(self.starts, other.starts) and np.array_equal(self.stops, other.stops))

    def __hash__(self) -> int:
        return hash((self.starts.tobytes(), self.stops.tobytes()))


def of_mask(mask: NDArray[Any]) -> Spans:
    """Give the places at which a mask is true."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    return Spans(edges[0::2].astype(np.int64), edges[1::2].astype(np.int64))
