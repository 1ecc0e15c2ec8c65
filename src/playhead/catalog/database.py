"""Connections to the catalogue: opening, transactions, and what errors mean for a user."""

from __future__ import annotations

import contextlib
import itertools
import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool

from playhead import clock, disk, forks
from playhead.catalog import made, migrations, odd, schema
from playhead.catalog.files import LOG, check_files, files_of, remedy
from playhead.catalog.meaning import meaning, no_text
from playhead.catalog.typed_rows import OddRow
from playhead.errors import Damaged, NotAStore, PlayheadError, ReadOnly, StoreLocked
from playhead.wording import counted

__all__ = ["Connection", "Database", "driver_rows"]

BUSY_SECONDS = 60
POOL = 10
MAPPED = 256 << 20  # bytes of the file that a connection maps
TURNS, TURN_SECONDS = 200, 0.01  # how often to ask for a connection that others hold, where none can be added
LOOKS = 1_000_000  # instructions of a query between two looks at whether Ctrl-C was pressed: some ten milliseconds
MORE = 50  # connections beside those of the pool: a request of the server may hold three

# What Python raises if a value is not what it is used as.
_MISFITS = (TypeError, ValueError, LookupError, ArithmeticError, AttributeError)

_open: weakref.WeakSet[Database] = weakref.WeakSet()
_left_behind: list[object] = []


