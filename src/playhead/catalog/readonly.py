"""SQL written by users: truly read-only, and stoppable."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from playhead import clock, forks
from playhead.catalog import refs_in_sql
from playhead.catalog.database import Database
from playhead.catalog.meaning import no_text
from playhead.errors import BadQuery, QueryStopped, WrongType

# What `store.sql` offers, the views first.
_TABLES = (
    *("episodes", "steps", "experiments", "metrics", "runs", "series", "points", "run_values", "run_tags", "media"),
    *("episode_folders", "artifacts", "artifact_versions", "artifact_uses"),
)

Parameters = Sequence[Any] | Mapping[str, Any]

_ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
_HARMLESS_PRAGMAS = {"table_info", "table_xinfo", "table_list", "index_list", "index_info", "foreign_key_list"}
_OF_JSON = ("json_each", "json_tree")  # tables of what a JSON text holds: aliases, tags, configs
_INSTRUCTIONS_BETWEEN_LOOKS = 20_000
# Bytes of one text or blob. Nothing stops a function of SQL while it makes one; of this size that takes a second.
MOST_BYTES = 64 << 20


def query(
    database: Database, sql: str, parameters: Parameters = (), *, timeout: float | None = None
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Run one SELECT.

    Args:
        database: The catalogue.
        sql: The query, with `?` or `:name` for its parameters.
        parameters: Their values.
        timeout: Seconds after which the query is stopped; Ctrl-C stops it at any time. One function of SQL that runs
            is not stopped; since no value has more than `MOST_BYTES`, it hardly takes longer than a second.

    Returns:
        The names of the columns, and the rows.

    Raises:
        BadQuery: The query is wrong, does anything but read, or a value is none that SQLite holds.
        QueryStopped: It ran past its time.
    """
    if not isinstance(sql, str):
        raise BadQuery(f"a query is the text of a SELECT, not {type(sql).__name__}")
    if timeout is not None and not isinstance(timeout, (int, float)):
        raise WrongType(f"timeout is a number of seconds, not {timeout!r}")
    with forks.Working():
        return _answer(database, sql, parameters, timeout)


def _answer(
    database: Database, sql: str, parameters: Parameters, timeout: float | None
) -> tuple[list[str], list[tuple[Any, ...]]]:
    connection = database.connect()
    refused: list[int] = []
    deadline = None if timeout is None else clock.elapsed_ns() + timeout * clock.SECOND
    try:
        connection.execute("PRAGMA query_only=ON")
        connection.execute("PRAGMA temp_store=MEMORY")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_BYTES)
        for name in _OF_JSON:  # SQLite makes them at their first use, which to the authorizer looks like writing
            connection.execute(f"SELECT 1 FROM {name}('[]')")
        connection.set_authorizer(_authorizer(refused))
        # Coming back to Python now and then is also what lets Ctrl-C through.
        connection.set_progress_handler(lambda: _is_to_end(deadline), _INSTRUCTIONS_BETWEEN_LOOKS)
        return _run(connection, refs_in_sql.narrowed(connection, sql), parameters)
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", None)
        is_stopped = code == sqlite3.SQLITE_INTERRUPT and not _is_past(deadline)
        if is_stopped or (code == sqlite3.SQLITE_AUTH and not refused):
            raise KeyboardInterrupt from None  # the driver swallows it in the handlers and stops the query instead
        raise _explained(database, error, sql, timeout) from error
    except UnicodeEncodeError as error:
        raise no_text(error) from error
    except OverflowError as error:
        raise BadQuery(f"a whole number that is given is larger than SQLite's, of 64 bits, in: {sql}") from error
    finally:
        connection.close()


def _is_to_end(deadline: float | None) -> bool:
    forks.pause()
    return _is_past(deadline)


def _is_past(deadline: float | None) -> bool:
    return deadline is not None and clock.elapsed_ns() > deadline


def _run(connection: sqlite3.Connection, sql: str, parameters: Parameters) -> tuple[list[str], list[tuple[Any, ...]]]:
    cursor = connection.execute(sql, _plain(parameters))
    if cursor.description is None:
        raise BadQuery("store.sql reads with SELECT; this statement gives no rows")
    return [column[0] for column in cursor.description], cursor.fetchall()


def _plain(parameters: Parameters) -> Parameters:
    """Make numbers of those of NumPy, which SQLite would take for bytes, so that they equal nothing."""
    if isinstance(parameters, Mapping):
        return {name: _number(value) for name, value in parameters.items()}
    return [_number(value) for value in parameters] if isinstance(parameters, (list, tuple)) else parameters


def _number(value: Any) -> Any:
    return value.item() if getattr(value, "ndim", None) == 0 and hasattr(value, "item") else value


def _authorizer(refused: list[int]) -> Callable[[int, str | None, str | None, str | None, str | None], int]:
    """Make what allows only reading.

    Args:
        refused: Where actions that were not allowed are noted.
    """

    def authorize(action: int, first: str | None, *_: str | None) -> int:
        if action in _ALLOWED or (action == sqlite3.SQLITE_PRAGMA and first in _HARMLESS_PRAGMAS):
            return sqlite3.SQLITE_OK
        refused.append(action)
        return sqlite3.SQLITE_DENY

    return authorize


def _explained(database: Database, error: sqlite3.Error, sql: str, timeout: float | None) -> Exception:
    code = getattr(error, "sqlite_errorcode", None)
    if code == sqlite3.SQLITE_INTERRUPT:
        return QueryStopped(f"the query ran longer than {timeout} s and was stopped: {sql}")
    if code == sqlite3.SQLITE_AUTH:
        return BadQuery(f"only reading is allowed here (SELECT): {sql}")
    if code == sqlite3.SQLITE_TOOBIG:
        return BadQuery(f"a text or blob of more than {MOST_BYTES >> 20} MiB, which a query may not have, in: {sql}")
    meaning = database.explain(error)
    if meaning is not None:
        return meaning
    there = f"; there is: {', '.join(_TABLES)}" if "no such table" in str(error) else ""
    return BadQuery(f"{error}{there} in: {sql}")
