"""The files of a catalogue: the database, and what SQLite keeps beside it."""

from __future__ import annotations

from pathlib import Path

from playhead import disk

SUFFIXES = ("-wal", "-shm", "-journal", "")  # the database itself comes last


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


def remedy(database: Path) -> str:
    """Say what to do about a catalogue that cannot be used."""
    return f"The runs are safe in their folders. Run: playhead rebuild --store {database.parent}"
