"""The same values at other times."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from playhead.errors import BadKey
from playhead.signal import keys
from playhead.signal.arrays import Positions, frozen
from playhead.signal.contract import Signal
from playhead.signal.derived.base import Derived

T = TypeVar("T")


def shifted(signal: Signal[T], ns: int) -> Signal[T]:
    """Show the same values later, or earlier where the shift is negative.

    Args:
        signal: The source. To make up for a sensor whose stamps are 5 ms late, shift it by -5_000_000.
        ns: Whole nanoseconds, added to each stamp.

    Raises:
        BadKey: The shift is no whole number; or, when the stamps are read, one of them leaves 64 bits.
    """
    return Shifted(signal, ns)


class Shifted(Derived[T]):
    """A signal with other stamps; see `shifted`."""

    def __init__(self, source: Signal[T], ns: int) -> None:
        super().__init__(source)
        if isinstance(ns, float):
            raise BadKey(f"a shift is in whole nanoseconds, not {ns}; for seconds: round(seconds * 1e9)")
        self._ns = keys.as_integer(ns, "a shift in nanoseconds")
        self._stamps: NDArray[np.int64] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_stamps": None}

    @property
    def timestamps(self) -> NDArray[np.int64]:
        """The stamps of the source, moved."""
        if self._stamps is None:
            stamps = self._source.timestamps
            if len(stamps):
                for edge in (int(stamps.min()), int(stamps.max())):
                    if not keys.LEAST <= edge + self._ns <= keys.MOST:
                        raise BadKey(f"the stamp {edge} shifted by {self._ns} does not fit into 64 bits")
                stamps = stamps + np.int64(self._ns)
            self._stamps = frozen(stamps)
        return self._stamps

    def _values_at(self, positions: Positions) -> NDArray[Any]:
        return self._source._values_at(positions)

    def _value_at(self, position: int) -> T:
        value: T = self._source._value_at(position)
        return value

    def _sorted(self) -> NDArray[np.int64]:
        self._source._sorted()
        return self.timestamps
