"""What the last commit says of a table, and the next commit."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from playhead.catalog.tables import checksums
from playhead.catalog.tables.columns import ORIGINAL, ORIGINALS, quoted, schema
from playhead.catalog.tables.file import TableFile
from playhead.catalog.tables.runs import RunRows
from playhead.catalog.tables.state import State, understood
from playhead.errors import NotFound

_ODD_RUNS = """
    SELECT run.id, run.first_step_idx, run.num_steps FROM runs AS run LEFT JOIN runs AS before ON before.id = run.id - 1
    WHERE run.id < ? AND (run.first_step_idx IS NOT coalesce(before.first_step_idx + before.num_steps, 0)
        OR run.num_steps < 0 OR typeof(run.num_steps) != 'integer') LIMIT 1"""
_ODD_BLOCKS = """
    SELECT file FROM playhead_blocks GROUP BY file HAVING min(number) != 0 OR max(number) != count(*) - 1
        OR total(typeof(number) != 'integer' OR typeof(xxh3) != 'integer') > 0 LIMIT 1"""
_LAST_BLOCK = "SELECT number + 1, xxh3 FROM playhead_blocks WHERE file = ? ORDER BY number DESC LIMIT 1"


class End(NamedTuple):
    """Where rows are added to a table.

    Attributes:
        state: What the last commit says.
        columns: What is known of a run.
        blocks: How many blocks the last file has.
        checksum: Of the last block.
    """

    state: State
    columns: frozenset[str]
    blocks: int
    checksum: int


class TableIndex:
    """The database of one table.

    Args:
        path: The file.

    Attributes:
        file: How it is connected to.
        runs: The runs that it knows.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = TableFile(path)
        self.runs = RunRows(self.file)

    def is_there(self) -> bool:
        """Tell whether anything was committed: a build that was stopped leaves no database, or an empty one."""
        if not self.path.exists():
            return False
        with self.file.connected() as connection:
            return not _is_empty(connection)

    # -- the last commit ----------------------------------------------------------------------------------------------

    def state(self) -> State | None:
        """Give what the last commit says; None where another program made it.

        Raises:
            NotFound: Nothing was committed.
            Damaged: What it says cannot be true.
            StoreTooNew: A later version wrote it.
        """
        end = self.end()
        return None if end is None else end.state

    def end(self) -> End | None:
        """Give what one has to know to add rows behind the last run, in a time that few runs and many take alike.

        Raises:
            NotFound: Nothing was committed.
            Damaged: What the last commit says cannot be true.
            StoreTooNew: A later version wrote it.
        """
        with self.file.connected() as connection:
            state = self._state(connection)
            if state is None:
                return None
            self._check_last_run(connection, state)
            self._check_blocks(connection)
            blocks, checksum = connection.execute(_LAST_BLOCK, (len(state.parts) - 1,)).fetchone() or (0, 0)
            return End(state, frozenset(_columns(connection)), blocks, checksum % (1 << 64))

    def read(self) -> tuple[State, list[NDArray[np.uint64]]] | None:
        """Give what the last commit says, with the checksums of each file, as one moment has them.

        Raises:
            NotFound: Nothing was committed.
            Damaged: What it says cannot be true.
            StoreTooNew: A later version wrote it.
        """
        with self.file.connected() as connection:
            state = self._state(connection)
            if state is None:
                return None
            self._check_runs(connection, state)
            return state, self._blocks(connection, len(state.parts))

    def blocks(self, parts: int) -> list[NDArray[np.uint64]]:
        """Give the checksums of the first files, block by block."""
        with self.file.connected() as connection:
            connection.execute("BEGIN")
            return self._blocks(connection, parts)

    def _state(self, connection: sqlite3.Connection) -> State | None:
        connection.execute("BEGIN")
        if not _is_ours(connection):
            if _is_empty(connection):
                raise NotFound(f"{self.path} is empty: what was to be committed never was")
            return None
        known = dict(connection.execute("SELECT key, value FROM playhead_table").fetchall())
        parts = connection.execute("SELECT number, name, rows FROM playhead_files ORDER BY number").fetchall()
        try:
            return understood(self.path, known, parts)
        except ValueError as error:
            raise self.file.damaged(str(error)) from error

    def _check_last_run(self, connection: sqlite3.Connection, state: State) -> None:
        """See that the last run is the one that the rows end with, whatever the number of runs before it."""
        last = "SELECT id + 1, first_step_idx + num_steps FROM runs ORDER BY id DESC LIMIT 1"
        found = connection.execute(last).fetchone() or (0, 0)
        if found != (state.runs, state.rows):
            said = f"{state.runs:,} and {state.rows:,} rows"
            raise self.file.damaged(f"{found[0]} runs that end at row {found[1]}, for {said}")

    def _check_runs(self, connection: sqlite3.Connection, state: State) -> None:
        """See that the runs follow one another, and that their steps are the rows."""
        found = connection.execute("SELECT count(*), total(num_steps) FROM runs WHERE id < ?", (state.runs,)).fetchone()
        if found != (state.runs, state.rows):
            raise self.file.damaged(
                f"{found[0]:,} runs of {found[1]:,.0f} steps for {state.runs:,} and {state.rows:,} rows"
            )
        odd = connection.execute(_ODD_RUNS, (state.runs,)).fetchone()
        if odd:
            raise self.file.damaged(
                f"run {odd[0]} with {odd[2]!r} steps from row {odd[1]!r}, which follow no other run"
            )

    def _check_blocks(self, connection: sqlite3.Connection) -> None:
        """See that the checksums of each file follow one another, and are numbers."""
        odd = connection.execute(_ODD_BLOCKS).fetchone()
        if odd:
            raise self.file.damaged(f"checksums of file {odd[0]} that have gaps or are no numbers")

    def _blocks(self, connection: sqlite3.Connection, parts: int) -> list[NDArray[np.uint64]]:
        self._check_blocks(connection)
        query = "SELECT xxh3 FROM playhead_blocks WHERE file = ? ORDER BY number"
        found = [connection.execute(query, (number,)) for number in range(parts)]
        return [np.fromiter((value for (value,) in values), np.int64).view(np.uint64) for values in found]

    def flaws(self) -> list[str]:
        """Let SQLite look at all of its pages and indexes, and compare the checksums; give what is wrong."""
        with self.file.connected() as connection:
            connection.execute("BEGIN")
            found = [text for (text,) in connection.execute("PRAGMA integrity_check(10)").fetchall() if text != "ok"]
            if _is_ours(connection):
                found += checksums.wrong(connection)
        return found

    # -- the next commit ----------------------------------------------------------------------------------------------

    def commit(
        self,
        state: State,
        runs: Sequence[Mapping[str, Any]],
        blocks: Mapping[tuple[int, int], int],
        *,
        columns: Mapping[str, str] | None = None,
        more: Mapping[str, str] | None = None,
    ) -> None:
        """Make rows count, with the runs that they are of: all at once, or not at all.

        Args:
            state: What is true from now on.
            runs: The new ones.
            blocks: The checksums that are new or others, by file and number.
            columns: Makes the database: what is known of a run, besides its id and its rows, with the type that SQLite
                gives it.
            more: Columns that the runs of an earlier version do not have, and get now.

        Raises:
            WrongType: A run has values that its columns do not hold.
        """
        signed = {place: value - (1 << 64) if value >> 63 else value for place, value in blocks.items()}
        with self.file.connected("rw" if columns is None else "rwc") as connection:
            if columns is not None:
                connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute("BEGIN IMMEDIATE")
            for statement in () if columns is None else schema(columns):
                connection.execute(statement)
            for name, kind in (more or {}).items():
                connection.execute(f"ALTER TABLE runs ADD COLUMN {quoted(name)} {kind}")
            names = _columns(connection)
            before = (checksums.NONE if more else checksums.known(connection)).with_more(connection)
            insert = f"INSERT INTO runs ({', '.join(map(quoted, names))}) VALUES ({', '.join('?' * len(names))})"
            connection.executemany(insert, (tuple(map(run.get, names)) for run in runs))
            originals = [(run["id"], run[ORIGINAL]) for run in runs if run.get(ORIGINAL)]
            if originals:
                connection.execute(ORIGINALS)
                connection.executemany(
                    "INSERT INTO playhead_originals VALUES (?, ?, ?)",
                    ((run, checksums.of_original(data), data) for run, data in originals),
                )
            connection.executemany(
                "INSERT OR REPLACE INTO playhead_files VALUES (?, ?, ?)",
                [(number, part.name, part.rows) for number, part in enumerate(state.parts)],
            )
            connection.executemany(
                "INSERT OR REPLACE INTO playhead_blocks VALUES (?, ?, ?)",
                [(*place, value) for place, value in signed.items()],
            )
            text = state.text()
            checked = checksums.text_of(state.commit, text, before.with_more(connection))
            connection.executemany(
                "INSERT OR REPLACE INTO playhead_table VALUES (?, ?)", [("state", text), (checksums.KEY, checked)]
            )
            connection.execute("COMMIT")

    def settle(self) -> None:
        """Move the write-ahead log into the file, as far as readers allow; whoever closed it last did it already."""
        if self.file.has_log:
            with self.file.connected("rw") as connection:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _is_ours(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'playhead_table'").fetchone() is not None


def _is_empty(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is None


def _columns(connection: sqlite3.Connection) -> list[str]:
    return [name for (name,) in connection.execute("SELECT name FROM pragma_table_info('runs')")]
