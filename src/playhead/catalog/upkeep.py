"""What keeps the catalogue quick and small: statistics for its queries, pages without holes, a short log."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from playhead.catalog.database import Database

_HOLES = 0.1  # of a file, from which it is worth writing anew
_SMALL = 1 << 20  # bytes that are not worth it
_LONG_LOG = 16 << 20  # bytes of a log that slows readers down


@dataclass(frozen=True, slots=True)
class Health:
    """How a catalogue is.

    Attributes:
        bytes: Of the file.
        free_bytes: In pages that nothing uses.
        log_bytes: Of the write-ahead log.
        has_statistics: Whether queries are planned by what is in the tables, and that is not much older than they are.
    """

    bytes: int
    free_bytes: int
    log_bytes: int
    has_statistics: bool


@dataclass(frozen=True, slots=True)
class Step:
    """Something that can be done for a catalogue.

    Attributes:
        name: What it is called: `checkpoint`, `analyze` or `vacuum`.
        why: What there is to gain, with numbers.
        do: Does it.
    """

    name: str
    why: str
    do: Callable[[], None]


def health(database: Database) -> Health:
    """Look at a catalogue."""
    with _connected(database) as connection:
        size, count, free = (
            connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_size", "page_count", "freelist_count")
        )
        log = f"{database.path}-wal"
        log_bytes = os.stat(log).st_size if os.path.exists(log) else 0
        return Health(size * count, size * free, log_bytes, _has_statistics(connection))


def _has_statistics(connection: sqlite3.Connection) -> bool:
    """Tell whether there are statistics of runs that are right to a factor of two."""
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'sqlite_stat1'").fetchone():
        return False
    noted = connection.execute("SELECT stat FROM sqlite_stat1 WHERE tbl = 'runs'").fetchall()
    (count,) = connection.execute("SELECT count(*) FROM runs").fetchone()
    known = max((int(str(stat).split()[0]) for (stat,) in noted if stat), default=0)  # some indices have not all rows
    return bool(known <= 2 * count and count <= 2 * known)


def steps(database: Database) -> list[Step]:
    """Say what would be good for a catalogue; nothing is changed before `do` of a step is called."""
    found = health(database)
    due: list[Step] = []
    if found.log_bytes > _LONG_LOG:
        why = f"the write-ahead log has {found.log_bytes:,} bytes, which every reader looks through"
        due.append(Step("checkpoint", why, database.checkpoint))
    if not found.has_statistics:
        why = "there are no statistics by which queries are planned, or those of another time"
        due.append(Step("analyze", why, lambda: _run(database, "ANALYZE")))
    if found.free_bytes > max(_SMALL, _HOLES * found.bytes):
        why = f"{found.free_bytes:,} of {found.bytes:,} bytes are in pages that nothing uses"
        due.append(Step("vacuum", why, lambda: vacuum(database)))
    return due


def vacuum(database: Database) -> None:
    """Write the file anew without holes.

    Raises:
        StoreLocked: Somebody writes to it for long.
    """
    _run(database, "VACUUM")
    database.checkpoint()


def _run(database: Database, statement: str) -> None:
    with _connected(database) as connection:
        connection.execute(statement)


@contextlib.contextmanager
def _connected(database: Database) -> Iterator[sqlite3.Connection]:
    try:
        with database.connected() as connection:
            yield connection
    except sqlite3.Error as error:
        meaning = database.explain(error)
        if meaning is None:
            raise
        raise meaning from error
