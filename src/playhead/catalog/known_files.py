"""What is known of files that were hashed before. Nothing depends on it but time: it may be lost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, delete

from playhead.catalog.database import driver_rows
from playhead.catalog.schema import known_files

_CHUNK = 900  # places in a query
_SIGN = 1 << 63


class Stamp(NamedTuple):
    """What a file system says of a file; one that is written again has another."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int


def find(connection: Connection, asked: Sequence[Stamp]) -> dict[Stamp, str]:
    """Give the SHA-256 of the files that are as they were."""
    found: dict[Stamp, str] = {}
    for device in {stamp.device for stamp in asked}:
        inodes = [_signed(stamp.inode) for stamp in asked if stamp.device == device]
        for start in range(0, len(inodes), _CHUNK):
            part = inodes[start : start + _CHUNK]
            rows = driver_rows(
                connection,
                "SELECT inode, size, mtime_ns, ctime_ns, sha256 FROM known_files "
                f"WHERE device = ? AND inode IN ({','.join('?' * len(part))})",
                [_signed(device), *part],
            )
            for inode, size, mtime_ns, ctime_ns, sha256 in rows:
                found[Stamp(device, inode % (2 * _SIGN), size, mtime_ns, ctime_ns)] = sha256.hex()
    return found


def remember(connection: Connection, known: Iterable[tuple[Stamp, str]]) -> None:
    """Keep the SHA-256 of files."""
    driver = connection.connection.dbapi_connection
    assert driver is not None
    cursor = driver.cursor()
    try:
        cursor.executemany(
            "INSERT OR REPLACE INTO known_files VALUES (?, ?, ?, ?, ?, ?)",
            [
                (_signed(stamp.device), _signed(stamp.inode), *stamp[2:], bytes.fromhex(sha256))
                for stamp, sha256 in known
            ],
        )
    finally:
        cursor.close()


def forget(connection: Connection, sha256: str) -> None:
    """Forget the files that have a content: the next save reads them."""
    connection.execute(delete(known_files).where(known_files.c.sha256 == bytes.fromhex(sha256)))


def _signed(number: int) -> int:
    """Bring 64 bits into the range of SQLite's integers."""
    return number - 2 * _SIGN if number >= _SIGN else number
