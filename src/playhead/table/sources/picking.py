"""Columns of rows that are there already: some of them, renamed, or made by functions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from playhead.errors import NotFound
from playhead.table.sources.contract import PLACE, Block, Columns, Item, Rows, can_travel, put, type_of


@dataclass(frozen=True)
class Picked:
    """An item whose rows get other columns.

    Args:
        item: The item.
        native: The type of its rows.
        columns: What each column is made of.
    """

    item: Item
    native: np.dtype[Any]
    columns: Columns

    @property
    def name(self) -> str:
        """What to call it in messages."""
        return self.item.name

    @property
    def size(self) -> int:
        """About how much there is to read."""
        return self.item.size

    @property
    def travels(self) -> bool:
        """Whether another process can read it."""
        return self.item.travels and can_travel(self.columns)

    def blocks(self, dtype: np.dtype[Any]) -> Iterator[Block]:
        """Read it, as rows of this type."""
        for rows, runs in self.item.blocks(self.native):
            picked = np.zeros(len(rows), dtype)
            for name, make in self.columns.items():
                put(picked, name, rows[make] if isinstance(make, str) else make(rows))
            for name, _ in PLACE:
                if name not in self.columns and name in (rows.dtype.names or ()):
                    picked[name] = rows[name]
            yield Block(picked, runs)


def picked_type(native: np.dtype[Any], columns: Columns, sample: Rows | None) -> np.dtype[Any]:
    """Give the type of rows with these columns.

    Args:
        native: The type of the rows that are there.
        columns: What each column is made of.
        sample: A few of them, for the functions.

    Raises:
        NotFound: There is no such column.
    """
    names = native.names or ()
    parts: list[Any] = []
    for name, make in columns.items():
        if isinstance(make, str):
            if make not in names:
                raise NotFound.among("column", make, names)
            parts.append((name, native[make]))
        elif sample is not None:
            parts.append(type_of(name, make(sample), len(sample)))
        else:
            raise NotFound(f"the column {name} is made by a function, and there are no rows to try it on")
    places = [(name, native[name] if name in names else kind) for name, kind in PLACE if name not in columns]
    return np.dtype(parts + places)


def is_made(columns: Columns) -> bool:
    """Tell whether a function makes one of the columns."""
    return any(not isinstance(make, str) for make in columns.values())


def first_rows(items: list[Item], native: np.dtype[Any], most: int = 1000) -> Rows | None:
    """Read a few rows to try functions on."""
    for item in items:
        for rows, _ in item.blocks(native):
            if len(rows):
                return rows[:most]
    return None
