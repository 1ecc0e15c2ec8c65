"""The runs of a table, as its database has them: which ones fit, where their rows are, what is known of each."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Column, MetaData, Table, bindparam, select
from sqlalchemy.dialects import sqlite
from sqlalchemy.types import Float, Integer, Text, TypeEngine

from playhead.catalog import where as language
from playhead.catalog.fields import ColumnField, sort_keys
from playhead.catalog.tables import checksums
from playhead.catalog.tables.columns import COUNTS, quoted
from playhead.catalog.tables.file import TableFile
from playhead.errors import NotFound

_DIALECT = sqlite.dialect(paramstyle="named")
_ALL = 1 << 62


class RunRows:
    """The rows of `runs`, of which any program may have made the table.

    Args:
        file: The database.
    """

    def __init__(self, file: TableFile) -> None:
        self.file = file

    @property
    def columns(self) -> dict[str, str]:
        """What is known of a run, by the names of the columns, with their types."""
        with self.file.connected() as connection:
            found = connection.execute("SELECT name, upper(type) FROM pragma_table_info('runs')").fetchall()
        if not found:
            raise self.file.damaged("no table `runs`")
        return dict(found)

    def find(
        self,
        where: str | None = None,
        *,
        before: int | None = None,
        order: str = "id",
        limit: int = -1,
        offset: int = 0,
    ) -> list[dict[str, Any]]:
        """Give runs that fit, as dicts.

        Args:
            where: Which ones, in the `where` language.
            before: Only those with a smaller id: the others came after the table was opened.
            order: What to sort by.
            limit: How many at most.
            offset: How many to leave out first.
        """
        columns = self.columns
        sql, parameters = selected(tuple(columns.items()), where, order, None)
        page = {"before": _ALL if before is None else before, "limit": limit, "offset": offset}
        with self.file.connected() as connection:
            found = connection.execute(sql, {**parameters, **page}).fetchall()
        return [dict(zip(columns, row, strict=True)) for row in found]

    def spans(self, where: str | None = None, *, before: int | None = None) -> NDArray[np.int64]:
        """Give id, first row and number of rows of each run that fits, in the order of their rows."""
        columns = self.columns
        count = next((name for name in COUNTS if name in columns), None)
        if count is None:
            raise self.file.damaged(f"no column for the number of steps among {', '.join(columns)}")
        has_first = "first_step_idx" in columns
        wanted = ("id", "first_step_idx", count) if has_first else ("id", count)
        sql, parameters = selected(tuple(columns.items()), where if has_first else None, "id", wanted)
        page = {"before": _ALL if before is None else before, "limit": -1, "offset": 0}
        with self.file.connected() as connection:
            found = np.array(connection.execute(sql, {**parameters, **page}).fetchall())
        if found.size and found.dtype != np.int64:
            raise self.file.damaged("places of runs that are no whole numbers")
        found = found.astype(np.int64).reshape(-1, len(wanted))
        if not has_first:  # rows of runs follow one another
            firsts = np.concatenate([[0], np.cumsum(found[:, 1])[:-1]]) if len(found) else found[:, 1]
            found = np.column_stack([found[:, 0], firsts, found[:, 1]])
            if where is not None:
                ids = [run["id"] for run in self.find(where, before=before)]
                found = found[np.isin(found[:, 0], ids)]
        found = found[np.argsort(found[:, 1], kind="stable")]
        stops = found[:, 1] + found[:, 2]
        if (found[:, 1:] < 0).any() or (stops < 0).any() or (stops[:-1] > found[1:, 1]).any():
            raise self.file.damaged("runs whose rows overlap, or are before the first")
        return found

    def known(self, first: int, last: int) -> dict[int, dict[str, Any]]:
        """Give what is known of the runs between two ids, both included."""
        columns = self.columns
        names = ", ".join(map(quoted, columns))
        with self.file.connected() as connection:
            found = connection.execute(f"SELECT {names} FROM runs WHERE id BETWEEN ? AND ?", (first, last)).fetchall()
        runs = [dict(zip(columns, row, strict=True)) for row in found]
        return {run["id"]: run for run in runs}

    def originals(self, first: int, last: int) -> dict[int, bytes]:
        """Return what is kept of the files of games, for the runs between two ids, both included.

        Raises:
            Damaged: If it is not what was written.
        """
        with self.file.connected() as connection:
            if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'playhead_originals'").fetchone():
                return {}
            found = connection.execute(
                "SELECT id, xxh3, data FROM playhead_originals WHERE id BETWEEN ? AND ?", (first, last)
            ).fetchall()
        for run, xxh3, data in found:
            if not isinstance(data, bytes) or checksums.of_original(data) != xxh3:
                raise self.file.damaged(f"another original of run {run} than was written")
        return {run: data for run, _, data in found}

    def count(self, *, before: int | None = None) -> int:
        """Count the runs."""
        with self.file.connected() as connection:
            bound = _ALL if before is None else before
            return int(connection.execute("SELECT count(*) FROM runs WHERE id < ?", (bound,)).fetchone()[0])


def _kind(declared: str) -> type[TypeEngine[Any]]:
    return Integer if "INT" in declared else Float if "REAL" in declared or "FLOA" in declared else Text


@lru_cache(maxsize=64)
def selected(
    columns: tuple[tuple[str, str], ...],
    where: str | None,
    order: str,
    wanted: tuple[str, ...] | None,
    hidden: tuple[str, ...] = (),
) -> tuple[str, Mapping[str, Any]]:
    """Give the query for runs that fit, and its values; it also asks for `before`, `limit` and `offset`.

    Args:
        columns: The columns of `runs`, with their types.
        where: Which runs, in the `where` language.
        order: What to sort by.
        wanted: Which columns to give; None for all.
        hidden: Columns that the condition must not name.
    """
    table = Table("runs", MetaData(), *(Column(name, _kind(kind)) for name, kind in columns))

    def column(name: str) -> Column[Any]:
        if name not in table.c:
            raise NotFound.among("field", name, table.c.keys())
        return table.c[name]

    def resolve(name: str) -> ColumnField:
        if name in hidden:
            raise NotFound.among("field", name, [one.name for one in table.c if one.name not in hidden])
        return ColumnField(column(name))

    chosen = select(*(table.c[name] for name in wanted or table.c.keys())).where(column("id") < bindparam("before"))
    if where:
        chosen = chosen.where(language.parse(where, resolve))
    for key in sort_keys(order):
        chosen = chosen.order_by(key.ranked(column).nulls_last())
    page = chosen.limit(bindparam("limit")).offset(bindparam("offset"))
    compiled = page.compile(dialect=_DIALECT, compile_kwargs={"render_postcompile": True})
    return str(compiled), compiled.params
