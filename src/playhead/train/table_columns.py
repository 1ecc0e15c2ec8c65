"""What the columns of a table become in a batch: arrays of their own, of types that can be computed with."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from playhead.errors import NotFound, WrongType

_ALIGNED = 64  # bytes; where each column of a packed batch begins
_AS: dict[
    np.dtype[Any], np.dtype[Any]
] = {  # what PyTorch hardly computes with, as a type that holds every value; uint64 has none, and keeps its bits
    np.dtype("<u2"): np.dtype("<i4"),
    np.dtype("<u4"): np.dtype("<i8"),
    np.dtype("<u8"): np.dtype("<i8"),
}


class Column(NamedTuple):
    """One column.

    Attributes:
        name: Its name.
        shape: Of its value in one row.
        held: The type in the table.
        given: The type in a batch.
        has_bits: Whether it is given as the same bits, and not as the same number.
    """

    name: str
    shape: tuple[int, ...]
    held: np.dtype[Any]
    given: np.dtype[Any]
    has_bits: bool

    @property
    def width(self) -> int:
        """The bytes of its value in one row of the table."""
        return self.held.itemsize * math.prod(self.shape)


class Columns:
    """Some columns of a table.

    Args:
        dtype: Of its rows.
        names: Which; None for all.
        for_torch: Whether the types have to be those that PyTorch computes with.

    Raises:
        NotFound: There is no such column.
        WrongType: PyTorch has no such type.
    """

    def __init__(self, dtype: np.dtype[Any], names: Iterable[str] | None, for_torch: bool) -> None:
        known = dtype.names or ()
        if isinstance(names, str):
            raise WrongType(f"columns are a list of names, not {names!r}")
        wanted = known if names is None else tuple(names)
        for name in wanted:
            if name not in known:
                raise NotFound.among("column", name, known)
        if not wanted:
            raise WrongType("a batch has at least one column")
        self.row = dtype
        self.all = [_column(name, dtype[name], for_torch) for name in wanted]

    def pack(self, rows: NDArray[Any], buffer: NDArray[np.uint8] | None = None) -> dict[str, NDArray[Any]]:
        """Copy the columns of rows, each to a place of its own in one buffer."""
        if buffer is None:
            buffer = np.empty(self.packed_bytes(len(rows)), np.uint8)
        packed = self.unpack(buffer, len(rows))
        for column in self.all:
            into = packed[column.name]
            if column.shape and column.width and column.held == column.given:
                # As bytes: NumPy would walk the elements of each row.
                bare = np.dtype((np.void, column.width))
                offset = self.row.fields[column.name][1]  # type: ignore[index]
                into.reshape(len(rows), math.prod(column.shape)).view(bare)[:, 0] = rows.getfield(bare, offset)
            else:
                values = rows[column.name]
                np.copyto(into, values.view(column.given) if column.has_bits else values)
        return packed

    def unpack(self, buffer: NDArray[np.uint8], count: int) -> dict[str, NDArray[Any]]:
        """Give the columns that lie in a buffer."""
        found, at = {}, 0
        for column in self.all:
            size = count * column.given.itemsize * math.prod(column.shape)
            found[column.name] = buffer[at : at + size].view(column.given).reshape(count, *column.shape)
            at += -(-size // _ALIGNED) * _ALIGNED
        return found

    def packed_bytes(self, count: int) -> int:
        """Tell how large the buffer for some rows has to be."""
        sizes = [count * column.given.itemsize * math.prod(column.shape) for column in self.all]
        return sum(-(-size // _ALIGNED) * _ALIGNED for size in sizes)


def _column(name: str, dtype: np.dtype[Any], for_torch: bool) -> Column:
    held, shape = dtype.base, dtype.shape
    if not for_torch:
        return Column(name, shape, held, held, False)
    if held.kind in "mM":
        return Column(name, shape, held, np.dtype("<i8"), True)
    if held.kind not in "biufc" or held.itemsize > 16 or held.byteorder == ">":
        raise WrongType(
            f"PyTorch has no type for {held} of the column {name!r}: leave it out of columns=, or device='numpy'"
        )
    return Column(name, shape, held, _AS.get(held, held), held == np.dtype("<u8"))
