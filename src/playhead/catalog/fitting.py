"""What is asked of many runs of a table at once: which ones fit, before they are in its database, and their numbers."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead import forks
from playhead.catalog.tables import TableIndex
from playhead.catalog.tables.columns import quoted
from playhead.catalog.tables.runs import selected


class Fitting:
    """Tells which runs of a table that is being built fit a condition.

    Args:
        columns: What is known of a run, with the type that SQLite gives it.
        where: The condition, in the `where` language.

    Raises:
        BadQuery: The text cannot be understood, or names a column that there is not.
    """

    def __init__(self, columns: Mapping[str, str], where: str) -> None:
        kinds = {"id": "INTEGER PRIMARY KEY", "num_steps": "INTEGER"} | dict(columns)
        self._names = list(kinds)
        self._sql, self._values = selected(tuple(kinds.items()), where, "id", ("id",), hidden=("id",))
        self._declared = ", ".join(f"{quoted(name)} {kind}" for name, kind in kinds.items())

    def mask(self, runs: Sequence[Mapping[str, Any]]) -> NDArray[np.bool_]:
        """Give a truth value for each run."""
        forks.check()
        with forks.Working(), contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
            connection.execute(f"CREATE TABLE runs ({self._declared})")
            insert = f"INSERT INTO runs VALUES ({', '.join('?' * len(self._names))})"
            rows = ([number, *(run.get(name) for name in self._names[1:])] for number, run in enumerate(runs))
            connection.executemany(insert, rows)
            page = {"before": 1 << 62, "limit": -1, "offset": 0}
            found = [number for (number,) in connection.execute(self._sql, {**self._values, **page})]
        mask = np.zeros(len(runs), np.bool_)
        mask[found] = True
        return mask


def numbers_of(index: TableIndex, names: Sequence[str], before: int) -> dict[str, NDArray[np.float64]]:
    """Give numbers that are known of all runs, in the order of their ids; NaN where one is missing, or is a text.

    Args:
        index: The database of the table.
        names: The columns.
        before: Runs with this id or a larger one came after the table was opened.
    """
    if not names:
        return {}
    asked = [f"CASE WHEN typeof({quoted(name)}) IN ('integer', 'real') THEN {quoted(name)} END" for name in names]
    query = f"SELECT {', '.join(asked)} FROM runs WHERE id < ? ORDER BY id"
    with index.file.connected() as connection:
        found = np.array(connection.execute(query, (before,)).fetchall(), np.float64).reshape(-1, len(names))
    return dict(zip(names, found.T, strict=True))
