"""Rows that can be taken: in memory, mapped from their file, or in shards of which the last used are in memory."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.int64]


class Rows(Protocol):
    """Rows of a table, by number."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of a row."""

    def __len__(self) -> int:
        """Count them."""

    def take(self, places: Places, out: NDArray[Any] | None) -> NDArray[Any]:
        """Copy rows whose numbers are known to be right, in that order, into `out` or a new array."""

    def between(self, start: int, stop: int) -> NDArray[Any]:
        """Give rows that follow one another, without a copy where that is possible."""


class OneArray:
    """All rows in one array, in memory or mapped.

    Args:
        array: The rows.
        owner: What holds the memory.
    """

    def __init__(self, array: NDArray[Any], owner: object = None) -> None:
        self.array = array
        self.owner = owner
        # As bytes of one size: NumPy copies them as they are, where it would walk the columns of each row.
        self._bare = array.view(np.dtype((np.void, array.dtype.itemsize)))

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of a row."""
        return self.array.dtype

    def __len__(self) -> int:
        return len(self.array)

    def take(self, places: Places, out: NDArray[Any] | None) -> NDArray[Any]:
        """Copy rows."""
        if out is None:
            out = np.empty(places.shape, self.array.dtype)
        # They are known to be in range; `clip` spares NumPy a copy of `out` that it could still give back.
        self._bare.take(places, out=out.view(self._bare.dtype), mode="clip")
        return out

    def between(self, start: int, stop: int) -> NDArray[Any]:
        """Give a part of the array itself."""
        return self.array[start:stop]


class Shards:
    """Rows in several files, of which a few are in memory at a time.

    Args:
        sizes: How many rows each has.
        dtype: Of a row.
        load: Brings one into memory.
        most: How many may be there.
    """

    def __init__(
        self, sizes: Sequence[int], dtype: np.dtype[Any], load: Callable[[int], OneArray], most: int = 2
    ) -> None:
        self._stops = np.cumsum(np.array(sizes, np.int64))
        self._starts = self._stops - np.array(sizes, np.int64)
        self._dtype, self._load, self._most = dtype, load, max(1, most)
        self._held: OrderedDict[int, OneArray] = OrderedDict()
        self._lock = threading.Lock()
        self.loads = 0

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of a row."""
        return self._dtype

    @property
    def bounds(self) -> list[tuple[int, int]]:
        """The first row of each shard, and that behind its last."""
        return list(zip(self._starts.tolist(), self._stops.tolist(), strict=True))

    def __len__(self) -> int:
        return int(self._stops[-1]) if len(self._stops) else 0

    def shard(self, number: int) -> OneArray:
        """Give one of the files; the one that was not used longest makes room for it."""
        with self._lock:
            if number not in self._held:
                while len(self._held) >= self._most:
                    self._held.popitem(last=False)
                self._held[number] = self._load(number)
                self.loads += 1
            self._held.move_to_end(number)
            return self._held[number]

    def take(self, places: Places, out: NDArray[Any] | None) -> NDArray[Any]:
        """Copy rows, those of one shard after those of another."""
        if out is None:
            out = np.empty(places.shape, self._dtype)
        flat, into = places.reshape(-1), out.reshape(-1)
        of = np.searchsorted(self._stops, flat, "right")
        wanted = np.unique(of).tolist()
        for number in sorted(wanted, key=lambda number: number not in self._held):  # first those that are there
            mine = np.flatnonzero(of == number)
            into[mine] = self.shard(number).take(flat[mine] - self._starts[number], None)
        return out

    def between(self, start: int, stop: int) -> NDArray[Any]:
        """Copy rows that follow one another."""
        return self.take(np.arange(start, max(start, stop)), None)
