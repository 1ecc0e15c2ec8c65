"""What leads from each step of a block to the next, packed and back to back, as blocks of steps hold it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from playhead.lanes.keyframes import rows, tree

BYTE, SIZE = np.dtype(np.uint8), np.dtype(np.uint32)


@dataclass(frozen=True, slots=True)
class Cuts:
    """Where the inputs of a block lie, so that they are found at once when it is read again.

    Attributes:
        at: Where the first begins in the bytes of the block.
        sizes: How many bytes each has; 0 for one that was not given.
        given: How many were given.
        is_even: Whether those are the first ones, and all of one size.
    """

    at: int
    sizes: NDArray[np.uint32]
    given: int
    is_even: bool

    @classmethod
    def of(cls, block: bytes, inputs: NDArray[np.uint8], sizes: NDArray[np.uint32]) -> Cuts:
        """See how inputs lie in a block.

        Args:
            block: Its bytes.
            inputs: Those of the inputs, a view of them.
            sizes: How many each has.

        Raises:
            ValueError: These are not the sizes of those bytes.
        """
        if inputs.dtype != BYTE or sizes.dtype != SIZE or sizes.ndim != 1 or inputs.shape != (sizes.sum(),):
            raise ValueError("inputs of other sizes")
        given = int(np.count_nonzero(sizes))
        is_even = sizes[:given].tobytes() == sizes[:1].tobytes() * given
        return cls(_address(inputs) - _address(np.frombuffer(block, BYTE)), sizes.copy(), given, is_even)


def _address(array: NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])


class PackedInputs(Sequence[bytes | None]):
    """Inputs, cut out or unpacked as they are asked for.

    Args:
        block: The bytes of their block.
        cuts: Where they lie in it.
        forms: What unpacks them together, and may know their form already.

    Attributes:
        cuts: As given.
    """

    def __init__(self, block: bytes, cuts: Cuts, forms: rows.Forms) -> None:
        self._block, self.cuts, self._forms = block, cuts, forms
        self._column: rows.Column | None = None
        self._is_read = False

    @property
    def nbytes(self) -> int:
        """How much memory they take."""
        return len(self._block)

    def __len__(self) -> int:
        return len(self.cuts.sizes)

    @overload
    def __getitem__(self, key: int) -> bytes | None: ...
    @overload
    def __getitem__(self, key: slice) -> list[bytes | None]: ...
    def __getitem__(self, key: int | slice) -> bytes | list[bytes | None] | None:
        """Give one or several of them; None for one that was not given."""
        start, stop, stride = (key if isinstance(key, slice) else slice(key, key + 1)).indices(len(self))
        if not self.cuts.given:
            found: list[bytes | None] = [None] * len(range(start, stop, stride))
        else:
            edges = self._edges[start : max(start, stop) + 1].tolist()
            found = [self._block[a:b] or None for a, b in pairwise(edges)][::stride]
        return found if isinstance(key, slice) else found[0]

    @cached_property
    def _edges(self) -> NDArray[np.int64]:
        return self.cuts.at + np.concatenate(([0], np.cumsum(self.cuts.sizes, dtype=np.int64)))

    def values(self, start: int, stop: int) -> list[Any]:
        """Give those from one place to before another, unpacked and each its own."""
        given = self.cuts.given
        if not given:
            return [None] * (stop - start)
        if not self._is_read:
            self._column, self._is_read = self._read_column(), True
        if self._column is None:
            return unpacked(self[start:stop])
        found = self._column(start, min(stop, given))
        return found + [None] * (stop - start - len(found)) if stop > given else found

    def _read_column(self) -> rows.Column | None:
        """Give what makes the values that were given, where all have one form."""
        cuts = self.cuts
        if not cuts.is_even:
            return None
        size = int(cuts.sizes[0])
        table = np.frombuffer(self._block, BYTE, cuts.given * size, cuts.at).reshape(cuts.given, size)
        return self._forms.column_of(table)


def unpacked(inputs: Iterable[bytes | None]) -> list[Any]:
    """Unpack inputs, one by one."""
    return [None if one is None else tree.unpack(one) for one in inputs]