class Database:
    """One catalogue file, opened for reading and writing or for reading alone.

    Safe in threads: connections come from a pool, and the writers of one process take turns, so that they never wait
    for each other inside SQLite.

    Args:
        path: The database file.
        mode: `a` to read and write (the file is made if missing), `r` to read, `immutable` to read from a medium that
            cannot change, where SQLite's locks and shared memory are impossible.
        network: The file lies on a network file system, where write-ahead logging is unsafe: use a rollback journal.

    Attributes:
        last_sign: What queries of our own call as `last_sign(id, run_dir, indexed, episodes)`: the stamp of the last
            sign of life of a run that says that it is running, from its files and from what of it is indexed.
    """

    def __init__(self, path: Path, mode: str = "a", *, network: bool = False) -> None:
        self.path = path
        self.mode = mode
        self.network = network
        self._turn = threading.Lock()
        self._patience = threading.local()
        self._batch: Connection | None = None
        self._mapped = MAPPED
        self._identity: tuple[int, int] | None = None
        self._named_log = 0
        self.last_sign: Callable[[str, str, int, str], int] = _indexed_alone
        self._engine = self._make_engine()
        _open.add(self)

    def _make_engine(self) -> Engine:
        engine = create_engine(
            "sqlite://", creator=self.connect, poolclass=QueuePool, pool_size=POOL, max_overflow=MORE
        )
        event.listen(engine, "connect", self._set_up)
        event.listen(engine, "begin", self._begin)
        return engine

    @contextlib.contextmanager
    def patient(self, seconds: float) -> Iterator[None]:
        """Within the block, let this thread wait so long for others who hold the catalogue, instead of a minute."""
        before, self._patience.seconds = self._busy_seconds, seconds
        try:
            yield
        finally:
            self._patience.seconds = before

    @property
    def _busy_seconds(self) -> float:
        seconds: float = getattr(self._patience, "seconds", BUSY_SECONDS)
        return seconds

    def _begin(self, connection: Connection) -> None:
        seconds = self._busy_seconds
        if connection.info.get("busy_seconds") != seconds:
            driver_rows(connection, f"PRAGMA busy_timeout={round(seconds * 1000)}")
            connection.info["busy_seconds"] = seconds
        immediate = connection.get_execution_options().get("write", False)
        driver_rows(connection, "BEGIN IMMEDIATE" if immediate else "BEGIN")  # half the price of SQLAlchemy's own

    def map(self, size: int) -> None:
        """Let connections that are opened from now on map more of the file, instead of copying it into caches."""
        self._mapped = size

    def connect(self) -> sqlite3.Connection:
        """Open a bare connection, without pool: it trusts nothing that the file says of itself, and Ctrl-C ends it.

        Whoever opens one works with it, and closes it, within `forks.Working`.

        Raises:
            Damaged: The file, or one that SQLite keeps beside it, is a link, pipe or device.
            Forked: This process was forked in the middle of a query of its parent.
            NotAStore: The file is another than at first.
        """
        forks.check()
        check_files(self.path)
        query = {"a": "mode=rwc", "r": "mode=ro", "immutable": "mode=ro&immutable=1"}[self.mode]
        connection = sqlite3.connect(
            f"file:{quote(os.fsencode(self.path))}?{query}",
            uri=True,
            timeout=self._busy_seconds,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            self.check_same()
            for guard in _guards():
                connection.execute(f"PRAGMA {guard}")
            connection.set_progress_handler(_go_on, LOOKS)
        except BaseException:
            connection.close()
            raise
        return connection

    @contextlib.contextmanager
    def connected(self) -> Iterator[sqlite3.Connection]:
        """Give a bare connection for the block, as `connect` opens it."""
        with forks.Working(), contextlib.closing(self.connect()) as connection:
            yield connection

    def is_other(self) -> bool:
        """Tell whether the file is another than the one that was opened first."""
        try:
            found = os.stat(self.path)
        except OSError:  # what becomes of a file that is gone, SQLite says
            return False
        identity = found.st_dev, found.st_ino
        self._identity = self._identity or identity
        return self._identity != identity

    def check_same(self) -> None:
        """Check that the file is still the one that was opened: another gives keys of its own to the same runs.

        Connections that are there already go on with the file that they know, so that a run that is being recorded ends
        well; none is added to another file.

        Raises:
            NotAStore: It is another.
        """
        if self.is_other():
            raise NotAStore(f"the catalogue {self.path} was made anew while it was open; open the store again")

    def _set_up(self, connection: DBAPIConnection, entry: ConnectionPoolEntry) -> None:
        entry.info["busy_seconds"] = self._busy_seconds
        connection.create_function("last_sign", 4, self._last_sign)
        cursor = connection.cursor()
        settings = ["foreign_keys=ON", "temp_store=MEMORY", "cache_size=-10000"]
        if self.network:
            settings += ["synchronous=FULL", "mmap_size=0"]
        else:
            settings += ["synchronous=NORMAL", f"mmap_size={self._mapped}"]
        try:
            for setting in settings:
                cursor.execute(f"PRAGMA {setting}")
        except UnicodeDecodeError as error:  # a message of SQLite quotes the name of a table that is damaged
            raise self.damaged(str(error)) from error
        finally:
            cursor.close()

    def _last_sign(self, run_id: str, run_dir: str, indexed_ns: int, episodes: str) -> int:
        return self.last_sign(run_id, run_dir, indexed_ns, episodes)

    def prepare(self) -> None:
        """Make or migrate the tables. Call it while holding the lock of the store.

        Raises:
            StoreTooNew: The tables are those of a later version.
            Damaged: The file is not a database, or one with triggers, views or tables that Playhead does not make.
        """
        self._make_file()
        new, needed = self._needed()
        if new:
            self._set_in_file(f"application_id={schema.APPLICATION_ID}")
            self._set_in_file(f"journal_mode={'DELETE' if self.network else 'WAL'}")
            with self.write() as connection:
                migrations.create(connection)
        elif self.network:  # it may have come from a local one, with a write-ahead log
            with contextlib.suppress(StoreLocked):  # the next one to open it alone does it
                self._set_in_file("journal_mode=DELETE", patience=0)
        for step in needed:
            with self.write() as connection:
                migrations.apply(connection, step)

    def _make_file(self) -> None:
        """Make the file with the mode that the umask and the folder give: SQLite gives what is beside it the same."""
        with contextlib.suppress(FileExistsError):
            disk.write_blocks(self.path, (), durable=False)
        for path in files_of(self.path):
            disk.share_file(path)

    def _set_in_file(self, setting: str, *, patience: int = BUSY_SECONDS) -> None:
        """Set what SQLite keeps in the file itself; outside of a transaction."""
        with forks.Working(), self._meaning(), self._engine.connect() as connection:
            driver = connection.connection.dbapi_connection
            assert driver is not None
            cursor = driver.cursor()
            cursor.execute(f"PRAGMA busy_timeout={patience * 1000}")
            try:
                cursor.execute(f"PRAGMA {setting}")
            finally:
                cursor.execute(f"PRAGMA busy_timeout={BUSY_SECONDS * 1000}")
                cursor.close()

    def place(self) -> int:
        """Return the number of the place for which the catalogue was complete; 0 if none was noted.

        It is kept in the head of the file (`PRAGMA user_version`), and so is copied with it.
        """
        with self.read() as connection:
            return int(driver_rows(connection, "PRAGMA user_version")[0][0])

    def note_place(self, place: int) -> None:
        """Note the place for which the catalogue is complete."""
        with self.write() as connection:
            driver_rows(connection, f"PRAGMA user_version={int(place)}")

    def is_current(self) -> bool:
        """Tell whether the tables are those of this version, and not of an earlier one; writes nothing.

        Raises:
            StoreTooNew: They are those of a later one.
            Damaged: The file is not a database, or one with triggers, views or tables that Playhead does not make.
        """
        return self._needed() == (False, [])

    def _needed(self) -> tuple[bool, list[migrations.Step]]:
        """Return whether there are no tables yet, and the steps that bring those of an earlier version up to date.

        Nothing but the list of tables is read before that is compared: a query of a view might never end.
        """
        with self.read() as connection:
            listed = driver_rows(connection, made.LISTED)
            if not listed:
                return True, []
            if not made.has_migrations(listed):
                raise self.strange([made.NO_MIGRATIONS])
            needed = migrations.pending(connection)  # a later version may make what is unknown here, and goes first
            found = list(made.strange(listed, earlier=bool(needed)))
            if not found and (needed or made.digest(listed) != made.DIGEST):
                tables = (name for kind, name, *_ in listed if kind == "table")
                found = list(migrations.at_odds(tables, needed))
        if found:
            raise self.strange(found)
        return False, needed

    def strange(self, found: Sequence[str]) -> Damaged:
        """Make the error of a catalogue that holds what Playhead did not make."""
        said = found[0] if len(found) == 1 else f"{found[0]} and {counted(len(found) - 1, 'other thing')}"
        return Damaged(self.path, "only what Playhead makes in a catalogue", said, remedy(self.path))

    def _connection(self) -> Connection:
        """Give a connection of the pool, or a new one.

        Where the file is another by now, none can be added: whoever finds all of them in use waits for one.

        Raises:
            NotAStore: The file is another, and no connection that knows the old one came back in time.
        """
        for _ in range(TURNS):
            try:
                return self._engine.connect()
            except NotAStore:
                pool = self._engine.pool
                if isinstance(pool, QueuePool) and not pool.checkedin() and not pool.checkedout():
                    raise  # there is none
            clock.sleep(TURN_SECONDS)
        return self._engine.connect()

    @contextlib.contextmanager
    def read(self) -> Iterator[Connection]:
        """Give a connection on which every query sees one state of the catalogue: that of the first query."""
        if self._batch is not None:
            yield self._batch
            return
        with forks.Working(), self._meaning(), self._connection() as connection:
            connection.begin()  # also for those who ask the driver itself; undone where the connection is given back
            yield connection

    @contextlib.contextmanager
    def write(self) -> Iterator[Connection]:
        """Give a connection within a transaction: committed at the end, undone by an exception.

        The write lock is taken at the start, so that a transaction never fails half way because another process wrote.
        """
        if self._batch is not None:
            yield self._batch
            return
        if self.mode != "a":
            raise ReadOnly.of_store(self.path.parent)
        with forks.Working(), self._my_turn(), self._meaning(), self._connection() as connection:
            with connection.execution_options(write=True).begin():
                yield connection

    @contextlib.contextmanager
    def _my_turn(self) -> Iterator[None]:
        """Let the writers of this process in one after the other."""
        turn, seconds = self._turn, self._busy_seconds
        if seconds >= BUSY_SECONDS:  # then SQLite's own waiting counts, and not that for our own threads
            with turn:
                yield
            return
        if not turn.acquire(timeout=seconds):
            raise StoreLocked(f"another thread has held {self.path} for {seconds} s; is it stuck?")
        try:
            yield
        finally:
            turn.release()

    def check_unlocked(self) -> None:
        """Wait until the catalogue can be written.

        Raises:
            StoreLocked: Another process holds it for long.
        """
        with self.write():
            pass

    @contextlib.contextmanager
    def batch(self) -> Iterator[None]:
        """Make all reads and writes within the block one transaction. Only for a database that one thread uses."""
        with self.write() as connection:
            self._batch = connection
            try:
                yield
            finally:
                self._batch = None

    @contextlib.contextmanager
    def _meaning(self) -> Iterator[None]:
        try:
            yield
        except (DBAPIError, sqlite3.Error) as error:
            cause = error.orig if isinstance(error, DBAPIError) else error
            meaning = self.explain(cause) or self._explain_mismatch(cause)
            meaning = meaning or self._explain_rows(error)
            if meaning is None:
                raise
            raise meaning from error
        except UnicodeEncodeError as error:
            raise no_text(error) from error
        except PlayheadError:
            raise
        except _MISFITS as error:
            damage = self._explain_rows(error)
            if damage is None:
                raise
            raise damage from error

    @contextlib.contextmanager
    def understood(self) -> Iterator[None]:
        """Within the block, make sense of rows that were read.

        Raises:
            Damaged: If that fails because of what is in the catalogue.
        """
        with self._meaning():
            yield

    def _explain_rows(self, error: Exception) -> Damaged | None:
        """Say in which column a value is that no version puts there; None if there is none, and the mistake is ours."""
        found: list[str] = []
        with contextlib.suppress(sqlite3.Error, PlayheadError, OSError), self.connected() as bare:
            found = list(itertools.islice(itertools.chain(odd.values(bare.execute), odd.orphans(bare.execute)), 3))
        cause = error.orig if isinstance(error, DBAPIError) else error
        if not found and not (isinstance(error, OddRow) or _is_of_rows(cause)):
            return None
        said = "; ".join(found) or str(cause)
        return Damaged(self.path, "only values that Playhead puts into a catalogue", said, remedy(self.path))

    def _explain_mismatch(self, error: BaseException | None) -> Damaged | None:
        """Say what it means that a query of ours does not fit the tables."""
        said = str(error or "")
        return self.damaged(said) if "no such" in said or "Could not decode to UTF-8" in said else None

    def damaged(self, found: str) -> Damaged:
        """Make the error of a catalogue that is not what was written."""
        return Damaged(self.path, "the tables of this version", found, remedy(self.path))

    def explain(self, error: BaseException | None) -> PlayheadError | OSError | None:
        """Say what an error of SQLite means here; None for one that is a mistake of ours."""
        code = getattr(error, "sqlite_errorcode", None)
        if code is None:
            return None
        if code == sqlite3.SQLITE_INTERRUPT:
            raise KeyboardInterrupt from None  # the driver swallows it in the handler, and ends the query instead
        if code == sqlite3.SQLITE_READONLY_DBMOVED or not self.path.exists():
            return NotAStore(f"the catalogue {self.path} was moved or deleted while it was open; open the store again")
        to_read = "open the store with mode='r' to read it"
        return meaning(self.path, error, self._no_database, busy_seconds=self._busy_seconds, remedy=to_read)

    def _no_database(self, found: str) -> Damaged:
        return Damaged(self.path, "an SQLite database", found, remedy(self.path))

    def checkpoint(self) -> None:
        """Move the write-ahead log into the database, as far as readers allow."""
        if self.mode != "a" or self.network or self.is_other():
            return
        with forks.Working(), self._meaning(), self._engine.connect() as connection:
            driver = connection.connection.dbapi_connection
            assert driver is not None
            cursor = driver.cursor()
            cursor.execute("PRAGMA busy_timeout=0")
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            cursor.execute(f"PRAGMA busy_timeout={BUSY_SECONDS * 1000}")
            cursor.close()

    def sync(self) -> None:
        """Wait until all that was committed is on the medium. A commit alone does not, for it would cost every round.

        On a network file system it does.
        """
        if self.network:
            return
        log = self.path.with_name(self.path.name + LOG)
        try:
            found = os.stat(log).st_ino
            disk.sync_file(log)  # SQLite locks the database itself and its shared memory, never its log
        except FileNotFoundError:
            return  # whoever left the database last put all of it there
        if found != self._named_log:
            disk.sync_folder(self.path.parent)
            self._named_log = found

    def close(self) -> None:
        """Give all connections back."""
        with forks.Working():
            self._engine.dispose()
        _open.discard(self)

    def forget(self) -> None:
        """Begin anew in a forked child: the connections belong to the parent.

        None is in a transaction, and they are closed. As long as one is open, SQLite takes its locks for those of the
        child, which has none: others could then remove the log that the child writes to. If the fork cut work off, even
        closing might wait for ever, and they stay as they are.
        """
        self._turn = threading.Lock()
        if forks.was_cut():
            _left_behind.append(self._engine.pool)
        self._engine.dispose(close=not forks.was_cut())


def _is_of_rows(error: BaseException | None) -> bool:
    """Return whether SQLite could not do something because of rows that are there already."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    words = ("integer overflow", "malformed JSON")
    return code in (sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH) or str(error) in words


def _indexed_alone(_id: str, _run_dir: str, indexed_ns: int, _episodes: str) -> int:
    return indexed_ns


def driver_rows(connection: Connection, sql: str, parameters: Any = ()) -> Sequence[Any]:
    """Run a query on the driver itself: for many rows, SQLAlchemy's own would cost more than SQLite."""
    driver = connection.connection.dbapi_connection
    assert driver is not None
    cursor = driver.cursor()
    try:
        cursor.execute(sql, parameters)
        return cursor.fetchall()
    finally:
        cursor.close()


@cache
def _guards() -> tuple[str, ...]:
    """Return the settings for a file that may come from a stranger.

    Some versions of SQLite count `json_group_object`, of which our view `steps` makes use, among what a schema that is
    not trusted may not call. There the comparison with what Playhead makes is the only guard.
    """
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE VIEW probe AS SELECT json_group_object('a', 1)")
        connection.execute("PRAGMA trusted_schema=OFF")
        try:
            connection.execute("SELECT * FROM probe").fetchall()
        except sqlite3.OperationalError:
            return ("cell_size_check=ON",)
    return ("cell_size_check=ON", "trusted_schema=OFF")


def _go_on() -> int:
    """Let a query go on; coming back to Python at all is what lets Ctrl-C through."""
    forks.pause()
    return 0


def _after_fork() -> None:
    for database in list(_open):
        database.forget()


os.register_at_fork(after_in_child=_after_fork)


def is_of_sqlite(trouble: Exception) -> bool:
    """Return whether an error was raised because SQLite could not read a file, and not because of what is in it."""
    return isinstance(trouble.__cause__, sqlite3.Error | DBAPIError)
