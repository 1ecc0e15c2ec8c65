"""Packed values of one form, unpacked together.

Inputs of a trace are nearly always alike: the same keys, dtypes and shapes. What differs then lies at the same places
of each, and all values are made of a few columns of bytes, instead of one after the other and letter by letter. What
the form is, is read from one of them, and holds for as many as have the same bytes wherever no number lies.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead.lanes.keyframes import memory, tree

Table = NDArray[np.uint8]  # in the order of C, a packed value in each row
Values = list[Any] | NDArray[Any]  # in order; arrays of one form are one array, of which each row is a value
Column = Callable[[int, int], Values]  # gives the values from one row to before another; they are the caller's

_Maker = Callable[[Table], Column]

_DOUBLE = np.dtype("<f8")
_WORD = 8  # bytes of the longest integers that are read as a column


class Forms:
    """Unpacks values together, and remembers the form of the last ones: the next are likely to have it too."""

    def __init__(self) -> None:
        self._last: _Form | None = None

    def column_of(self, table: Table) -> Column | None:
        """Give the values whose packed bytes are the rows of a table, for any of its rows.

        Args:
            table: At least one row.

        Returns:
            What gives for each what `tree.unpack` does; None where they have not one form, or are damaged: that knows
            how to go on.
        """
        form = self._last
        if form is not None and (column := form.column(table)) is not None:
            return column
        try:
            self._last = form = _Form(table[0].tobytes())
        except (_Unknown, *tree.MALFORMED):
            return None
        return form.column(table)


class _Unknown(Exception):
    """A value has a form that is not read in columns."""


class _Form:
    """How values are laid out, as one of them says."""

    def __init__(self, record: bytes) -> None:
        self._record, self._view = record, memoryview(record)
        self._fixed: list[slice] = []  # what all have in common
        self._make, end = self._read(0, 0)
        if end != len(record):
            raise _Unknown

    def column(self, table: Table) -> Column | None:
        """Give what makes values of a table; None where not all of them have this form."""
        if table.shape[1] != len(self._record):
            return None
        for part in self._fixed:
            if table[:, part].tobytes() != self._record[part] * len(table):
                return None
        return self._make(table)

    def _fix(self, start: int, stop: int) -> None:
        if self._fixed and self._fixed[-1].stop == start:
            start = self._fixed.pop().start
        self._fixed.append(slice(start, stop))

    def _read(self, at: int, depth: int) -> tuple[_Maker, int]:
        """Give what makes the columns of the value at a place, and where it ends."""
        if depth > tree.DEEPEST:
            raise _Unknown
        letter = self._view[at]
        if letter in b"ag":
            return self._read_array(at)
        if letter in b"dlt":
            return self._read_tree(at, depth)
        if letter == ord("f"):
            self._fix(at, at + 1)
            return lambda table: _listed(_look(table, _DOUBLE, (), (), at + 1).tolist()), at + 1 + _DOUBLE.itemsize
        if letter == ord("i") and 0 < (size := tree.length_at(self._view, at)) <= _WORD:
            start = at + tree.LENGTH_BYTES
            self._fix(at, start)
            return lambda table: _listed(_integers(table[:, start : start + size])), start + size
        value, end = tree.read(self._view, at, depth, True)  # which all may share, since nobody can change it
        self._fix(at, end)
        return lambda _: lambda start, stop: [value] * (stop - start), end

    def _read_array(self, at: int) -> tuple[_Maker, int]:
        is_array = self._view[at] == ord("a")
        dtype, shape, axes, start, end = tree.array_head(self._view, at)
        if is_array != bool(shape) or start == end or dtype.kind == "V":  # of which NumPy gives views, or nothing
            raise _Unknown
        self._fix(at, start)
        strides = memory.strides(dtype.itemsize, shape, tuple(range(len(shape))) if axes is None else axes)
        if is_array:
            return lambda table: _copied(_look(table, dtype, shape, strides, start)), end
        return lambda table: _listed(list(_look(table, dtype, shape, strides, start))), end

    def _read_tree(self, at: int, depth: int) -> tuple[_Maker, int]:
        letter, count = self._view[at], tree.length_at(self._view, at)
        self._fix(at, at + tree.LENGTH_BYTES)
        at += tree.LENGTH_BYTES
        keys: list[Any] = []
        makers: list[_Maker] = []
        for _ in range(count):
            if letter == ord("d"):
                key, end = tree.read(self._view, at, depth + 1, True)
                self._fix(at, end)
                keys.append(key)
                at = end
            make, at = self._read(at, depth + 1)
            makers.append(make)
        if not makers or len(set(keys)) != len(keys):
            raise _Unknown
        kind = {ord("l"): list, ord("t"): tuple}.get(letter) or (lambda row: dict(zip(keys, row, strict=True)))
        return lambda table: _across([make(table) for make in makers], kind), at


def _look(
    table: Table, dtype: np.dtype[Any], shape: tuple[int, ...], strides: tuple[int, ...], at: int
) -> NDArray[Any]:
    """Give the elements that lie at a place of all rows as one array, without a copy."""
    return np.ndarray((len(table), *shape), dtype, table, at, (table.shape[1], *strides))


def _copied(values: NDArray[Any]) -> Column:
    return lambda start, stop: values[start:stop].copy("K")  # of which a loop makes one view at a time


def _listed(values: list[Any]) -> Column:
    return lambda start, stop: values[start:stop]


def _across(columns: list[Column], kind: Callable[[Any], Any]) -> Column:
    return lambda start, stop: [*map(kind, zip(*(column(start, stop) for column in columns), strict=True))]


def _integers(given: Table) -> list[int]:
    wide = np.empty((len(given), _WORD), np.uint8)
    wide[:, : given.shape[1]] = given
    wide[:, given.shape[1] :] = (given[:, -1:] >> 7) * np.uint8(255)  # the sign
    found: list[int] = wide.view("<i8")[:, 0].tolist()
    return found
