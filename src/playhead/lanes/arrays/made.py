"""Arrays that a reel does not store, but somebody makes when they are read.

Their reel says of each its name, type and shape, and holds a check of every row, `checks.frames` for `frames`: four
bytes that tell whether what was made is what was seen. Who makes them is known above this lane; it gives `Reel.maker`
what does.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import xxhash
from numpy.typing import NDArray

from playhead.errors import Damaged
from playhead.lanes.arrays.kind import STEPS, ArrayKind

RESIMULATED = "resimulated"  # the fact of a reel that says how its arrays are made
ARRAYS = "arrays"


class Maker(Protocol):
    """Makes rows of arrays."""

    def rows(self, name: str, positions: NDArray[np.int64]) -> NDArray[Any]:
        """Give the rows of an array at positions of the reel, in their order."""

    def close(self) -> None:
        """Give back what is held."""


def made_kinds(facts: dict[str, Any]) -> dict[str, ArrayKind]:
    """Describe the arrays that a reel does not store.

    Raises:
        Damaged: What its facts say of them cannot be.
    """
    listed = facts.get(RESIMULATED, {})
    found = listed.get(ARRAYS, []) if isinstance(listed, dict) else []
    try:
        kinds = [ArrayKind.from_json({"axis": STEPS, "chunk": 1} | one) for one in found]
    except TypeError as error:
        raise Damaged("a replay", "the arrays that are made again", repr(found)[:200]) from error
    return {kind.name: kind for kind in kinds}


def check_of(row: NDArray[Any]) -> int:
    """Give the check of a row, 32 bits."""
    return int(xxhash.xxh3_64_intdigest(np.ascontiguousarray(row).data)) & 0xFFFFFFFF


def hash_of(row: NDArray[Any]) -> str:
    """Give the hash of a row, 64 bits as text."""
    return str(xxhash.xxh3_64_hexdigest(np.ascontiguousarray(row).data))


def described(name: str, row: NDArray[Any]) -> dict[str, Any]:
    """Say of an array what `made_kinds` reads."""
    kind = ArrayKind.of(name, STEPS, row)
    return {"name": name, "dtype": kind.dtype, "shape": list(kind.shape)}
