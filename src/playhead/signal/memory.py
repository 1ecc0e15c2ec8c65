"""A signal whose samples are in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from playhead.errors import OutOfOrder, WrongShape
from playhead.signal import keys
from playhead.signal.arrays import Positions, frozen, take
from playhead.signal.contract import Signal

__all__ = ["ArraySignal", "frozen"]

T = TypeVar("T")


class ArraySignal(Signal[T]):
    """Two arrays as a signal; they are not copied.

    Args:
        values: One value a row.
        timestamps: Their times in nanoseconds, strictly increasing.

    Raises:
        WrongShape: The two differ in length.
        OutOfOrder: The times do not increase.
        BadKey: They are not whole numbers of 64 bits.
    """

    def __init__(self, values: ArrayLike, timestamps: ArrayLike) -> None:
        times = timestamps if isinstance(timestamps, Sequence) else np.asarray(timestamps)
        self._values = frozen(_as_array(values))
        self._stamps = frozen(keys.as_integers(times, keys.TIME, keys.too_late))
        if self._values.shape[:1] != self._stamps.shape:
            found = f"values of shape {self._values.shape} and {len(self._stamps)} times"
            raise WrongShape(f"a signal has a time for each of its values, not {found}")
        if (self._stamps[1:] <= self._stamps[:-1]).any():
            raise OutOfOrder("the times of a signal strictly increase")

    @property
    def timestamps(self) -> NDArray[np.int64]:
        """The stamps in nanoseconds."""
        return self._stamps

    def _values_at(self, positions: Positions) -> NDArray[Any]:
        return take(self._values, positions)

    def _value_at(self, position: int) -> T:
        value: T = self._values[position]
        return value


def _as_array(values: ArrayLike) -> NDArray[Any]:
    array = np.asarray(values)
    if array.dtype.kind in "US" and not isinstance(values, np.ndarray):
        return np.array(values, object)  # NumPy's own text forgets a NUL at its end, and makes text of numbers too
    return array
