"""Another value for each value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead.errors import WrongShape, WrongType
from playhead.signal.arrays import Positions
from playhead.signal.contract import Signal
from playhead.signal.derived.base import NUMBERS, Derived, each_once, in_blocks


def mapped(signal: Signal[Any], function: Callable[[Any], Any], *, batch: bool = False) -> Signal[Any]:
    """Show what a function makes of each value, at the same times.

    Numbers, and arrays of one shape, become one array; anything else an array of objects, each as the function gave it.

    Args:
        signal: The source.
        function: Gives the new value of a value. It is called for what is read, when it is read, and again when that is
            read again (see `cached`); so it should give the same each time, and not change what it is given.
        batch: The function takes an array with one value a row, at least one, and gives an array with as many rows.
    """
    return Mapped(signal, function, batch=batch)


def norm(signal: Signal[Any]) -> Signal[float]:
    """Show the length of each vector as float64: the root of the sum of the squares; of a number, its size.

    Raises:
        WrongType: When values are read that are no numbers.
    """
    return Mapped(signal, _lengths, batch=True)


class Mapped(Derived[Any]):
    """A function of each value; see `mapped`."""

    def __init__(self, source: Signal[Any], function: Callable[[Any], Any], *, batch: bool = False) -> None:
        super().__init__(source)
        if not callable(function):
            raise WrongType(f"values are mapped by a function, not by {type(function).__name__}")
        self._function = function
        self._is_batch = batch

    def _values_at(self, positions: Positions) -> NDArray[Any]:
        if not len(positions):
            return self._nothing()
        return each_once(positions, lambda different: in_blocks(different, self._BLOCK, self._make))

    def _value_at(self, position: int) -> Any:
        if self._is_batch:
            return super()._value_at(position)
        return _gathered([self._function(self._source._value_at(position))])[0]

    def _make(self, positions: Positions) -> NDArray[Any]:
        values = self._source._values_at(positions)
        if not self._is_batch:
            return _gathered([self._function(value) for value in values])
        made = np.asarray(self._function(values))
        if made.shape[:1] != values.shape[:1]:
            raise WrongShape(
                f"the function was given {len(values)} values and gave an array of shape {made.shape}; with batch=True "
                "it gives as many rows as it was given"
            )
        return made

    def _nothing(self) -> NDArray[Any]:
        # The first value tells the shape and dtype that none of them would have.
        return self._make(range(1))[:0] if len(self) else np.empty(0)


def _gathered(results: list[Any]) -> NDArray[Any]:
    try:
        array = np.array(results)
    except ValueError:
        shapes = sorted({str(np.shape(result)) for result in results if isinstance(result, np.ndarray)})
        raise WrongShape(
            f"the function gave values of different shapes ({', '.join(shapes) or 'nested lists'}); "
            "the values of a signal have one shape"
        ) from None
    if array.dtype.kind in NUMBERS:
        return array
    # NumPy makes text of ("left", 3): such values stay what they are.
    objects = np.empty(len(results), object)
    objects[:] = results
    return objects


def _lengths(values: NDArray[Any]) -> NDArray[np.float64]:
    if values.dtype.kind not in NUMBERS:
        raise WrongType(f"only vectors and numbers have a norm; these values are {values.dtype}")
    if values.dtype.kind == "c":
        values = np.abs(values)
    if values.ndim == 1:
        return np.abs(values.astype(np.float64, copy=False))  # a square could be too large or too small
    rows = values.reshape(len(values), -1).astype(np.float64, copy=False)
    lengths: NDArray[np.float64] = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return lengths
