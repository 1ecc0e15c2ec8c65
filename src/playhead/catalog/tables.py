"""`metadata.db` of a training table: where its rows come from, and how many of them count.

The commit of this database is the one moment at which rows are added: what lies behind the rows that it knows is not
there yet. Anyone reads `runs` with SQLite alone; `playhead_table`, `playhead_files` and `playhead_blocks` are ours.

SQLite does not notice a flipped bit in a value. So each commit leaves a checksum of what it says, and of all runs: that
of a run goes on from the one before it, so that adding runs costs no more than the new ones.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import xxhash
from numpy.typing import NDArray
from sqlalchemy import Column, MetaData, Table, bindparam, select
from sqlalchemy.dialects import sqlite
from sqlalchemy.types import Float, Integer, Text, TypeEngine

from playhead import strictjson
from playhead.catalog import where as language
from playhead.catalog.fields import ColumnField, sort_keys
from playhead.errors import Closed, Damaged, NotFound, ReadOnly, StoreLocked, WrongType

Checksum = tuple[str, int]  # of runs, and of how many

VERSION = 1
_CHECKSUMS = "checksums"
GAME = {
    "max_score": "INTEGER NOT NULL",
    "highest_tile": "INTEGER NOT NULL",
    "engine": "TEXT",
    "start_time": "INTEGER",
    "elapsed_s": "REAL",
}
EPISODE = {"run_id": "TEXT", "episode_id": "TEXT", "return": "REAL"}
PLACE = {
    "id": "INTEGER PRIMARY KEY",
    "first_step_idx": "INTEGER NOT NULL",
    "num_steps": "INTEGER NOT NULL",
}
_COUNTS = ("num_steps", "steps", "num_moves")  # what other programs call it
_BUSY_SECONDS = 60
_DIALECT = sqlite.dialect(paramstyle="named")
_SAID = ("commit", "dtype", "block_bytes", "runs", "built", "shard_bytes")
_OURS = (
    "CREATE TABLE playhead_table (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE playhead_files (number INTEGER PRIMARY KEY, name TEXT NOT NULL, rows INTEGER NOT NULL)",
    "CREATE TABLE playhead_blocks "
    "(file INTEGER, number INTEGER, xxh3 INTEGER NOT NULL, PRIMARY KEY (file, number)) WITHOUT ROWID",
)
_ODD_RUNS = """
    SELECT run.id, run.first_step_idx, run.num_steps FROM runs AS run LEFT JOIN runs AS before ON before.id = run.id - 1
    WHERE run.id < ? AND (run.first_step_idx IS NOT coalesce(before.first_step_idx + before.num_steps, 0)
        OR run.num_steps < 0 OR typeof(run.num_steps) != 'integer') LIMIT 1"""


@dataclass(frozen=True, slots=True)
class Part:
    """One file of rows."""

    name: str
    rows: int


@dataclass(frozen=True, slots=True)
class State:
    """What a commit says of a table.

    Attributes:
        commit: How many there were.
        dtype: Of a row, as NumPy describes it.
        block_bytes: The size of the pieces that have a checksum.
        parts: The files of rows.
        runs: The id of the next run.
        built: How the rows were made, as JSON.
        shard_bytes: How large a file of rows may grow; None where all are in one.
    """

    commit: int
    dtype: list[Any]
    block_bytes: int
    parts: tuple[Part, ...]
    runs: int
    built: dict[str, Any] = field(default_factory=dict)
    shard_bytes: int | None = None

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return sum(part.rows for part in self.parts)


class TableIndex:
    """The database of one table.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._folder: tuple[int, int] | None = None  # in which it was first read

    def is_there(self) -> bool:
        """Tell whether anything was committed: a build that was stopped leaves no database, or an empty one."""
        if not self.path.exists():
            return False
        with self._connected() as connection:
            return connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is not None

    def state(self) -> State | None:
        """Give what the last commit says, to add rows behind its last run; None where another program made it.

        Raises:
            Damaged: What it says cannot be true.
        """
        with self._connected() as connection:
            state = self._state(connection)
            if state is not None:
                self._check_last_run(connection, state)
            return state

    def read(self) -> tuple[State, list[NDArray[np.uint64]]] | None:
        """Give what the last commit says, with the checksums of each file, as one moment has them.

        Raises:
            Damaged: What it says cannot be true.
        """
        with self._connected() as connection:
            state = self._state(connection)
            if state is None:
                return None
            self._check_runs(connection, state)
            return state, [self._blocks(connection, number) for number in range(len(state.parts))]

    def _state(self, connection: sqlite3.Connection) -> State | None:
        connection.execute("BEGIN")
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'playhead_table'").fetchone():
            return None
        known = dict(connection.execute("SELECT key, value FROM playhead_table").fetchall())
        parts = connection.execute("SELECT number, name, rows FROM playhead_files ORDER BY number").fetchall()
        return self._understood(known, parts)

    def _understood(self, known: Mapping[str, Any], parts: Sequence[tuple[Any, Any, Any]]) -> State:
        try:
            said = strictjson.decode(known["state"])
            if said.pop("version") > VERSION:
                raise Damaged(self.path, f"a table of version {VERSION}", "that of a later Playhead", "Update Playhead")
            state = State(parts=tuple(Part(name, rows) for _, name, rows in parts), **said)
        except (KeyError, TypeError, AttributeError, strictjson.JSONDecodeError) as error:
            raise self._damaged(f"a state that cannot be read ({type(error).__name__}: {error})") from error
        counts = [state.commit, state.runs, state.block_bytes - 1 if isinstance(state.block_bytes, int) else -1]
        counts += [part.rows for part in state.parts]
        is_sound = all(type(count) is int and count >= 0 for count in counts)
        is_sound = is_sound and all(isinstance(part.name, str) for part in state.parts)
        is_sound = is_sound and isinstance(state.dtype, list) and isinstance(state.built, dict)
        is_sound = is_sound and (state.shard_bytes is None or type(state.shard_bytes) is int)
        if not is_sound or [number for number, *_ in parts] != list(range(len(parts))):
            raise self._damaged(f"a state that cannot be true: {state}"[:400])
        return state

    def _check_last_run(self, connection: sqlite3.Connection, state: State) -> None:
        """See that the last run is the one that the rows end with, whatever the number of runs before it."""
        last = "SELECT id + 1, first_step_idx + num_steps FROM runs ORDER BY id DESC LIMIT 1"
        found = connection.execute(last).fetchone() or (0, 0)
        if found != (state.runs, state.rows):
            said = f"{state.runs:,} and {state.rows:,} rows"
            raise self._damaged(f"{found[0]} runs that end at row {found[1]}, for {said}")

    def _check_runs(self, connection: sqlite3.Connection, state: State) -> None:
        """See that the runs follow one another, and that their steps are the rows."""
        found = connection.execute("SELECT count(*), total(num_steps) FROM runs WHERE id < ?", (state.runs,)).fetchone()
        if found != (state.runs, state.rows):
            raise self._damaged(
                f"{found[0]:,} runs of {found[1]:,.0f} steps for {state.runs:,} and {state.rows:,} rows"
            )
        odd = connection.execute(_ODD_RUNS, (state.runs,)).fetchone()
        if odd:
            raise self._damaged(f"run {odd[0]} with {odd[2]!r} steps from row {odd[1]!r}, which follow no other run")

    def blocks(self, part: int) -> NDArray[np.uint64]:
        """Give the checksums of a file, block by block."""
        with self._connected() as connection:
            return self._blocks(connection, part)

    def _blocks(self, connection: sqlite3.Connection, part: int) -> NDArray[np.uint64]:
        found = connection.execute(
            "SELECT number, xxh3 FROM playhead_blocks WHERE file = ? ORDER BY number", (part,)
        ).fetchall()
        if any(number != due or type(value) is not int for due, (number, value) in enumerate(found)):
            raise self._damaged(f"checksums of file {part} that have gaps or are no numbers")
        return np.array([value for _, value in found], np.int64).view(np.uint64)

    def commit(
        self,
        state: State,
        runs: Sequence[Mapping[str, Any]],
        blocks: Mapping[tuple[int, int], int],
        *,
        columns: Mapping[str, str] | None = None,
    ) -> None:
        """Make rows count, with the runs that they are of: all at once, or not at all.

        Args:
            state: What is true from now on.
            runs: The new ones.
            blocks: The checksums that are new or others, by file and number.
            columns: Makes the database: what is known of a run, besides its id and its rows, with the type that SQLite
                gives it.

        Raises:
            WrongType: A run has values that its columns do not hold.
        """
        said = {name: getattr(state, name) for name in _SAID}
        signed = {place: value - (1 << 64) if value >> 63 else value for place, value in blocks.items()}
        with self._connected("rw" if columns is None else "rwc") as connection:
            if columns is not None:
                connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute("BEGIN IMMEDIATE")
            for statement in () if columns is None else _schema(columns):
                connection.execute(statement)
            names = [name for (name,) in connection.execute("SELECT name FROM pragma_table_info('runs')")]
            before = _checksum_of_runs(connection, *self._known_checksum(connection))
            insert = f"INSERT INTO runs ({', '.join(map(_quoted, names))}) VALUES ({', '.join('?' * len(names))})"
            connection.executemany(insert, (tuple(run.get(name) for name in names) for run in runs))
            connection.executemany(
                "INSERT OR REPLACE INTO playhead_files VALUES (?, ?, ?)",
                [(number, part.name, part.rows) for number, part in enumerate(state.parts)],
            )
            connection.executemany(
                "INSERT OR REPLACE INTO playhead_blocks VALUES (?, ?, ?)",
                [(*place, value) for place, value in signed.items()],
            )
            text = strictjson.encode({"version": VERSION, **said}).decode()
            checked = {"commit": state.commit, "state": _xxh3(text), "runs": _checksum_of_runs(connection, *before)}
            connection.executemany(
                "INSERT OR REPLACE INTO playhead_table VALUES (?, ?)",
                [("state", text), (_CHECKSUMS, strictjson.encode(checked).decode())],
            )
            connection.execute("COMMIT")

    def _known_checksum(self, connection: sqlite3.Connection) -> Checksum:
        """Give the checksum of the runs that are there; nothing where the last commit left none."""
        said = dict(connection.execute("SELECT key, value FROM playhead_table").fetchall())
        try:
            known = strictjson.decode(said[_CHECKSUMS])
            runs, count = known["runs"]
            is_of_last = known["commit"] == strictjson.decode(said["state"])["commit"]
        except (KeyError, TypeError, ValueError):  # the first commit, or that of a version without checksums
            return "", 0
        return (str(runs), int(count)) if is_of_last else ("", 0)

    def _wrong_checksums(self, connection: sqlite3.Connection) -> Iterator[str]:
        said = dict(connection.execute("SELECT key, value FROM playhead_table").fetchall())
        if _CHECKSUMS not in said:
            return  # committed by a version without checksums
        try:
            due = strictjson.decode(said[_CHECKSUMS])
            commit, state, runs = due["commit"], due["state"], due["runs"]
            last = strictjson.decode(said["state"])["commit"]
        except (KeyError, TypeError, ValueError) as error:
            yield f"checksums that cannot be read ({error})"
            return
        if commit != last:
            yield f"the checksums of commit {commit!r}, and not of {last!r}"
            return
        if _xxh3(said["state"]) != state:
            yield f"a state that was changed since it was committed: {said['state'][:200]}"
        if list(_checksum_of_runs(connection, "", 0)) != runs:
            yield "runs that were changed since they were committed"

    def flaws(self) -> list[str]:
        """Let SQLite look at all of its pages and indexes; give what it finds."""
        with self._connected() as connection:
            connection.execute("BEGIN")
            found = [text for (text,) in connection.execute("PRAGMA integrity_check(10)").fetchall() if text != "ok"]
            if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'playhead_table'").fetchone():
                found += self._wrong_checksums(connection)
        return found

    def settle(self) -> None:
        """Move the write-ahead log into the file, as far as readers allow."""
        with self._connected("rw") as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    # -- runs -------------------------------------------------------------------------------------------------------

    @property
    def columns(self) -> dict[str, str]:
        """What is known of a run, by the names of the columns, with their types."""
        with self._connected() as connection:
            found = connection.execute("SELECT name, upper(type) FROM pragma_table_info('runs')").fetchall()
        if not found:
            raise self._damaged("no table `runs`")
        return dict(found)

    def runs(
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
        sql, parameters = _selected(tuple(columns.items()), where, order, None)
        page = {"before": 1 << 62 if before is None else before, "limit": limit, "offset": offset}
        with self._connected() as connection:
            found = connection.execute(sql, {**parameters, **page}).fetchall()
        return [dict(zip(columns, row, strict=True)) for row in found]

    def spans(self, where: str | None = None, *, before: int | None = None) -> NDArray[np.int64]:
        """Give id, first row and number of rows of each run that fits, in the order of their rows."""
        columns = self.columns
        count = next((name for name in _COUNTS if name in columns), None)
        if count is None:
            raise self._damaged(f"no column for the number of steps among {', '.join(columns)}")
        has_first = "first_step_idx" in columns
        wanted = ("id", "first_step_idx", count) if has_first else ("id", count)
        sql, parameters = _selected(tuple(columns.items()), where if has_first else None, "id", wanted)
        page = {"before": 1 << 62 if before is None else before, "limit": -1, "offset": 0}
        with self._connected() as connection:
            found = np.array(connection.execute(sql, {**parameters, **page}).fetchall())
        if found.size and found.dtype != np.int64:
            raise self._damaged("places of runs that are no whole numbers")
        found = found.astype(np.int64).reshape(-1, len(wanted))
        if not has_first:  # rows of runs follow one another
            firsts = np.concatenate([[0], np.cumsum(found[:, 1])[:-1]]) if len(found) else found[:, 1]
            found = np.column_stack([found[:, 0], firsts, found[:, 1]])
            if where is not None:
                ids = [run["id"] for run in self.runs(where, before=before)]
                found = found[np.isin(found[:, 0], ids)]
        found = found[np.argsort(found[:, 1], kind="stable")]
        stops = found[:, 1] + found[:, 2]
        if (found[:, 1:] < 0).any() or (stops < 0).any() or (stops[:-1] > found[1:, 1]).any():
            raise self._damaged("runs whose rows overlap, or are before the first")
        return found

    def known(self, first: int, last: int) -> dict[int, dict[str, Any]]:
        """Give what is known of the runs between two ids, both included."""
        columns = self.columns
        names = ", ".join(map(_quoted, columns))
        with self._connected() as connection:
            found = connection.execute(f"SELECT {names} FROM runs WHERE id BETWEEN ? AND ?", (first, last)).fetchall()
        runs = [dict(zip(columns, row, strict=True)) for row in found]
        return {run["id"]: run for run in runs}

    def count(self, *, before: int | None = None) -> int:
        """Count the runs."""
        with self._connected() as connection:
            bound = 1 << 62 if before is None else before
            return int(connection.execute("SELECT count(*) FROM runs WHERE id < ?", (bound,)).fetchone()[0])

    # -- connections ------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _connected(self, mode: str = "ro") -> Iterator[sqlite3.Connection]:
        if mode != "rwc" and not self.path.exists():
            raise NotFound(f"{self.path} is missing; a table is steps.npy with metadata.db beside it")
        self.check_folder()
        if mode == "ro" and _has_bytes(f"{self.path}-journal"):
            mode = "rw"  # its making was stopped half-way, which only a writer takes back
        query = f"mode={mode}"
        if mode == "ro" and not os.access(self.path.parent, os.W_OK):
            # SQLite's shared memory cannot be made there; and what is only in the log must not be passed over.
            query += "" if _has_bytes(f"{self.path}-wal") else "&immutable=1"
        try:
            connection = sqlite3.connect(
                f"file:{quote(str(self.path))}?{query}", uri=True, timeout=_BUSY_SECONDS, isolation_level=None
            )
            with contextlib.closing(connection):
                yield connection
        except (sqlite3.Error, OverflowError) as error:
            raise self._meaning(error) from error

    def check_folder(self) -> None:
        """See that no other table has taken the place of this one: its rows would not be those of these runs.

        Raises:
            Closed: One has.
        """
        found = os.stat(self.path.parent)
        if self._folder is None:
            self._folder = found.st_dev, found.st_ino
        elif self._folder != (found.st_dev, found.st_ino):
            raise Closed(f"another table has taken the place of {self.path.parent} since it was opened; open it again")

    @property
    def is_replaced(self) -> bool:
        """Whether another table has taken the place of this one."""
        try:
            self.check_folder()
        except Closed:
            return True
        return False

    def _meaning(self, error: sqlite3.Error | OverflowError) -> Exception:
        if isinstance(
            error, sqlite3.IntegrityError | sqlite3.ProgrammingError | sqlite3.InterfaceError | OverflowError
        ):
            return WrongType(f"{self.path}: a run has a value that its columns do not hold ({error})")
        match getattr(error, "sqlite_errorcode", 0) & 0xFF:
            case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
                return self._damaged(str(error))
            case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
                return StoreLocked(f"another process has held {self.path} for {_BUSY_SECONDS} s; is it stuck?")
            case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
                return ReadOnly(f"{self.path} cannot be written ({error})")
            case sqlite3.SQLITE_FULL:
                return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
            case sqlite3.SQLITE_IOERR | sqlite3.SQLITE_CANTOPEN:
                return OSError(errno.EIO, str(error), str(self.path))
        return self._damaged(str(error))

    def _damaged(self, found: str) -> Damaged:
        return Damaged(self.path, "the metadata of a training table", found, "Build the table again from its sources")


def _xxh3(text: str) -> str:
    return xxhash.xxh3_64_hexdigest(text.encode(errors="surrogateescape"))


def _checksum_of_runs(connection: sqlite3.Connection, checksum: str, count: int) -> Checksum:
    """Go on with the checksum of runs, from the number of runs that it is of; begun anew where that is 0."""
    if not count:
        columns = connection.execute("SELECT name, type FROM pragma_table_info('runs')").fetchall()
        checksum = _xxh3(repr(columns))
    for row in connection.execute("SELECT * FROM runs WHERE id >= ? ORDER BY id", (count,)):
        checksum = _xxh3(f"{checksum} {row!r}")
        count += 1
    return checksum, count


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _has_bytes(path: str) -> bool:
    try:
        return os.stat(path).st_size > 0
    except FileNotFoundError:
        return False


def _schema(columns: Mapping[str, str]) -> list[str]:
    declared = ", ".join(f"{_quoted(name)} {kind}" for name, kind in (PLACE | dict(columns)).items())
    made = [f"CREATE TABLE runs ({declared})", *_OURS, "CREATE INDEX idx_runs_len ON runs (num_steps)"]
    return made + ["CREATE INDEX idx_runs_score ON runs (max_score)"] * ("max_score" in columns)


def _kind(declared: str) -> type[TypeEngine[Any]]:
    return Integer if "INT" in declared else Float if "REAL" in declared or "FLOA" in declared else Text


@lru_cache(maxsize=64)
def _selected(
    columns: tuple[tuple[str, str], ...],
    where: str | None,
    order: str,
    wanted: tuple[str, ...] | None,
    hidden: tuple[str, ...] = (),
) -> tuple[str, Mapping[str, Any]]:
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
        value = column(key.name.replace("`", ""))
        chosen = chosen.order_by((value.desc() if key.falling else value.asc()).nulls_last())
    page = chosen.limit(bindparam("limit")).offset(bindparam("offset"))
    compiled = page.compile(dialect=_DIALECT, compile_kwargs={"render_postcompile": True})
    return str(compiled), compiled.params
