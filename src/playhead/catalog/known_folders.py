"""How folders looked when they were saved. Nothing depends on it but time: it may be lost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from sqlalchemy import ColumnElement, Connection, delete, insert, select, update

from playhead.catalog.schema import known_folders
from playhead.catalog.typed_rows import row_of


@dataclass(frozen=True, slots=True)
class KnownFolder:
    """A folder of an artifact that was saved. One field a column.

    Attributes:
        type: The type of the artifact.
        name: The artifact.
        folder: The folder in it; empty for the top.
        look: The digest of how it looked.
        version: The version that holds it as it was.
        manifest: The SHA-256 of the manifest of that version.
    """

    type: str
    name: str
    folder: str
    look: bytes
    version: int
    manifest: bytes


def of(connection: Connection, type: str, name: str) -> dict[str, KnownFolder]:
    """Give the folders of an artifact as they were last saved."""
    rows = connection.execute(select(known_folders).where(_is(type, name)))
    return {row.folder: row_of(KnownFolder, row) for row in rows}


def put(connection: Connection, type: str, name: str, known: Iterable[KnownFolder]) -> None:
    """Keep how the folders of an artifact look, instead of how they looked before."""
    connection.execute(delete(known_folders).where(_is(type, name)))
    rows = [asdict(one) for one in known]
    if rows:
        connection.execute(insert(known_folders), rows)


def hand_on(connection: Connection, type: str, name: str, version: int, heir: int) -> None:
    """Name another version that holds the same; its manifest is the same, too."""
    is_there = _is(type, name) & (known_folders.c.version == version)
    connection.execute(update(known_folders).where(is_there).values(version=heir))


def clear(connection: Connection) -> None:
    """Forget all folders: contents of the pool went away."""
    connection.execute(delete(known_folders))


def _is(type: str, name: str) -> ColumnElement[bool]:
    return (known_folders.c.type == type) & (known_folders.c.name == name)
