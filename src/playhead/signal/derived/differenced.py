"""How a value changed since the one before."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead.errors import WrongType
from playhead.signal.arrays import Positions, take
from playhead.signal.contract import Signal
from playhead.signal.derived.base import NUMBERS, Derived, in_blocks, is_heavy


def differenced(signal: Signal[Any], *, per_second: bool = False) -> Signal[Any]:
    """Show value[i] - value[i - 1] at the time of value[i]; there is one sample less.

    Integers and truth values give signed integers that hold every difference (uint8 gives int16, bool int8), so that
    none wraps around; floats keep their dtype.

    Args:
        signal: The source; numbers, vectors, images.
        per_second: Divide by the seconds between the two samples; the values are float64 then. Where a view has two
            samples at one time, that is infinite, or NaN where nothing changed.

    Raises:
        WrongType: When values are read that are no numbers, or whose difference exceeds 64 bits.
    """
    return Differenced(signal, per_second=per_second)


class Differenced(Derived[Any]):
    """The change between neighbours; see `differenced`."""

    def __init__(self, source: Signal[Any], *, per_second: bool = False) -> None:
        super().__init__(source)
        self._is_per_second = per_second

    @property
    def timestamps(self) -> NDArray[np.int64]:
        """The stamps of the source from the second on."""
        return self._source.timestamps[1:]

    def _count(self) -> int:
        return max(len(self._source) - 1, 0)

    def _sorted(self) -> NDArray[np.int64]:
        return self._source._sorted()[1:]

    def _values_at(self, positions: Positions) -> NDArray[Any]:
        return in_blocks(positions, self._BLOCK, self._make) if is_heavy(self) else self._make(positions)

    def _make(self, positions: Positions) -> NDArray[Any]:
        if isinstance(positions, range) and positions.step == 1 and len(positions):
            values = self._source._values_at(range(positions.start, positions.stop + 1))
            old, new = values[:-1], values[1:]
        else:
            old, new = self._source._values_at(positions), self._source._values_at(_following(positions))
        if not self._is_per_second:
            return difference(new, old)
        if new.dtype.kind == "f":
            old, new = old.astype(np.float64), new.astype(np.float64)
        changes = difference(new, old)
        return _per_second(changes, self._seconds(positions).reshape(-1, *[1] * (changes.ndim - 1)))

    def _seconds(self, positions: Positions) -> NDArray[np.float64]:
        stamps = self._source.timestamps
        seconds: NDArray[np.float64] = difference(take(stamps, _following(positions)), take(stamps, positions)) / 1e9
        return seconds


def difference(new: NDArray[Any], old: NDArray[Any]) -> NDArray[Any]:
    """Subtract without wrap-around.

    Raises:
        WrongType: These are no numbers, or a difference exceeds 64 bits.
    """
    kind, size = new.dtype.kind, new.dtype.itemsize
    if kind not in NUMBERS:
        raise WrongType(f"only numbers, vectors and images have a difference; these values are {new.dtype}")
    changes: NDArray[Any]
    if kind in "fc":
        with np.errstate(over="ignore", invalid="ignore"):
            changes = new - old
    elif size < 8:
        changes = np.subtract(new, old, dtype="i1" if kind == "b" else f"i{2 * size}")
    else:
        changes = (new - old).view(np.int64)
        _check_wraps(changes, new, old)
    return changes


def _check_wraps(changes: NDArray[np.int64], new: NDArray[Any], old: NDArray[Any]) -> None:
    wraps = (changes < 0) != (new < old)
    if wraps.any():
        raise WrongType(
            f"the difference of {new[wraps][0]} and {old[wraps][0]} exceeds 64 bits; "
            "map the values to floats first: mapped(signal, np.float64, batch=True)"
        )


def _following(positions: Positions) -> Positions:
    if isinstance(positions, range):
        return range(positions.start + 1, positions.stop + 1, positions.step)
    return positions + 1


def _per_second(changes: NDArray[Any], seconds: NDArray[np.float64]) -> NDArray[Any]:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        rates: NDArray[Any] = changes / seconds
    return rates
