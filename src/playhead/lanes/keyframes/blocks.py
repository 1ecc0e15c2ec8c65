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
from playhead.errors import Damaged, WrongType
from playhead.lanes.keyframes import frames, tree
from playhead.lanes.keyframes.inputs import BYTE, SIZE, Cuts, PackedInputs
from playhead.lanes.keyframes.rows import Forms

MOST_PACKED = 1 << 30  # of one state, or one input
MOST_BYTES = MOST_PACKED + MOST_PACKED // 4  # of one block: it ends with the input that makes it large


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
        """Give the bytes.

        Raises:
            WrongType: They are more than anybody reads again.
        """
        given = [b"" if one is None else one for one in self.inputs]  # no packed value is empty
        content = {
            "first": self.first,
            "stamps": np.diff(self.stamps, prepend=np.int64(0)),
            "errors": self.errors,
            "sizes": np.array([len(one) for one in given], SIZE),
            "inputs": np.frombuffer(b"".join(given), BYTE),
            "dropped": np.array(self.dropped, np.int64),
        }
        packed = tree.pack(content)
        if len(packed) > MOST_BYTES:
            raise WrongType(
                f"steps {self.first} to {self.stop} in {len(packed):,} bytes: {MOST_BYTES:,} are read again"
            )
        return frames.squeezed(packed)

    @classmethod
    def unpack(cls, data: bytes, path: Any) -> Block:
        """Read what `pack` gave.

        Raises:
            Damaged: It was something else.
        """
        try:
            block = frames.look(data, MOST_BYTES)
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
            due = f"a block of steps, at most {MOST_BYTES:,} bytes large"
            raise Damaged(path, due, f"{type(error).__name__}: {error}") from error
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


def expand_state(data: bytes, hashed: bytes, path: Any, step: int) -> bytes:
    """Give a packed state from its compressed bytes.

    Raises:
        Damaged: It is not the one that was kept.
    """
    try:
        packed = bytes(frames.look(data, MOST_PACKED))
    except zstd.Malformed as error:
        raise Damaged(path, f"the state of step {step}", str(error)) from error
    if tree.digest(packed) != hashed:
        raise Damaged(path, f"the state of step {step} with hash {hashed.hex()}", tree.digest(packed).hex())
    return packed
