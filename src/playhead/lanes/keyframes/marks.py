"""Marks: the steps at which an error was smaller than all before."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from playhead.errors import Damaged, OutOfRange

_INDICES, _MASK = b"i", b"m"


class Marks(Sequence[int]):
    """Steps in order; found by binary search. Equal to a list of the same steps.

    Args:
        steps: They, strictly increasing.
    """

    def __init__(self, steps: ArrayLike = ()) -> None:
        self._steps: list[int] = np.asarray(steps, np.int64).tolist()

    @classmethod
    def of_errors(cls, errors: ArrayLike) -> Marks:
        """Find the steps that were strictly better than all before; NaN and infinity never are."""
        values = np.asarray(errors, np.float64)
        before = np.fmin.accumulate(np.concatenate([[math.inf], values]))[:-1]
        return cls(np.flatnonzero(values < before))

    def add(self, step: int) -> None:
        """Add a step behind all others."""
        self._steps.append(step)

    @overload
    def __getitem__(self, key: int) -> int: ...
    @overload
    def __getitem__(self, key: slice) -> list[int]: ...
    def __getitem__(self, key: int | slice) -> int | list[int]:
        """Return one or several of them.

        Raises:
            OutOfRange: There are fewer.
        """
        try:
            return self._steps[key]
        except IndexError:
            raise OutOfRange(f"no mark at position {key}: there are {len(self)}") from None

    def __len__(self) -> int:
        return len(self._steps)

    def __iter__(self) -> Iterator[int]:
        return iter(self._steps)

    def __contains__(self, step: object) -> bool:
        if not isinstance(step, (int, np.integer)):
            return False
        place = bisect_left(self._steps, int(step))
        return place < len(self._steps) and self._steps[place] == step

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Marks):
            return self._steps == other._steps
        return self._steps == other if isinstance(other, list) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # it grows

    def between(self, start: int, stop: int) -> list[int]:
        """Give those from `start` on, before `stop`."""
        return self._steps[bisect_left(self._steps, start) : bisect_left(self._steps, stop)]

    def before(self, step: int) -> int | None:
        """Give the last one before a step; None where there is none."""
        place = bisect_left(self._steps, step)
        return self._steps[place - 1] if place else None

    @property
    def last(self) -> int | None:
        """The last one: the best of all steps; None where there is none."""
        return self._steps[-1] if self._steps else None

    def pack(self, total: int) -> bytes:
        """Give them as sorted numbers or as one bit for each step, whichever is smaller.

        Args:
            total: How many steps there are.
        """
        indices = np.array(self._steps, "<u4" if total <= 1 << 32 else "<u8").tobytes()
        if len(indices) <= (total + 7) // 8:
            return _INDICES + indices
        mask = np.zeros(total, np.bool_)
        mask[self._steps] = True
        return _MASK + np.packbits(mask, bitorder="little").tobytes()

    @classmethod
    def unpack(cls, data: bytes, total: int) -> Marks:
        """Read what `pack` gave.

        Raises:
            Damaged: It was something else.
        """
        if not isinstance(data, bytes):
            raise Damaged("marks of a trace", "bytes", f"a {type(data).__name__}")
        found: NDArray[np.int64] | None = None
        if data[:1] == _INDICES and (len(data) - 1) % (4 if total <= 1 << 32 else 8) == 0:
            found = np.frombuffer(data, "<u4" if total <= 1 << 32 else "<u8", offset=1).astype(np.int64)
        elif data[:1] == _MASK and len(data) == 1 + (total + 7) // 8:
            found = np.flatnonzero(np.unpackbits(np.frombuffer(data, np.uint8, offset=1), bitorder="little"))
        if found is None or (found[1:] <= found[:-1]).any() or (found >= total).any():
            raise Damaged("marks of a trace", f"steps below {total} in order", f"{len(data)} other bytes")
        return cls(found)

    def __repr__(self) -> str:
        return f"<Marks: {len(self)}, the last at {self.last}>"
