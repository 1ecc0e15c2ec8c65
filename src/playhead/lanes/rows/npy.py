"""The header of a `.npy` file of rows, which NumPy reads, and in which the number of rows can be written over."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.lib import format as npy_format

from playhead.errors import Damaged, NotFound, WrongType

ALIGNED = 4096  # bytes; rows begin at a multiple, so that they can be mapped
_DIGITS = 20
_MOST_HEADER = 1 << 20


class Header(NamedTuple):
    """What a file says of its rows.

    Attributes:
        dtype: The type of a row.
        rows: How many there are.
        offset: Where the first one begins.
    """

    dtype: np.dtype[Any]
    rows: int
    offset: int


def checked(dtype: np.dtype[Any], what: object = "these rows") -> np.dtype[Any]:
    """Take the type of a row: named columns of plain numbers, little-endian, without gaps.

    Raises:
        WrongType: It is another one.
    """
    if dtype.names is None:
        raise WrongType(f"{what}: a row has named columns (a structured dtype), not {dtype}")
    if dtype.hasobject:
        raise WrongType(f"{what}: Python objects are never read from a file, and {dtype} has some")
    if not all(name.isascii() for name in dtype.names):
        raise WrongType(f"{what}: names of columns are ASCII, as every reader of .npy files knows them")
    packed = np.dtype([(name, _little(dtype[name], f"{what}: {name}")) for name in dtype.names])
    if packed != dtype or packed.itemsize != dtype.itemsize or not packed.itemsize:
        raise WrongType(f"{what}: columns lie behind one another without gaps, little-endian; this is {dtype}")
    return packed


def _little(dtype: np.dtype[Any], what: str) -> np.dtype[Any]:
    base, shape = dtype.subdtype or (dtype, ())
    if base.kind not in "biufc" or base.names is not None:
        raise WrongType(f"{what}: a column holds numbers, alone or in arrays of one shape, not {dtype}")
    return np.dtype((base.newbyteorder("<"), shape))


def described(dtype: np.dtype[Any]) -> list[Any]:
    """Give a type as JSON has it."""
    parts = npy_format.dtype_to_descr(dtype)
    return [[name, kind, *map(list, shape)] for name, kind, *shape in parts]


def of_description(descr: list[Any]) -> np.dtype[Any]:
    """Give the type that JSON described.

    Raises:
        WrongType: It describes none that rows can have.
    """
    try:
        parts = [(str(name), str(kind), *(tuple(map(int, shape)) for shape in rest)) for name, kind, *rest in descr]
        return checked(np.dtype(parts))
    except (TypeError, ValueError, SyntaxError) as error:
        raise WrongType(f"no type of rows: {descr} ({error})") from error


def header(dtype: np.dtype[Any], rows: int) -> bytes:
    """Write the header of a file, of the same size whatever the number of rows."""
    said = f"{{'descr': {npy_format.dtype_to_descr(dtype)!r}, 'fortran_order': False, 'shape': ({rows:{_DIGITS}},), }}"
    size = -(-(len(said) + 11) // ALIGNED) * ALIGNED
    if size <= 0xFFFF:
        return b"\x93NUMPY\x01\x00" + (size - 10).to_bytes(2, "little") + said.encode().ljust(size - 11) + b"\n"
    return b"\x93NUMPY\x02\x00" + (size - 12).to_bytes(4, "little") + said.encode().ljust(size - 13) + b"\n"


def count_in(head: bytes) -> tuple[int, bytes]:
    """Give where in a header the number of rows stands, and how: what changes when rows are added."""
    at = head.rindex(b"'shape': (") + 10
    return at, head[at : at + _DIGITS]


def read(path: Path) -> Header:
    """Read the header of a file.

    Raises:
        NotFound: There is no such file.
        Damaged: It is something else, or shorter than it says.
        WrongType: Its rows cannot be those of a table.
    """
    try:
        with open(path, "rb") as file:
            head = file.read(_MOST_HEADER)
    except FileNotFoundError:
        raise NotFound(f"{path} is missing, with the rows in it. {AGAIN}, or restore a copy") from None
    try:
        said, offset = _text(head)
        rows, dtype = said["shape"], npy_format.descr_to_dtype(said["descr"])
        is_one = len(rows) == 1 and type(rows[0]) is int and rows[0] >= 0
    except (LookupError, ValueError, TypeError, SyntaxError, MemoryError, RecursionError) as error:
        found = f"{error} within the first {min(len(head), ALIGNED):,} bytes"
        raise Damaged(path, "the header of a .npy file", found, AGAIN) from error
    if not is_one:
        raise WrongType(f"{path}: rows are an array of one dimension, not of shape {rows}")
    return Header(checked(dtype, path), rows[0], offset)


def is_blank(path: Path) -> bool:
    """Tell whether there are zeros where the header will be: what a power cut may leave of a file that is new."""
    with open(path, "rb") as file:
        return not any(file.read(ALIGNED))


def _text(head: bytes) -> tuple[dict[str, Any], int]:
    """Give what a header says, and where it ends; NumPy's own reader takes minutes over some that are damaged."""
    if head[:6] != b"\x93NUMPY" or head[6:8] not in (b"\x01\x00", b"\x02\x00"):
        raise ValueError(f"{head[:8]!r}, which is not how one of version 1 or 2 begins,")
    begin = 10 if head[6] == 1 else 12
    size = int.from_bytes(head[8:begin], "little")
    if len(head) < begin + size:
        raise ValueError("its end")
    said = ast.literal_eval(head[begin : begin + size].decode("latin-1").strip())
    if not isinstance(said, dict):
        raise ValueError(f"a {type(said).__name__}")
    return said, begin + size


AGAIN = "Build the table again from its sources"


def check_count(path: Path, found: Header, rows: int) -> None:
    """See that a file holds so many rows, and that its header, which follows the database, does not lead it.

    Raises:
        Damaged: It is shorter, or knows of more rows.
    """
    check_size(path, found, rows)
    if found.rows > rows:
        raise Damaged(path, f"at most {rows:,} rows in its header, as metadata.db says", f"{found.rows:,}", _OLDER)


_OLDER = "metadata.db is older than this file: restore it, or copy the whole folder again while nobody adds rows"


def check_size(path: Path, found: Header, rows: int) -> None:
    """See that a file holds so many rows.

    Raises:
        Damaged: It is shorter.
    """
    size, due = path.stat().st_size, found.offset + rows * found.dtype.itemsize
    if size < due:
        raise Damaged(path, f"{rows:,} rows, {due:,} bytes", f"{size:,} bytes: cut at offset {size:,}", AGAIN)
