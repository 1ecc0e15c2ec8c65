"""Whether a catalogue is sound, and says what another one says.

SQLite's own check sees what is wrong with pages and indexes, and not a bit that flipped within a value. Since files own
every fact, a value is checked against what the files say: against another catalogue that was just made of them.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from itertools import islice, zip_longest
from typing import Any, NamedTuple

from playhead.catalog import made, odd, schema
from playhead.catalog.database import Database
from playhead.catalog.files import head_of

_RUN = [column.name for column in schema.runs.columns if column.name != "key"]
_SERIES = [column.name for column in schema.series.columns if column.name not in ("key", "run")]
_MEDIA = [column.name for column in schema.media.columns if column.name != "run"]
_PLAYED = [column.name for column in schema.replay_episodes.columns if column.name not in ("key", "reel")]
_STEP = [column.name for column in schema.replay_steps.columns if column.name not in ("episode", "shape")]

# Columns of each table, and the rows of one run in an order that does not depend on keys.
_OF_A_RUN: dict[str, tuple[list[str], str]] = {
    "runs": (_RUN, f"SELECT {', '.join(_RUN)} FROM runs WHERE id = ?"),
    "run_tags": (["tag"], "SELECT tag FROM runs JOIN run_tags ON run = runs.key WHERE id = ? ORDER BY tag"),
    "run_values": (
        ["key", "number", "text"],
        # Versions before 0.12 have words in the place of NaN and the infinities.
        "SELECT v.key, CASE WHEN abs(number) < 9e999 THEN number END, "
        "CASE WHEN text NOT IN ('NaN', 'Infinity', '-Infinity') THEN text END "
        "FROM runs JOIN run_values AS v ON run = runs.key WHERE id = ? ORDER BY v.key",
    ),
    "sources": (
        ["part", "offset", "last_ns", "last_step", "bad_lines"],
        "SELECT part, offset, last_ns, last_step, bad_lines FROM runs JOIN sources ON run = runs.key "
        "WHERE id = ? AND offset > 0 ORDER BY part",
    ),
    "series": (
        _SERIES,
        f"SELECT {', '.join(f's.{name}' for name in _SERIES)} FROM runs JOIN series AS s ON run = runs.key "
        "WHERE id = ? ORDER BY s.name, stage, part",
    ),
    "points": (
        ["name", "stage", "part", "ts_ns", "step", "value"],
        "SELECT s.name, stage, part, ts_ns, step, value FROM runs JOIN series AS s ON run = runs.key "
        "JOIN points ON series = s.key WHERE id = ? ORDER BY s.name, stage, part, ts_ns",
    ),
    "media": (
        _MEDIA,
        f"SELECT {', '.join(f'm.{name}' for name in _MEDIA)} FROM runs JOIN media AS m ON run = runs.key "
        "WHERE id = ? ORDER BY part, ts_ns",
    ),
    "artifact_uses": (
        ["type", "name", "version", "used_at"],
        "SELECT type, u.name, version, used_at FROM runs JOIN artifact_uses AS u ON run = runs.key WHERE id = ? "
        "ORDER BY type, u.name, version",
    ),
    "reels": (
        ["id", "number", "steps", "facts"],
        "SELECT r.id, number, steps, facts FROM runs JOIN reels AS r ON run = runs.key WHERE runs.id = ? ORDER BY r.id",
    ),
    "reel_agents": (
        ["reel", "agent", "name"],
        "SELECT r.id, agent, a.name FROM runs JOIN reels AS r ON run = runs.key JOIN reel_agents AS a ON reel = r.key "
        "WHERE runs.id = ? ORDER BY r.id, agent",
    ),
    "replay_episodes": (
        ["reel", *_PLAYED],
        f"SELECT r.id, {', '.join(f'e.{name}' for name in _PLAYED)} FROM runs JOIN reels AS r ON run = runs.key "
        "JOIN replay_episodes AS e ON reel = r.key WHERE runs.id = ? ORDER BY r.id, e.number",
    ),
    "replay_steps": (
        ["reel", "episode", *_STEP, "names"],
        f"SELECT r.id, e.number, {', '.join(f's.{name}' for name in _STEP)}, "
        "(SELECT names FROM info_shapes WHERE key = s.shape) FROM runs JOIN reels AS r ON run = runs.key "
        "JOIN replay_episodes AS e ON reel = r.key JOIN replay_steps AS s ON s.episode = e.key "
        "WHERE runs.id = ? ORDER BY r.id, e.number, agent, step",
    ),
}
_ARTIFACTS = {
    table.name: [column.name for column in table.columns] for table in (schema.artifacts, schema.artifact_versions)
}
_OF_FILES = ("num_references", "tags", "description")  # of a version; once it is purged, no file says these
_EPISODES = [column.name for column in schema.episode_folders.columns]
_SUMS = ("total_reward",)  # added up in the order in which steps came, which may differ in the last digits
_CLOSE = 1e-9


class Difference(NamedTuple):
    """Where two catalogues do not say the same.

    Attributes:
        where: The table, and the row as far as a person needs it.
        ours: What the one that is checked says.
        theirs: What the other says.
        is_rounding: They differ in the last digits of a sum alone.
        is_of_values: Both have the row, with other values.
    """

    where: str
    ours: str
    theirs: str
    is_rounding: bool = False
    is_of_values: bool = False


class Catalogue:
    """A catalogue as it is, also where it is damaged: texts that are no longer texts are given all the same.

    Every method raises `Damaged` where SQLite cannot read what is asked for.

    Args:
        database: The file; made and current.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._held = contextlib.ExitStack()
        self._connection = self._held.enter_context(database.connected())
        self._connection.text_factory = lambda data: data.decode(errors="surrogateescape")

    def close(self) -> None:
        """Give the file back."""
        self._held.close()

    def _rows(self, sql: str, *parameters: Any) -> Iterator[tuple[Any, ...]]:
        try:
            for row in self._connection.execute(sql, parameters):  # noqa: UP028  a cursor cannot outlive its connection
                yield row
        except (sqlite3.Error, OverflowError, UnicodeDecodeError) as error:
            meaning = self._database.explain(error)
            raise meaning if meaning is not None else self._database.damaged(str(error)) from error

    def flaws(self, *, full: bool) -> Iterator[str]:
        """Look at the file itself: what SQLite finds, and what it does not look at.

        Args:
            full: Look at every page; else only at what the file says of itself.
        """
        for (found,) in self._rows("PRAGMA application_id"):
            if found != schema.APPLICATION_ID:
                yield f"the application id {found:#x} instead of {schema.APPLICATION_ID:#x}"
        head = head_of(self._database.path, 20)
        if head[18:20] not in (b"\1\1", b"\2\2"):  # whether the file can be written and read
            yield f"the format {head[18:20]!r} in its head, which is neither that of a log nor that of a journal"
        if full:
            yield from (str(text) for (text,) in self._rows("PRAGMA integrity_check(10)") if text != "ok")
            for table, row, parent, _ in islice(self._rows("PRAGMA foreign_key_check"), 10):
                yield f"row {row} of {table}, which belongs to nothing in {parent}"

    def odd_values(self, *, full: bool) -> list[str]:
        """List the columns with values that Playhead does not put there, each in words."""
        return list(odd.values(self._rows, full=full))

    def added_indexes(self) -> list[str]:
        """Return the indexes that somebody added to the tables, each in words."""
        return made.added_indexes(list(self._rows(made.LISTED)))

    def made(self) -> dict[str, str]:
        """Give how tables, indexes and views were made."""
        sql = "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'"
        return {f"{row[0]} {row[1]}": f"{row[2]}: {' '.join(str(row[3]).split())}" for row in self._rows(sql)}

    def versions(self, type: str, name: str) -> list[dict[str, Any]]:
        """Give the rows of all versions of an artifact, also of purged ones."""
        columns = _ARTIFACTS[schema.artifact_versions.name]
        sql = f"SELECT {', '.join(columns)} FROM artifact_versions WHERE type = ? AND name = ? ORDER BY version"
        return [dict(zip(columns, row, strict=True)) for row in self._rows(sql, type, name)]

    def run_dirs(self) -> dict[str, str]:
        """Give the ids of all runs with the folder of each."""
        return dict(self._rows("SELECT id, run_dir FROM runs ORDER BY id"))

    def episodes(self) -> set[tuple[str, int]]:
        """Give dataset and number of all episodes."""
        return {(name, number) for name, number in self._rows("SELECT dataset, number FROM episode_folders")}

    def uid_of_episode(self, dataset: str, number: int) -> str | None:
        """Return the uid that is known of an episode folder; None if the folder is not known."""
        rows = self._rows("SELECT uid FROM episode_folders WHERE dataset = ? AND number = ?", dataset, number)
        return next((uid for (uid,) in rows), None)

    def reels(self) -> set[str]:
        """Give the ids of all reels."""
        return {reel_id for (reel_id,) in self._rows("SELECT id FROM reels")}

    def steps_of_reel(self, reel_id: str) -> int:
        """Give how many steps of a reel are indexed."""
        return sum(steps for (steps,) in self._rows("SELECT steps FROM reels WHERE id = ?", reel_id))

    def has_run(self, run_id: str) -> bool:
        """Tell whether there is a row of a run."""
        return any(True for _ in self._rows("SELECT 1 FROM runs WHERE id = ?", run_id))

    def run(self, run_id: str) -> dict[str, Any] | None:
        """Give the row of a run; None where there is none."""
        return next((dict(zip(_RUN, row, strict=True)) for row in self._rows(_OF_A_RUN["runs"][1], run_id)), None)

    def indexed(self, run_id: str) -> dict[int, int]:
        """Give how many bytes of each event file of a run are indexed."""
        sql = "SELECT part, offset FROM runs JOIN sources ON run = runs.key WHERE id = ?"
        return dict(self._rows(sql, run_id))

    def bad_lines(self, run_id: str) -> dict[int, int]:
        """Give how many lines of each event file of a run are no events; of files without such lines nothing."""
        sql = "SELECT part, bad_lines FROM runs JOIN sources ON run = runs.key WHERE id = ? AND bad_lines > 0"
        return dict(self._rows(sql, run_id))

    def uses(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Walk over the versions of artifacts that runs used, in order: the id of each run, and what its file says."""
        columns = ("name", "type", "version", "used_at", "size_bytes", "num_files")
        sql = (
            "SELECT r.id, u.name, u.type, u.version, used_at, size_bytes, num_files FROM runs AS r "
            "JOIN artifact_uses AS u ON u.run = r.key LEFT JOIN artifact_versions AS v "
            "ON v.type = u.type AND v.name = u.name AND v.version = u.version ORDER BY used_at"
        )
        return ((run_id, dict(zip(columns, row, strict=True))) for run_id, *row in self._rows(sql))

    def makers(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Walk over the versions of artifacts that runs made, in order: the id of each run, and what its file says."""
        columns = ("name", "type", "version", "created_at", "size_bytes", "num_files", "num_references")
        sql = (
            f"SELECT created_by_run, {', '.join(columns)} FROM artifact_versions "
            "WHERE created_by_run IS NOT NULL ORDER BY created_at"
        )
        return ((run_id, dict(zip(columns, row, strict=True))) for run_id, *row in self._rows(sql))

    def media_of(self, run_id: str) -> list[str]:
        """Give the paths of the media of a run."""
        sql = "SELECT path FROM runs JOIN media ON run = runs.key WHERE id = ?"
        return [path for (path,) in self._rows(sql, run_id)]

    def differences_in_run(self, other: Catalogue, run_id: str) -> Iterator[Difference]:
        """Compare all rows of a run; of each table, the first that differs is told of."""
        for table, (columns, sql) in _OF_A_RUN.items():
            pairs = zip_longest(self._rows(sql, run_id), other._rows(sql, run_id))
            found = (pair for pair in pairs if pair[0] != pair[1])
            yield from islice((_difference(table, columns, *pair) for pair in found), 1)

    def differences_in_episode(self, other: Catalogue, dataset: str, number: int) -> Iterator[Difference]:
        """Compare the row of an episode folder; that there is none is not told of."""
        sql = f"SELECT {', '.join(_EPISODES)} FROM episode_folders WHERE dataset = ? AND number = ?"
        mine, theirs = (list(side._rows(sql, dataset, number)) for side in (self, other))
        if mine and mine != theirs:
            yield _difference("episode_folders", _EPISODES, mine[0], theirs[0] if theirs else None)

    def differences_in_artifact(self, other: Catalogue, type: str, name: str) -> Iterator[Difference]:
        """Compare the rows of an artifact, if they are of the files that are there now; others mend themselves."""
        stamp = "SELECT stamp FROM artifacts WHERE type = ? AND name = ?"
        if list(self._rows(stamp, type, name)) != list(other._rows(stamp, type, name)):
            return
        for table, columns in _ARTIFACTS.items():
            told = [f"CASE WHEN status <> 'deleted' THEN {name} END" if name in _OF_FILES else name for name in columns]
            sql = f"SELECT {', '.join(told)} FROM {table} WHERE type = ? AND name = ? ORDER BY 1, 2, 3"
            pairs = zip_longest(self._rows(sql, type, name), other._rows(sql, type, name))
            found = (pair for pair in pairs if pair[0] != pair[1])
            yield from islice((_difference(table, columns, *pair) for pair in found), 1)


def _difference(
    table: str, columns: list[str], one: tuple[Any, ...] | None, other: tuple[Any, ...] | None
) -> Difference:
    if one is None or other is None:
        row = dict(zip(columns, one or other or (), strict=True))
        return Difference(f"{table} {_cut(row)}", *(("a row", "none") if other is None else ("no row", "one")))
    differing = [place for place, name in enumerate(columns) if one[place] != other[place]]
    names = [columns[place] for place in differing]
    ours, theirs = ({columns[place]: side[place] for place in differing} for side in (one, other))
    same = [f"{name}={one[place]!r}" for place, name in enumerate(columns[:4]) if place not in differing]
    where = f"{table} {', '.join(names)}" + (f" ({_cut(', '.join(same))})" if same else "")
    is_rounding = all(name in _SUMS and _are_close(ours[name], theirs[name]) for name in names)
    return Difference(where, _cut(ours), _cut(theirs), is_rounding, is_of_values=True)


def _are_close(one: Any, other: Any) -> bool:
    both = isinstance(one, float) and isinstance(other, float)
    return both and abs(one - other) <= _CLOSE * max(1.0, abs(other))


def _cut(value: Any) -> str:
    text = value if isinstance(value, str) else ", ".join(f"{name}={part!r}" for name, part in value.items())
    return text if len(text) <= 200 else f"{text[:200]}…"
