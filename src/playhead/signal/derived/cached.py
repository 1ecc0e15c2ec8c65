"""A signal that is read once."""

from __future__ import annotations

import threading
from typing import Any, TypeVar

from numpy.typing import NDArray

from playhead.signal.arrays import Positions, frozen, take
from playhead.signal.contract import Signal
from playhead.signal.derived.base import Derived

T = TypeVar("T")


def cached(signal: Signal[T]) -> Signal[T]:
    """Show the same signal, and hold all of its values in memory from the first read on.

    A pickled copy starts empty: each process reads once for itself.
    """
    return Cached(signal)


class Cached(Derived[T]):
    """A signal whose values are read once; see `cached`."""

    def __init__(self, source: Signal[T]) -> None:
        super().__init__(source)
        self._BLOCK = Signal._BLOCK
        self._turn = threading.Lock()
        self._held: NDArray[Any] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._source,)

    def _values_at(self, positions: Positions) -> NDArray[Any]:
        return take(self._read(), positions)

    def _value_at(self, position: int) -> T:
        value: T = self._read()[position]
        return value

    def _read(self) -> NDArray[Any]:
        held = self._held
        if held is None:
            with self._turn:
                if self._held is None:
                    self._held = frozen(self._source.values)
                held = self._held
        return held
