"""What the file of a game says and its rows do not, kept with the run so that the file can be written again.

Rows hold values as training wants them: between 0 and 1, exactly 1 for the chosen move, and computed ones if the file
has none. So the values as they were are kept, too: a line of JSON, then numbers for each step, compressed by Zstandard.
"""

from __future__ import annotations

import math
import struct
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from playhead import strictjson
from playhead.table.games.rows import Place
from playhead.zstd import Malformed, compress, expand_all

_LEVEL = 1
_MOST_FACTS, _MOST_OF_STEP = 1 << 16, 256  # bytes
_BOARD_DIGITS = 16


class Original(NamedTuple):
    """What a file says besides its rows and what is known of the run.

    Attributes:
        form: The kind of file: `a2run2`, `a2run` or `dat`.
        said: Further facts, as JSON.
        values: The values that rows do not keep, in the file's own type; empty if there are none.
    """

    form: str
    said: dict[str, Any]
    values: bytes

    def steps(self, name: str, count: int) -> NDArray[np.bool_]:
        """Return a truth value for each step: whether it is in the ranges that a fact lists."""
        mask = np.zeros(count, np.bool_)
        for first, stop in self.said.get(name, ()):
            mask[first:stop] = True
        return mask


def packed(place: Place, form: str, without: NDArray[np.int64], values: NDArray[Any] | None, **said: Any) -> bytes:
    """Return what is kept of one game.

    Args:
        place: Where it was read; the name of the file is kept.
        form: The kind of file.
        without: The steps that have no branches.
        values: One number or four a step, little-endian; None if rows say them all.
        **said: Further facts; those that are None are left out.
    """
    facts = {"form": form, "name": place.path.name, "run": place.run, "without": _ranges(without) or None, **said}
    line = strictjson.encode({name: fact for name, fact in facts.items() if fact is not None})
    return compress(b"\n".join((line, b"" if values is None or not values.any() else values.tobytes())), _LEVEL)


def unpacked(data: bytes, steps: int) -> Original:
    """Return what `packed` kept of a game of a number of steps.

    Raises:
        ValueError: If the bytes are something else.
    """
    try:
        line, _, values = expand_all(data, _MOST_FACTS + steps * _MOST_OF_STEP).partition(b"\n")
        said = strictjson.decode(line)
        return Original(str(said.pop("form")), said, values)
    except (Malformed, KeyError, AttributeError, TypeError) as error:
        raise ValueError(str(error)) from error


def spelled(board: int) -> str:
    """Return a board as 16 hexadecimal digits, one a tile: SQLite has no whole numbers of 64 bits without a sign."""
    return f"{board:0{_BOARD_DIGITS}x}"


def bits_of(number: bytes) -> int | None:
    """Return the bits of a float if it is NaN, of which there are many; None if the number itself says them."""
    return int.from_bytes(number, "little") if math.isnan(struct.unpack("<f", number)[0]) else None


def _ranges(steps: NDArray[np.int64]) -> list[list[int]]:
    if not len(steps):
        return []
    cuts = np.flatnonzero(np.diff(steps) > 1) + 1
    return [[int(part[0]), int(part[-1]) + 1] for part in np.split(steps, cuts)]
