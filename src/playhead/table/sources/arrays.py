"""Rows of arrays: structured ones, or one array a column; in memory, in NumPy's files, in Arrow and Parquet files."""

from __future__ import annotations

import contextlib
import os
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead.errors import Damaged, NotFound, OutOfOrder, WrongShape, WrongType
from playhead.paths import as_path
from playhead.table.sources import arrow
from playhead.table.sources.contract import BLOCK_BYTES, PLACE, Block, Rows, TooNarrow, as_array, put, returns_of
from playhead.table.writing import RUN, STEP

EPISODE_ID = "episode_id"
GROUPS = (RUN, EPISODE_ID)  # columns that tell which run a row is of
NPY, NPZ = ".npy", ".npz"
SUFFIXES = (NPY, NPZ, *arrow.SUFFIXES)

Part = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class ArrayItem:
    """Arrays of one length, one a column; or a file of them.

    Args:
        name: What to call it in messages.
        held: The arrays, or the path of the file.
        size: The bytes.
    """

    name: str
    held: Path | Mapping[str, Any] = field(repr=False)
    size: int

    @property
    def travels(self) -> bool:
        """Whether another process can read it."""
        return isinstance(self.held, Path)

    def parts(self) -> Iterator[Part]:
        """Give the columns, some rows at a time."""
        if not isinstance(self.held, Path):
            yield from _cut(self.name, _opened(self.held))
        elif self.held.suffix == NPY:
            yield from _cut(self.name, _columns_of(self.held.stem, load(self.held)))
        elif self.held.suffix == NPZ:
            yield from _cut(self.name, _loaded(self.held))
        else:
            yield from arrow.parts(self.held)

    def blocks(self, dtype: np.dtype[Any]) -> Iterator[Block]:
        """Read it, as rows of this type."""
        cutter = _Runs(self.name)
        for part in self.parts():
            yield from cutter.add(part, dtype)
        yield from cutter.end()


def load(path: Path) -> NDArray[Any]:
    """Map a `.npy` file; objects are refused."""
    with _reading(path):
        array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    return array


