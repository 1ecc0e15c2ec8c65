"""MOSAIC's `telemetry.sqlite`: what its steps and episodes say, and its way to do without arrays.

The file is another program's, and may come from a stranger: nothing in its schema is trusted, and a column that is not
there is empty.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from playhead import forks
from playhead.errors import Damaged, NotFound, ReadOnly, StoreLocked

ARRAYS = ("observation", "render_payload")  # the columns that hold arrays
REFS = ("frame_ref", "obs_ref")

_BUSY_SECONDS = 5
_NEEDED = ("episode_id", "step_index")
_SETTINGS = ("trusted_schema=OFF", "cell_size_check=ON")


@dataclass(frozen=True, slots=True)
class Stretch:
    """The steps of one episode.

    Attributes:
        run_id: Its run, where the database says so.
        episode_id: The episode.
        steps: How many there are.
        first: The place of the first in the order in which they were written.
        began: The earliest timestamp.
        ended: The latest.
        reward: The sum of their rewards.
    """

    run_id: Any
    episode_id: Any
    steps: int
    first: int
    began: Any
    ended: Any
    reward: Any


class Telemetry:
    """Reads one database, as one moment has it.

    Args:
        path: The file.
        connection: Where it is open.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self.columns = self._columns_of("steps")
        missing = [name for name in _NEEDED if name not in self.columns]
        if missing:
            raise Damaged(
                path,
                "MOSAIC's table `steps`",
                f"one without {', '.join(missing)}" if self.columns else "none",
                "Give the telemetry.sqlite that MOSAIC wrote",
            )

    def _columns_of(self, table: str) -> list[str]:
        if not self._connection.execute(
            "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)
        ).fetchone():
            return []
        return [str(name) for (name,) in self._connection.execute("SELECT name FROM pragma_table_info(?)", (table,))]

    @property
    def array_columns(self) -> list[str]:
        """The columns that hold arrays, as far as they are still there."""
        return [name for name in ARRAYS if name in self.columns]

    def stretches(self) -> list[Stretch]:
        """List the episodes that have a step, in the order of their first."""
        run, began, reward = (self._or_null(name) for name in ("run_id", "timestamp", "reward"))
        found = self._connection.execute(
            f"SELECT {run}, episode_id, count(*), min(rowid) AS first, min({began}), max({began}), total({reward}) "
            f"FROM steps GROUP BY {run}, episode_id ORDER BY first"
        )
        return [Stretch(*row) for row in found]

    def _or_null(self, name: str) -> str:
        return _quoted(name) if name in self.columns else "NULL"

    def steps(self, stretch: Stretch) -> Iterator[tuple[int, dict[str, Any]]]:
        """Walk over the steps of an episode, in their order: the place of each, and what its columns say."""
        names = ", ".join(_quoted(name) for name in self.columns)
        rows = self._connection.execute(
            f"SELECT rowid, {names} FROM steps WHERE episode_id IS ? AND {self._or_null('run_id')} IS ? "
            "ORDER BY step_index, rowid",
            (stretch.episode_id, stretch.run_id),
        )
        for place, *values in rows:
            yield place, dict(zip(self.columns, values, strict=True))

    def rows_of(self, table: str) -> list[dict[str, Any]]:
        """Give the rows of `episodes` or `run_status`; none where there is no such table."""
        names = self._columns_of(table)
        if not names:
            return []
        wanted = ", ".join(map(_quoted, names))
        rows = self._connection.execute(f"SELECT {wanted} FROM {_quoted(table)} ORDER BY rowid")
        return [dict(zip(names, row, strict=True)) for row in rows]


@contextlib.contextmanager
def reading(path: Path) -> Iterator[Telemetry]:
    """Open a database to read one state of it.

    Raises:
        NotFound: There is none.
        Damaged: It is something else.
    """
    with _connected(path, "ro") as connection:
        connection.execute("BEGIN")
        yield Telemetry(path, connection)


def drop_arrays(path: Path, verify: Callable[[Telemetry], Iterable[tuple[int, str | None, str | None]]]) -> None:
    """Drop the columns that hold arrays, in one transaction; nobody writes from the first look to the commit.

    Args:
        path: The database.
        verify: Sees that all of them are elsewhere, and raises where not. Gives the steps whose arrays are, with the
            refs to frame and observation; what is a ref already stays.

    Raises:
        StoreLocked: Another program is writing.
        ReadOnly: The file cannot be written.
    """
    with _connected(path, "rw") as connection:
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("BEGIN IMMEDIATE")
        try:
            telemetry = Telemetry(path, connection)
            _put_refs(connection, telemetry, list(verify(telemetry)))
            for name in telemetry.array_columns:
                connection.execute(f"ALTER TABLE steps DROP COLUMN {_quoted(name)}")
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")


def _put_refs(
    connection: sqlite3.Connection, telemetry: Telemetry, refs: list[tuple[int, str | None, str | None]]
) -> None:
    for name in REFS:
        if refs and name not in telemetry.columns:
            connection.execute(f"ALTER TABLE steps ADD COLUMN {name} TEXT")
    connection.executemany(
        "UPDATE steps SET frame_ref = coalesce(frame_ref, ?), obs_ref = coalesce(obs_ref, ?) WHERE rowid = ?",
        ((frame, observation, place) for place, frame, observation in refs),
    )


def vacuum(path: Path) -> None:
    """Give the room that a database no longer needs back to the file system."""
    with _connected(path, "rw") as connection:
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


@contextlib.contextmanager
def _connected(path: Path, mode: str) -> Iterator[sqlite3.Connection]:
    if not path.is_file():
        raise NotFound(f"there is no file {path}; give the telemetry.sqlite that MOSAIC wrote")
    query = f"mode={mode}"
    if mode == "ro" and not os.access(path.parent, os.W_OK) and not _has_bytes(f"{path}-wal"):
        query += "&immutable=1"  # SQLite's shared memory cannot be made there
    forks.check()
    try:
        with forks.Working(), contextlib.closing(_opened(path, query)) as connection:
            connection.text_factory = _text
            for setting in _SETTINGS:
                connection.execute(f"PRAGMA {setting}")
            yield connection
    except sqlite3.Error as error:
        raise _meaning(path, error) from error


def _opened(path: Path, query: str) -> sqlite3.Connection:
    uri = f"file:{quote(os.fsencode(path))}?{query}"
    return sqlite3.connect(uri, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)


def _text(data: bytes) -> str | bytes:
    """Give a text; as bytes where it is not UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def _has_bytes(path: str) -> bool:
    return os.path.exists(path) and os.stat(path).st_size > 0


def _meaning(path: Path, error: sqlite3.Error) -> Exception:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreLocked(f"another program is writing {path}; close MOSAIC, and try again")
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return ReadOnly(f"{path} cannot be written: {error}")
    if code == sqlite3.SQLITE_FULL:
        return OSError(28, f"no room on the disk of {path} to write it anew")
    return Damaged(path, "a database of MOSAIC", str(error), "Restore it from a copy")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
