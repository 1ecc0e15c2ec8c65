"""Connections to the database of a table."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from playhead import disk, forks
from playhead.catalog.files import files_of
from playhead.catalog.made import LISTED
from playhead.catalog.meaning import meaning
from playhead.catalog.tables import made
from playhead.catalog.tables.state import check_version
from playhead.errors import Closed, Damaged, NotFound, WrongType

_BUSY_SECONDS = 60
_GUARDS = ("trusted_schema=OFF", "cell_size_check=ON")


class TableFile:
    """The file `metadata.db` of one table.

    Args:
        path: Where it is.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._folder: disk.HeldFolder | None = None  # in which it was first read

    @contextlib.contextmanager
    def connected(self, mode: str = "ro") -> Iterator[sqlite3.Connection]:
        """Give a connection, in the words of SQLite: `ro`, `rw`, or `rwc` to make the file."""
        if mode != "rwc" and not self.path.exists():
            raise NotFound(f"{self.path} is missing; a table is steps.npy with metadata.db beside it")
        self.check_folder()
        if mode == "ro" and _has_bytes(f"{self.path}-journal"):
            mode = "rw"  # its making was stopped half-way, which only a writer takes back
        if mode == "rwc":
            with contextlib.suppress(FileExistsError):  # SQLite would make it for the owner alone
                disk.write_blocks(self.path, (), durable=False)
        if mode != "ro":
            for path in files_of(self.path):
                disk.share_file(path)
        query = f"mode={mode}"
        if mode == "ro" and not os.access(self.path.parent, os.W_OK):
            # SQLite's shared memory cannot be made there; and what is only in the log must not be passed over.
            query += "" if self.has_log else "&immutable=1"
        forks.check()
        try:
            with forks.Working(), contextlib.closing(self._opened(query)) as connection:
                self._guard(connection)
                yield connection
        except (sqlite3.Error, OverflowError, UnicodeError) as error:
            raise self.meaning(error) from error

    def _opened(self, query: str) -> sqlite3.Connection:
        uri = f"file:{quote(os.fsencode(self.path))}?{query}"
        return sqlite3.connect(uri, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)

    def _guard(self, connection: sqlite3.Connection) -> None:
        """Trust nothing that the file says of itself: it may come from a stranger.

        Raises:
            Damaged: If it has triggers, views, tables or indexes that Playhead does not make.
            StoreTooNew: If a later version made it.
        """
        for guard in _GUARDS:
            connection.execute(f"PRAGMA {guard}")
        listed = tuple(connection.execute(LISTED).fetchall())
        found = made.strange(listed)
        if found is not None:
            if made.has_state(listed):
                check_version(self.path, dict(connection.execute("SELECT key, value FROM playhead_table")))
            raise self.damaged(found)

    @property
    def has_log(self) -> bool:
        """Whether something is only in the write-ahead log."""
        return _has_bytes(f"{self.path}-wal")

    def check_folder(self) -> None:
        """See that no other table has taken the place of this one: its rows would not be those of these runs.

        Raises:
            Closed: One has.
        """
        if self._folder is None:
            self._folder = disk.HeldFolder(self.path.parent)
        elif not self._folder.is_there():
            raise Closed(f"another table has taken the place of {self.path.parent} since it was opened; open it again")

    @property
    def is_replaced(self) -> bool:
        """Whether another table has taken the place of this one."""
        try:
            self.check_folder()
        except Closed:
            return True
        return False

    def meaning(self, error: sqlite3.Error | OverflowError | UnicodeError) -> Exception:
        """Give the error of ours that one of SQLite means."""
        if isinstance(error, UnicodeDecodeError):  # a message of SQLite quotes what is damaged
            return self.damaged(str(error))
        if isinstance(
            error,
            sqlite3.IntegrityError
            | sqlite3.ProgrammingError
            | sqlite3.InterfaceError
            | OverflowError
            | UnicodeEncodeError,
        ):
            return WrongType(f"{self.path}: a run has a value that its columns do not hold ({error})")
        known = meaning(self.path, error, self.damaged, busy_seconds=_BUSY_SECONDS)
        return self.damaged(str(error)) if known is None else known

    def damaged(self, found: str) -> Damaged:
        """Give the error that says that something in it cannot be."""
        return Damaged(self.path, "the metadata of a training table", found, "Build the table again from its sources")


def _has_bytes(path: str) -> bool:
    try:
        return os.stat(path).st_size > 0
    except FileNotFoundError:
        return False
