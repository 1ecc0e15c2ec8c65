"""The files of a catalogue: the database, and what SQLite keeps beside it."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from playhead import disk

_MAGIC, _HEAD, _PLACE_AT = b"SQLite format 3\0", 100, 60  # of the head of every database
LOG = "-wal"
SUFFIXES = (LOG, "-shm", "-journal", "")  # the database itself comes last


def files_of(database: Path) -> list[Path]:
    """Name the files of a database, whether they are there or not; the database comes last."""
    return [database.with_name(database.name + suffix) for suffix in SUFFIXES]


def check_files(database: Path) -> None:
    """See that the files of a catalogue are files: SQLite follows links, and writes where they lead.

    Raises:
        Damaged: One is a link, a pipe or a device.
    """
    for path in files_of(database):
        disk.check_plain(path, remedy(database))


def head_of(database: Path, size: int) -> bytes:
    """Read the first bytes of a database that a connection of this process has open.

    They are read where that connection reads them. A file that is opened beside it may not be closed again: the kernel
    would then drop all locks of this process on the database, and another process that leaves it would remove the log
    which this one goes on writing to.

    Raises:
        FileNotFoundError: Nothing is there, or no connection has it open.
    """
    meant = os.stat(database)
    for name in os.listdir("/dev/fd"):
        with suppress(OSError):  # closed since
            if os.path.samestat(os.fstat(int(name)), meant):
                return os.pread(int(name), size, 0)
    raise FileNotFoundError(f"no connection has {database} open")


def place_in(database: Path) -> int:
    """Return the number of the place that the head of a database says, also if SQLite cannot read the rest."""
    try:
        head = head_of(database, _HEAD)
    except FileNotFoundError:
        with open(disk.open_to_read(database), "rb") as file:
            head = file.read(_HEAD)
    return int.from_bytes(head[_PLACE_AT : _PLACE_AT + 4], "big") if head.startswith(_MAGIC) else 0


def remedy(database: Path) -> str:
    """Say what to do about a catalogue that cannot be used."""
    return f"The runs are safe in their folders. Run: playhead rebuild --store {database.parent}"
