"""A shuffled order of any length that needs no memory: position to item and nothing else.

A Feistel network shuffles the numbers below a·2^j, the smallest such product that holds n; the few positions that fall
outside of n are shuffled on until they fall inside, which keeps it one to one. So a billion items cost what one costs,
any position can be asked for directly, and the same seed gives the same order anywhere. Few items, for which chance is
all too visible, get a permutation drawn from all there are.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

_DRAWN = 1 << 16  # as many items are simply permuted: in a few milliseconds, once
_ROUNDS = 4  # each mixes both halves
_BLOCK = 1 << 16  # positions at a time: what is at work stays in the processor's cache
_KEYS = 4 * _ROUNDS
_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


class Order:
    """A permutation of the numbers below n.

    Args:
        n: How many.
        seed: Which permutation; another epoch is another seed.

    Attributes:
        n: How many.
        is_computed: Whether items are computed one by one, and not looked up in a permutation that was drawn.
    """

    def __init__(self, n: int, *seed: int) -> None:
        self.n = n
        digest = hashlib.shake_128(",".join(str(int(part)) for part in seed).encode()).digest(8 * _KEYS)
        self._keys = np.frombuffer(digest, "<u8").astype(np.uint64)
        self._drawn: NDArray[np.int64] | None = None
        self.is_computed = n > _DRAWN
        if self.is_computed:
            self._prepare()

    def __getitem__(self, positions: ArrayLike) -> NDArray[np.int64]:
        """Give the items at some positions, which are below n."""
        given = np.asarray(positions)
        if not self.is_computed:
            if self._drawn is None:
                self._drawn = _permutation(self.n, self._keys[0])
            return self._drawn[given.astype(np.int64, copy=False)]
        flat = given.reshape(-1)
        found = np.empty(flat.shape, np.int64)
        for start in range(0, len(flat), _BLOCK):
            block = slice(start, start + _BLOCK)
            found[block] = self._walked(flat[block].astype(self._type))
        return found.reshape(given.shape)

    def _prepare(self) -> None:
        """Lay out the two halves of a number: `high` below some a, and `low` of j bits."""
        bits = (self.n - 1).bit_length()
        self._type: type[np.unsignedinteger[Any]] = np.uint32 if bits <= 32 else np.uint64
        width = 32 if bits <= 32 else 64
        low_bits = bits // 2
        high = -(-self.n >> low_bits)  # rounded up

        def constant(value: int) -> NDArray[Any]:  # of no dimension: NumPy is faster with it than with a scalar
            return np.array(value & ((1 << width) - 1), self._type)

        self._low_bits, self._low_mask = constant(low_bits), constant((1 << low_bits) - 1)
        self._high, self._last = constant(high), constant(self.n - 1)
        self._to_low, self._to_half = constant(width - low_bits), constant(width // 2)
        keys = [constant(int(key) | (number % 2)) for number, key in enumerate(self._keys)]
        self._rounds = [keys[first : first + 4] for first in range(0, _KEYS, 4)]

    def _walked(self, numbers: NDArray[Any]) -> NDArray[Any]:
        found = self._shuffled(numbers)
        if found.max(initial=0) <= self._last:
            return found
        outside = np.flatnonzero(found > self._last)
        while len(outside):
            again = self._shuffled(found[outside])
            found[outside] = again
            outside = outside[again > self._last]
        return found

    def _shuffled(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Shuffle numbers below a·2^j, in place where that can be; the arithmetic is meant to wrap around."""
        high: NDArray[Any] = numbers >> self._low_bits
        low, mixed = numbers & self._low_mask, np.empty_like(numbers)
        for first_add, first_times, second_add, second_times in self._rounds:
            _mix(low, first_add, first_times, mixed)
            np.right_shift(mixed, self._to_half, out=mixed)
            np.multiply(mixed, self._high, out=mixed)
            np.right_shift(mixed, self._to_half, out=mixed)  # below a
            np.add(high, mixed, out=high)
            np.subtract(high, self._high, out=mixed)
            np.minimum(high, mixed, out=high)  # modulo a: what was below it has wrapped around to something large
            _mix(high, second_add, second_times, mixed)
            np.right_shift(mixed, self._to_low, out=mixed)
            np.bitwise_xor(low, mixed, out=low)
        np.left_shift(high, self._low_bits, out=high)
        np.bitwise_or(high, low, out=high)
        return high


def _mix(numbers: NDArray[Any], add: NDArray[Any], times: NDArray[Any], out: NDArray[Any]) -> None:
    """Give a number whose upper bits depend on all bits of another: (times · number + add)²."""
    np.multiply(numbers, times, out=out)
    np.add(out, add, out=out)
    np.multiply(out, out, out=out)


def _permutation(n: int, key: np.uint64) -> NDArray[np.int64]:
    """Sort the numbers below n by as many random ones, no two of which are equal (splitmix64)."""
    with np.errstate(over="ignore"):
        numbers = key + np.arange(1, n + 1, dtype=np.uint64) * _STEP
        numbers = (numbers ^ (numbers >> np.uint64(30))) * _MIX[0]
        numbers = (numbers ^ (numbers >> np.uint64(27))) * _MIX[1]
    return np.argsort(numbers ^ (numbers >> np.uint64(31)))
