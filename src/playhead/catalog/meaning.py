"""What SQLite's errors mean to whoever asked: the one table of them."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

from playhead.errors import BadQuery, Damaged, PlayheadError, ReadOnly, StoreLocked


def no_text(error: UnicodeEncodeError) -> BadQuery:
    """Say that a text cannot be looked for, since no database can hold it: a name of a file that is not UTF-8."""
    return BadQuery(f"{error.object[:100]!r} is not UTF-8, and so is in no catalogue")


def meaning(
    path: Path,
    error: BaseException | None,
    damaged: Callable[[str], Damaged],
    *,
    busy_seconds: float,
    remedy: str = "",
) -> PlayheadError | OSError | None:
    """Say what an error of SQLite means; None for one that its code does not explain.

    Args:
        path: The database.
        error: What SQLite raised.
        damaged: Makes the error of a file that is not what was written, of what was found.
        busy_seconds: How long was waited for others.
        remedy: What to do where it cannot be written.
    """
    match getattr(error, "sqlite_errorcode", 0) & 0xFF:
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return damaged(str(error))
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return StoreLocked(f"another process has held {path} for {busy_seconds} s; is it stuck?")
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            return ReadOnly(f"{path} cannot be written ({error})" + (f"; {remedy}" if remedy else ""))
        case sqlite3.SQLITE_FULL:
            return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        case sqlite3.SQLITE_IOERR | sqlite3.SQLITE_CANTOPEN:
            return OSError(errno.EIO, str(error), str(path))
    return None
