"""Steps of a trace as bytes: the time and the error of each, and the input that leads to the next one.

A block is a packed dict, compressed: columns compress better than rows, and one record a step would cost a system
call each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from playhead import zstd
from playhead.errors import Damaged
from playhead.lanes.keyframes import tree

LEVEL = 3
MOST_BYTES = 1 << 31  # of one block
MOST_PACKED = 1 << 30  # of one state, or one input


@dataclass(slots=True)
class Block:
    """Steps that follow one another.

    Attributes:
        first: The number of the first.
        stamps: Their times.
        errors: Their errors; NaN where there was none.
        inputs: What leads from each to the next, packed; None where that was not given.
        dropped: Keyframes that stopped being some with these steps.
    """

    first: int
    stamps: NDArray[np.int64]
    errors: NDArray[np.float64]
    inputs: Sequence[bytes | None]
    dropped: list[int] = field(default_factory=list)

    @property
    def stop(self) -> int:
        """The number behind the last."""
        return self.first + len(self.stamps)

    def pack(self) -> bytes:
        """Give the bytes."""
        given = [b"" if one is None else one for one in self.inputs]  # no packed value is empty
        content = {
            "first": self.first,
            "stamps": np.diff(self.stamps, prepend=np.int64(0)),
            "errors": self.errors,
            "sizes": np.array([len(one) for one in given], np.uint32),
            "inputs": np.frombuffer(b"".join(given), np.uint8),
            "dropped": np.array(self.dropped, np.int64),
        }
        return zstd.compress(tree.pack(content), LEVEL)

    @classmethod
    def unpack(cls, data: bytes, path: Any) -> Block:
        """Read what `pack` gave.

        Raises:
            Damaged: It was something else.
        """
        try:
            content = tree.unpack(zstd.expand_all(data, MOST_BYTES))
            inputs = PackedInputs(content["inputs"].tobytes(), np.cumsum(content["sizes"], dtype=np.int64))
            found = cls(
                int(content["first"]),
                np.cumsum(content["stamps"], dtype=np.int64),
                np.asarray(content["errors"], np.float64),
                inputs,
                content["dropped"].tolist(),
            )
            if found.stamps.shape == found.errors.shape == (len(inputs),) and inputs.is_whole:
                return found
        except (zstd.Malformed, Damaged, KeyError, TypeError, AttributeError, ValueError) as error:
            raise Damaged(path, "a block of steps", f"{type(error).__name__}: {error}") from error
        raise Damaged(path, "a block of steps", "columns of different lengths")


class PackedInputs(Sequence[bytes | None]):
    """Inputs back to back, cut out as they are asked for.

    Args:
        whole: Their bytes.
        ends: Where each of them ends.
    """

    def __init__(self, whole: bytes, ends: NDArray[np.int64]) -> None:
        self._whole, self._ends = whole, ends
        self.is_whole = len(whole) == (ends[-1] if len(ends) else 0)

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, key: int) -> bytes | None: ...
    @overload
    def __getitem__(self, key: slice) -> list[bytes | None]: ...
    def __getitem__(self, key: int | slice) -> bytes | list[bytes | None] | None:
        """Give one or several of them; None for one that was not given."""
        start, stop, stride = (key if isinstance(key, slice) else slice(key, key + 1)).indices(len(self._ends))
        if not self._whole:
            found: list[bytes | None] = [None] * len(range(start, stop, stride))
        else:
            edges = [int(self._ends[start - 1]) if start else 0, *self._ends[start:stop].tolist()]
            found = [self._whole[a:b] or None for a, b in pairwise(edges)][::stride]
        return found if isinstance(key, slice) else found[0]


def join(blocks: Sequence[Block]) -> Block:
    """Make one block of some that follow one another."""
    return Block(
        blocks[0].first,
        np.concatenate([block.stamps for block in blocks]),
        np.concatenate([block.errors for block in blocks]),
        [one for block in blocks for one in block.inputs],
        [step for block in blocks for step in block.dropped],
    )


def squeezed(packed: bytes) -> bytes:
    """Compress a packed state."""
    return zstd.compress(packed, LEVEL)


def expand_state(data: bytes, hashed: bytes, path: Any, step: int) -> bytes:
    """Give a packed state from its compressed bytes.

    Raises:
        Damaged: It is not the one that was kept.
    """
    try:
        packed = zstd.expand_all(data, MOST_PACKED)
    except zstd.Malformed as error:
        raise Damaged(path, f"the state of step {step}", str(error)) from error
    if tree.digest(packed) != hashed:
        raise Damaged(path, f"the state of step {step} with hash {hashed.hex()}", tree.digest(packed).hex())
    return packed
