"""Steps of a trace as bytes: the time and the error of each, and the input that leads to the next one.

A block is a packed dict, compressed: columns compress better than rows, and one record a step would cost a system
call each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead import zstd
from playhead.errors import Damaged
from playhead.lanes.keyframes import tree
from playhead.lanes.keyframes.inputs import BYTE, SIZE, Cuts, PackedInputs
from playhead.lanes.keyframes.rows import Forms

LEVEL = 3
_AS_IT_IS = -1  # the level at which numbers stay as they are, and only what repeats is told once
_WORTH = 0.875

MOST_PACKED = 1 << 30  # of one state, or one input
MOST_BYTES = 17 * MOST_PACKED  # of one block: earlier versions put sixteen inputs together, however large


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
            "sizes": np.array([len(one) for one in given], SIZE),
            "inputs": np.frombuffer(b"".join(given), BYTE),
            "dropped": np.array(self.dropped, np.int64),
        }
        return squeezed(tree.pack(content))

    @classmethod
    def unpack(cls, data: bytes, path: Any) -> Block:
        """Read what `pack` gave.

        Raises:
            Damaged: It was something else.
        """
        try:
            block = zstd.expand_all(data, MOST_BYTES)
            content = tree.look(block)
            cuts = Cuts.of(block, content["inputs"], content["sizes"])
            found = cls(
                int(content["first"]),
                np.cumsum(content["stamps"], dtype=np.int64),
                np.array(content["errors"], np.float64),  # its own, since it is kept for longer than the inputs
                PackedInputs(block, cuts, Forms()),
                content["dropped"].tolist(),
            )
            if found.stamps.shape == found.errors.shape == cuts.sizes.shape:
                return found
        except (zstd.Malformed, Damaged, KeyError, TypeError, AttributeError, ValueError) as error:
            raise Damaged(path, "a block of steps", f"{type(error).__name__}: {error}") from error
        raise Damaged(path, "a block of steps", "columns of different lengths")


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
    """Compress packed values; what hardly gets smaller, such as random numbers, stays as it is in its frame.

    Those would be a few parts in a hundred smaller, and take thirty times as long to read.
    """
    found = zstd.compress(packed, LEVEL)
    return found if len(found) < len(packed) * _WORTH else zstd.compress(packed, _AS_IT_IS)


def gets_smaller(packed: bytes) -> bool:
    """Tell whether compressing packed values is worth it."""
    return len(zstd.compress(packed, LEVEL)) < len(packed) * _WORTH


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
