"""The training tables of a store."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playhead import wording
from playhead.errors import NotFound, ReadOnly
from playhead.layout import Layout

if TYPE_CHECKING:
    from playhead.table import Table


class Tables(Mapping[str, "Table"]):
    """The tables of a store by name; `store.tables`.

        store.tables.build("pong", store.runs("pong"))      # into the store
        store.tables["pong"]                                # opened, its rows in memory
        store.tables.open("pong", mmap=True)                # opened in another way
        playhead.Table.build(source, store.tables.path("pong"))

    Args:
        layout: Where the store has its files.
        mode: `a` where tables can be made.
    """

    def __init__(self, layout: Layout, mode: str = "a") -> None:
        self._layout = layout
        self._mode = mode

    def __getitem__(self, name: str) -> Table:
        """Open a table, with its rows in memory."""
        return self.open(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._layout.tables())

    def __len__(self) -> int:
        return len(self._layout.tables())

    def __contains__(self, name: object) -> bool:
        return name in self._layout.tables()

    def path(self, name: str) -> Path:
        """Give the folder of a table, which need not be there."""
        return self._layout.table(name).path

    def open(self, name: str, **options: Any) -> Table:
        """Open a table as `Table.open` does, with its options.

        Raises:
            NotFound: There is none of this name.
        """
        from playhead.table import Table

        if name not in self:
            raise NotFound.among("table", name, self, hint="Make one by store.tables.build(name, source)")
        table = Table.open(self.path(name), **options)
        if (said := table.renamed_from) is not None:
            advice = f"playhead repair --store {self._layout.root}"
            warnings.warn(f"the table {name!r} was made as {said!r} and renamed by hand: {advice}", stacklevel=2)
        return table

    def build(self, name: str, source: Any, **options: Any) -> Table:
        """Make a table in the store; see `playhead.table.building.build` for sources and options.

        Raises:
            ReadOnly: The store is open for reading.
        """
        from playhead.table import Table

        if self._mode != "a":
            raise ReadOnly.of_store(self._layout.root, "build tables")
        return Table.build(source, self.path(name), **options)

    def __repr__(self) -> str:
        return (
            f"<Tables of {self._layout.root}: {wording.listed(self) or 'none yet; make one by .build(name, source)'}>"
        )
