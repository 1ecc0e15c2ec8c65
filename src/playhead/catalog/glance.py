"""A quick look at the catalogue with the bare driver, for a shell that waits while it completes a word.

Loading SQLAlchemy takes longer than a person at a prompt should wait. What cannot be read is as good as empty here: a
command that then runs says what is wrong.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from playhead import clock, forks
from playhead.catalog.files import check_files
from playhead.catalog.typed_rows import OddRow, rows_of
from playhead.errors import Damaged

_RUNS = """
    SELECT id, project, name, status FROM runs
    WHERE id >= :begun AND substr(id, 1, length(:begun)) = :begun AND (deleted_at IS NOT NULL) = :deleted
    ORDER BY created_at DESC LIMIT :most"""

# Each step of the recursion is one seek in the index on project, however many runs a project has.
_PROJECTS = """
    WITH RECURSIVE found(project) AS (
        SELECT min(project) FROM runs
        UNION ALL
        SELECT (SELECT min(project) FROM runs WHERE project > found.project) FROM found WHERE project IS NOT NULL
    )
    SELECT project FROM found WHERE project IS NOT NULL"""


_SECONDS = 1.0  # that a shell may wait: a catalogue of a stranger may answer for ever
_INSTRUCTIONS_BETWEEN_LOOKS = 100_000


class Glimpse(NamedTuple):
    """What a list of completions says of a run."""

    id: str
    project: str
    name: str
    status: str


def runs(database: Path, begun: str, *, deleted: bool = False, most: int = 50) -> list[Glimpse]:
    """List runs whose id begins with a text, newest first."""
    values = {"begun": begun, "deleted": deleted, "most": most}
    try:
        return rows_of(Glimpse, _rows(database, _RUNS, values))
    except OddRow:
        return []


def projects(database: Path) -> list[str]:
    """List the projects, sorted."""
    return [project for (project,) in _rows(database, _PROJECTS, {})]


def _rows(database: Path, query: str, values: dict[str, Any]) -> list[Any]:
    try:
        check_files(database)
    except Damaged:
        return []
    with forks.Working():
        return _found(database, query, values)


def _found(database: Path, query: str, values: dict[str, Any]) -> list[Any]:
    # On a medium that cannot be written, SQLite opens only what it is told never changes.
    until = clock.elapsed_ns() + _SECONDS * clock.SECOND
    for access in ("mode=ro", "mode=ro&immutable=1"):
        try:
            connection = sqlite3.connect(
                f"file:{quote(os.fsencode(database.absolute()))}?{access}", uri=True, timeout=1.0
            )
        except sqlite3.Error:
            continue
        with contextlib.closing(connection):
            connection.set_progress_handler(lambda: clock.elapsed_ns() > until, _INSTRUCTIONS_BETWEEN_LOOKS)
            try:
                connection.execute("PRAGMA trusted_schema=OFF")
                return connection.execute(query, values).fetchall()
            except sqlite3.Error:
                continue
    return []
