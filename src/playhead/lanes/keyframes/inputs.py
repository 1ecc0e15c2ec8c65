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

_BARE = 8  # times as heavy: read again quickly, and quicker where few are kept, near the processor


@dataclass(frozen=True, slots=True)
class Cuts:
    """Where the inputs of a block lie, so that they are found at once when it is read again.

    Attributes:
        at: Where the first begins in the bytes of the block.
        sizes: How many bytes each has; 0 for one that was not given.
        given: How many were given.
        even: How many bytes each of those has, where they are the first ones and all alike; else 0.
    """

    at: int
    sizes: NDArray[np.uint32]
    given: int
    even: int

    @classmethod
    def of(cls, block: memoryview, inputs: NDArray[np.uint8], sizes: NDArray[np.uint32]) -> Cuts:
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
        is_even = given > 0 and sizes[:given].tobytes() == sizes[:1].tobytes() * given
        at = _address(inputs) - _address(np.frombuffer(block, BYTE))
        return cls(at, sizes.copy(), given, int(sizes[0]) if is_even else 0)


def _address(array: NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])


class PackedInputs(Sequence[bytes | None]):
    """Inputs, cut out or unpacked as they are asked for.

    Args:
        block: The bytes of their block.
        cuts: Where they lie in it.
        forms: What unpacks them together, and may know their form already.
        is_bare: They lie in the file as they are.

    Attributes:
        cuts: As given.
        weight: The bytes they take, as a limit on what is kept counts them.
    """

    def __init__(self, block: memoryview, cuts: Cuts, forms: rows.Forms, *, is_bare: bool = False) -> None:
        self._block, self.cuts, self._forms = block, cuts, forms
        self.weight = len(block) * (_BARE if is_bare else 1)
        self._column: rows.Column | None = None
        self._is_read = False

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
            found = [bytes(self._block[a:b]) or None for a, b in pairwise(edges)][::stride]
        return found if isinstance(key, slice) else found[0]

    @cached_property
    def _edges(self) -> NDArray[np.int64]:
        return self.cuts.at + np.concatenate(([0], np.cumsum(self.cuts.sizes, dtype=np.int64)))

    def values(self, start: int, stop: int) -> rows.Values:
        """Give those from one place to before another, unpacked and each its own."""
        given = self.cuts.given
        if not given:
            return [None] * (stop - start)
        if not self._is_read:
            self._column, self._is_read = self._read_column(), True
        if self._column is None:
            return unpacked(self[start:stop])
        found = self._column(start, min(stop, given))
        return [*found, *[None] * (stop - start - len(found))] if stop > given else found

    def _read_column(self) -> rows.Column | None:
        """Give what makes the values that were given, where all have one form."""
        cuts = self.cuts
        if not cuts.even:
            return None
        return self._forms.column_of(np.ndarray((cuts.given, cuts.even), BYTE, self._block, cuts.at))


def unpacked(inputs: Iterable[bytes | None]) -> list[Any]:
    """Unpack inputs, one by one."""
    return [None if one is None else tree.unpack(one) for one in inputs]