def _loaded(path: Path) -> dict[str, NDArray[Any]]:
    """Read the arrays of a `.npz` file, all at once; objects are refused."""
    with _reading(path), open(path, "rb") as file, np.load(file, allow_pickle=False) as found:
        return {name: found[name] for name in found.files}


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise NotFound(f"{path} is missing") from None
    except (ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        if "Object arrays" in str(error) or "Python objects" in str(error):
            raise WrongType(f"{path}: Python objects are never read from a file") from error
        raise Damaged(path, "arrays of NumPy", str(error), "Write the file again") from error


def _columns_of(stem: str, array: NDArray[Any]) -> dict[str, NDArray[Any]]:
    if array.ndim < 1:
        raise WrongShape(f"{stem}: rows are the first dimension of an array, and this is a single number")
    return {stem: array} if array.dtype.names is None else {name: array[name] for name in array.dtype.names}


def columns_of(source: Any, name: str = "values") -> dict[str, Any]:
    """Take a structured array, a plain one, an Arrow table, or a mapping of arrays and `.npy` files.

    Raises:
        WrongType: There are objects of Python in it, which in an Arrow table are only left out; or a column has no
            name.
    """
    if isinstance(source, np.ndarray):
        found: dict[str, Any] = dict(_columns_of(name, source))
    elif isinstance(source, Mapping):
        found = {
            name: value if isinstance(value, (str, os.PathLike)) else as_array(name, value)
            for name, value in source.items()
        }
    else:
        return arrow.columns(source)
    for column, array in found.items():
        if not isinstance(column, str) or not column:
            raise WrongType(f"columns are called by texts, not by {column!r}; give it a name")
        if isinstance(array, np.ndarray) and array.dtype.hasobject and column not in GROUPS:
            raise WrongType(
                f"{column} holds objects of Python, which no table does; make numbers of them, or leave it out"
            )
    return found


def _opened(held: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    return {
        name: load(as_path(value)) if isinstance(value, (str, os.PathLike)) else as_array(name, value)
        for name, value in held.items()
    }


def _cut(name: str, arrays: dict[str, NDArray[Any]]) -> Iterator[Part]:
    lengths = {column: len(array) if array.ndim else -1 for column, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise WrongShape(f"{name}: columns have one length, not {lengths}")
    count = next(iter(lengths.values()), 0)
    row = sum(array.dtype.itemsize * int(np.prod(array.shape[1:])) for array in arrays.values())
    most = max(1, BLOCK_BYTES // max(1, row))
    for start in range(0, count, most):
        yield {column: array[start : start + most] for column, array in arrays.items()}


def native_type(item: ArrayItem, left_out: dict[str, str], *, widen: bool = False) -> np.dtype[Any] | None:
    """Return the type of the rows of an item by its first ones; None if it has none.

    Args:
        item: The arrays.
        left_out: Takes each column that no table holds, with the reason.
        widen: Give `step_index` at least 32 bits.

    Raises:
        WrongType: No column holds numbers.
    """
    for part in item.parts():
        parts: list[Any] = []
        for name, array in part.items():
            if name in GROUPS or name == STEP:
                continue
            if array.dtype.kind not in "biufc":
                left_out[name] = f"its values are {array.dtype}, not numbers"
            else:
                parts.append((name, array.dtype.newbyteorder("<"), array.shape[1:]))
        if not parts:
            kinds = ", ".join(f"{name} {array.dtype}" for name, array in part.items())
            raise WrongType(f"{item.name}: no column holds numbers; there is {kinds}")
        return np.dtype(parts + _places(part, widen=widen))
    return None


def _places(part: Part, *, widen: bool) -> list[tuple[str, Any]]:
    """Return the columns that place a row in its run: steps keep the type in which they came."""
    places: dict[str, Any] = dict(PLACE)
    given = part[STEP].dtype if STEP in part else None
    if given is not None and given.kind in "iu" and not (widen and given.itemsize < np.dtype(places[STEP]).itemsize):
        places[STEP] = given.newbyteorder("<")
    return list(places.items())


class _Runs:
    """Cuts rows into runs: where a column tells, at its changes; else all are one."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._seen: set[Any] = set()
        self._key: tuple[Any, ...] | None = None
        self._count, self._return = 0, 0.0
        self._rewards = False
        self._pending: Rows | None = None

    def add(self, part: Part, dtype: np.dtype[Any]) -> Iterator[Block]:
        for column in (*GROUPS, STEP):
            if column in part and part[column].ndim != 1:
                raise WrongShape(f"{self._name}: {column} is one value a row, not an array of {part[column].shape[1:]}")
        rows = _filled(self._name, part, dtype)
        bounds = self._bounds(part, len(rows))
        for start, stop in zip(bounds, [*bounds[1:], len(rows)], strict=True):
            key = tuple(_plain(part[name][start]) for name in GROUPS if name in part)
            if self._key is not None and key != self._key:
                yield from self.end()
            if self._key is None:
                if key and key in self._seen:
                    raise OutOfOrder(f"{self._name}: rows of {key[-1]!r} lie in several places; sort them by run first")
                self._seen.add(key)
                self._key = key
                self._names = [name for name in GROUPS if name in part]
            elif self._pending is not None:
                yield Block(self._pending, ())
            self._pending = rows[start:stop]
            if STEP not in part:
                self._pending[STEP] = np.arange(self._count, self._count + stop - start)
            self._count += stop - start
            given = returns_of(self._pending)
            self._rewards = given is not None
            self._return += given or 0.0

    def end(self) -> Iterator[Block]:
        """Give the rest of the run, with what is known of it."""
        if self._pending is None or self._key is None:
            return
        known = dict.fromkeys(GROUPS) | {name: str(value) for name, value in zip(self._names, self._key, strict=True)}
        known["return"] = self._return if self._rewards else None
        yield Block(self._pending, [{"num_steps": self._count, **known}])
        self._pending, self._key = None, None
        self._count, self._return = 0, 0.0

    def _bounds(self, part: Part, count: int) -> list[int]:
        changes: NDArray[np.bool_] = np.zeros(count, np.bool_)
        changes[:1] = True
        for name in GROUPS:
            if name in part:
                changes[1:] |= np.asarray(part[name][1:] != part[name][:-1], np.bool_)
        found: list[int] = np.flatnonzero(changes).tolist()
        return found


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _filled(name: str, part: Part, dtype: np.dtype[Any]) -> Rows:
    count = len(next(iter(part.values())))
    rows = np.zeros(count, dtype)
    for column in dtype.names or ():
        if column == RUN or (column == STEP and STEP not in part):
            continue
        if column not in part:
            raise NotFound.among("column", column, part, hint=f"It is missing in {name}")
        if column == STEP:
            _put_index(name, rows, part[STEP])
            continue
        try:
            put(rows, column, part[column])
        except WrongType as error:
            raise WrongType(f"{name}: {error}") from error
    return rows


def _put_index(name: str, rows: Rows, given: NDArray[Any]) -> None:
    most = np.iinfo(rows.dtype[STEP]).max
    if given.dtype.kind not in "iu" or (len(given) and int(given.min()) < 0):
        raise WrongType(f"{name}: {STEP} is a whole number from 0 to {most:,}")
    if len(given) and int(given.max()) > most:
        raise TooNarrow.of(name, int(given.max()), rows.dtype[STEP])
    rows[STEP] = given
