"""A shuffled order of any length that needs no memory: position to item and nothing else.

A Feistel network over the smallest even number of bits that holds n shuffles a power of four; positions that fall
outside of n are shuffled on until they fall inside, which keeps it one to one. So a billion items cost what one costs,
any position can be asked for directly, and the same seed gives the same order anywhere.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

_ROUNDS = 6
_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


class Order:
    """A permutation of the numbers below n.

    Args:
        n: How many.
        seed: Which permutation; another epoch is another seed. None leaves them as they are.
    """

    def __init__(self, n: int, *seed: int) -> None:
        self.n = n
        self._half = np.uint64(max(1, ((n - 1).bit_length() + 1) // 2) if n > 1 else 1)
        self._mask = np.uint64((1 << int(self._half)) - 1)
        key = np.zeros(1, np.uint64)
        for part in seed:
            key = _mixed(key ^ np.uint64(part & 0xFFFFFFFFFFFFFFFF))
        self._keys = [_mixed(key + np.uint64(number)) for number in range(1, _ROUNDS + 1)]

    def __getitem__(self, positions: ArrayLike) -> NDArray[np.int64]:
        """Give the items at some positions."""
        found = np.asarray(positions, np.uint64).copy()
        outside = np.ones(found.shape, bool)
        while outside.any():
            found[outside] = self._shuffled(found[outside])
            outside = found >= self.n
        return found.astype(np.int64)

    def _shuffled(self, numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
        left, right = numbers >> self._half, numbers & self._mask
        for key in self._keys:
            left, right = right, left ^ (_mixed(right ^ key) & self._mask)
        return (left << self._half) | right


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread every bit over all others; the arithmetic is meant to wrap around."""
    with np.errstate(over="ignore"):
        numbers = numbers + _STEP
        numbers = (numbers ^ (numbers >> np.uint64(30))) * _MIX[0]
        numbers = (numbers ^ (numbers >> np.uint64(27))) * _MIX[1]
    return numbers ^ (numbers >> np.uint64(31))
