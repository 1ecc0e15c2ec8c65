"""What derived signals share: a source, and ways to read it that neither repeat work nor fill the memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from playhead.errors import WrongShape, WrongType
from playhead.signal.arrays import Positions, take
from playhead.signal.contract import Signal

T = TypeVar("T")

Read = Callable[[Positions], NDArray[Any]]

NUMBERS = "biufc"  # the kinds of dtypes that one can calculate with; the others are text and objects


class Derived(Signal[T]):
    """A signal made of one other, with its stamps unless a subclass says otherwise."""

    def __init__(self, source: Signal[Any]) -> None:
        if not isinstance(source, Signal):
            raise WrongType(f"a derived signal is made of a signal, not of {type(source).__name__}")
        self._source = source
        self._BLOCK = source._BLOCK
        self._is_in_order = source._is_in_order

    @property
    def timestamps(self) -> NDArray[np.int64]:
        """The stamps of the source."""
        return self._source.timestamps

    def _count(self) -> int:
        return len(self._source)

    def _sorted(self) -> NDArray[np.int64]:
        return self._source._sorted()

    def _description(self) -> str:
        return f"{super()._description()} of {self._source!r}"


def each_once(positions: Positions, read: Read) -> NDArray[Any]:
    """Read several positions, and those that repeat only once."""
    if isinstance(positions, range) or len(positions) < 2:
        return read(positions)
    rises = positions[1:] > positions[:-1]
    if rises.all():
        return read(positions)
    if (positions[1:] >= positions[:-1]).all():
        is_new = np.concatenate(([True], rises))
        different, inverse = positions[is_new], np.cumsum(is_new) - 1
    else:
        different, inverse = np.unique(positions, return_inverse=True)
    if len(different) == len(positions):
        return read(positions)
    return take(read(different), inverse)


def is_heavy(signal: Signal[Any]) -> bool:
    """Tell a signal whose samples cost much, as those of a video do, by how few it reads at once."""
    return signal._BLOCK < Signal._BLOCK


def read_repeated(source: Signal[Any], positions: Positions) -> NDArray[Any]:
    """Read positions among which some repeat, as they do where a slow signal is held between its samples."""
    if is_heavy(source):
        return each_once(positions, source._values_at)
    return source._values_at(positions)  # a second copy costs less than finding the first


def in_blocks(positions: Positions, size: int, make: Read) -> NDArray[Any]:
    """Make the values at positions, so many at a time that what they are made of never fills the memory.

    Raises:
        WrongShape: The values of two blocks differ in shape.
    """
    if len(positions) <= size:
        return make(positions)
    first = make(positions[:size])
    values = np.empty((len(positions), *first.shape[1:]), first.dtype)
    values[:size] = first
    for start in range(size, len(positions), size):
        block = make(positions[start : start + size])
        if block.shape[1:] != values.shape[1:]:
            raise WrongShape(f"one value has the shape {values.shape[1:]}, another {block.shape[1:]}")
        if block.dtype != values.dtype:
            values = values.astype(np.result_type(values, block))
        values[start : start + size] = block
    return values
