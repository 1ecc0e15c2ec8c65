"""A part of another signal, or samples of it at other times."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from playhead.errors import OutOfOrder
from playhead.signal.arrays import Positions, frozen, take
from playhead.signal.contract import Signal

__all__ = ["SignalView", "take"]

T = TypeVar("T")


class SignalView(Signal[T]):
    """Positions of another signal. A view of a view is a view of the signal itself.

    Args:
        source: The signal, or a view of it.
        positions: Which samples, in the order in which they are shown.
        stamps: The times at which they are shown; without them, their own.
    """

    def __init__(self, source: Signal[T], positions: Positions, stamps: NDArray[np.int64] | None = None) -> None:
        is_in_order = isinstance(positions, range) and stamps is None and source._is_in_order
        if isinstance(source, SignalView):
            if stamps is None and source._given is not None:
                stamps = take(source._given, positions)
            positions = _compose(source._positions, positions)
            source = source._source
        self._source: Signal[T] = source
        self._positions: Positions = positions
        self._given: NDArray[np.int64] | None = None if stamps is None else frozen(stamps)
        self._stamps = self._given
        self._is_in_order = is_in_order
        self._BLOCK = source._BLOCK

    @property
    def timestamps(self) -> NDArray[np.int64]:
        """The stamps of what is shown."""
        if self._stamps is None:
            self._stamps = frozen(take(self._source.timestamps, self._positions))
        return self._stamps

    def _values_at(self, positions: Positions) -> NDArray[Any]:
        return self._source._values_at(_compose(self._positions, positions))

    def _value_at(self, position: int) -> T:
        return self._source._value_at(int(self._positions[position]))

    def _count(self) -> int:
        return len(self._positions)

    def _sorted(self) -> NDArray[np.int64]:
        stamps = self.timestamps
        if not self._is_in_order:
            if (stamps[1:] < stamps[:-1]).any():
                raise OutOfOrder("this view is not in order of time, so it has no value at a time; sort its positions")
            self._is_in_order = True
        return stamps

    def _description(self) -> str:
        return f"{super()._description()} of {self._source!r}"


def _compose(outer: Positions, inner: Positions) -> Positions:
    if isinstance(outer, range):
        if isinstance(inner, range):
            return outer[inner.start : inner.stop : inner.step]
        return inner * outer.step + outer.start
    return take(outer, inner)
