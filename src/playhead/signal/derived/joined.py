"""Several signals as one, at the times of all of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead.errors import WrongType
from playhead.signal.arrays import Positions, frozen, take
from playhead.signal.contract import Signal
from playhead.signal.derived.base import NUMBERS, read_repeated

_NUMERIC = (int, float, complex, np.number, np.bool_)


def joined(*signals: Signal[Any], fill: Any = None) -> Signal[Any]:
    """Show the newest value of each signal, at every time at which one of them has a new one.

    Numbers and vectors become one vector, in the order of the signals and in the dtype that NumPy gives to their sum.
    As soon as one of them is something else (text, an image), a value is the tuple of the values.

    Args:
        signals: One or more.
        fill: What stands for a signal that has no value yet, in each of its places. Without it, the joined signal
            begins when all of them have a value.

    Raises:
        WrongType: There is no signal, or one of them is something else.
        OutOfOrder: When it is read, and one of them is a view that is not in order of time.
    """
    return Joined(signals, fill)


class Joined(Signal[Any]):
    """Several signals on the union of their stamps; see `joined`."""

    def __init__(self, sources: tuple[Signal[Any], ...], fill: Any = None) -> None:
        if not sources:
            raise WrongType("there is nothing to join: pass one or more signals")
        for source in sources:
            if not isinstance(source, Signal):
                raise WrongType(f"signals are joined with signals, not with {type(source).__name__}")
        self._sources = sources
        self._fill = fill
        self._BLOCK = min(source._BLOCK for source in sources)
        self._plan: tuple[NDArray[np.int64], list[NDArray[np.int64]]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_plan": None}

    @property
    def timestamps(self) -> NDArray[np.int64]:
        """The stamps of all sources, each once."""
        return self._planned()[0]

    def _values_at(self, positions: Positions) -> NDArray[Any]:
        held = [take(column, positions) for column in self._planned()[1]]
        blocks = [_read(source, column) for source, column in zip(self._sources, held, strict=True)]
        is_vector = all(block.dtype.kind in NUMBERS and block.ndim <= 2 for block in blocks)
        if is_vector and (self._fill is None or isinstance(self._fill, _NUMERIC)):
            return np.concatenate([self._columns(*pair) for pair in zip(blocks, held, strict=True)], axis=1)
        return self._tuples(blocks, held)

    def _description(self) -> str:
        return f"{super()._description()} of {len(self._sources)} signals"

    def _planned(self) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
        """Give the stamps, and for each source the position that it holds at each of them; -1 is none yet."""
        if self._plan is None:
            clocks = [source._sorted() for source in self._sources]
            stamps = np.sort(np.concatenate(clocks), kind="stable")  # a merge: the parts are in order
            stamps = stamps[np.concatenate(([True], stamps[1:] > stamps[:-1]))] if len(stamps) else stamps
            if self._fill is None:
                is_never = any(not len(clock) for clock in clocks)
                stamps = stamps[:0] if is_never else stamps[stamps.searchsorted(max(clock[0] for clock in clocks)) :]
            self._plan = frozen(stamps), [clock.searchsorted(stamps, "right") - 1 for clock in clocks]
        return self._plan

    def _columns(self, block: NDArray[Any], held: NDArray[np.int64]) -> NDArray[Any]:
        columns = block.reshape(len(block), math.prod(block.shape[1:]))
        if self._fill is None:
            return columns
        kind = np.min_scalar_type(self._fill)
        if columns.dtype.kind not in "fc" and kind.type(self._fill).item() != self._fill == self._fill:
            kind = np.result_type(kind, np.float64)  # NumPy looks only at whether it is too large; NaN is no number
        columns = columns.astype(np.result_type(columns.dtype, kind))
        columns[held < 0] = self._fill
        return columns

    def _tuples(self, blocks: list[NDArray[Any]], held: list[NDArray[np.int64]]) -> NDArray[Any]:
        values = np.empty(len(held[0]), object)
        for row in range(len(values)):
            values[row] = tuple(
                self._fill if column[row] < 0 else block[row] for block, column in zip(blocks, held, strict=True)
            )
        return values


def _read(source: Signal[Any], held: NDArray[np.int64]) -> NDArray[Any]:
    """Read what a source holds; any row at all where it holds nothing."""
    if len(source):
        return read_repeated(source, np.maximum(held, 0))
    nothing = source._values_at(range(0))
    return np.zeros((len(held), *nothing.shape[1:]), nothing.dtype)
