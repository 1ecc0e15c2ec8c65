"""Compressed stretches of rows, wherever they lie, and how rows are read out of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from playhead.errors import Damaged
from playhead.lanes.arrays import codec


class Gone(Exception):
    """What held the rows was sealed and removed since it was looked at; look again."""


class Piece(NamedTuple):
    """A compressed stretch of rows.

    Attributes:
        first: Its first row.
        length: How many rows it holds.
        codec: What compressed it.
        capacity: How many rows were compressed; those behind `length` are padding.
        load: Reads its bytes, checked.
        path: Where it lies, for messages.
    """

    first: int
    length: int
    codec: str
    capacity: int
    load: Callable[[], Any]
    path: str

    def decode(self, out: NDArray[Any]) -> None:
        """Fill an array with the first rows.

        Raises:
            Damaged: The bytes are not those of rows.
        """
        row_bytes = out.nbytes // max(1, len(out))
        try:
            codec.decode(self.codec, self.load(), out, self.capacity * row_bytes)
        except codec.Malformed as error:
            what = f"rows {self.first} to {self.first + self.length - 1}"
            raise Damaged(self.path, what, str(error)) from error


def fill(out: NDArray[Any], start: int, pieces: Iterable[Piece]) -> NDArray[np.bool_] | None:
    """Read rows from `start` on into an array.

    Returns:
        Which rows no piece holds, None where there are none; these are zero.
    """
    stop = start + len(out)
    at = start
    missing: list[tuple[int, int]] = []
    for piece in pieces:
        low, high = max(piece.first, at), min(piece.first + piece.length, stop)
        if low >= high:
            continue
        if low > at:
            missing.append((at, low))
        if low == piece.first:
            piece.decode(out[low - start : high - start])
        else:
            scratch = np.empty((high - piece.first, *out.shape[1:]), out.dtype)
            piece.decode(scratch)
            out[low - start : high - start] = scratch[low - piece.first :]
        at = high
    if at < stop:
        missing.append((at, stop))
    if not missing:
        return None
    found = np.zeros(len(out), np.bool_)
    for low, high in missing:
        found[low - start : high - start] = True
        out[low - start : high - start] = np.zeros((), out.dtype)
    return found
