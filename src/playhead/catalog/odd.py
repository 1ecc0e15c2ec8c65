"""Values in the catalogue that Playhead does not put there: of another type, or a text that is not the JSON it must be.

SQLite holds any value in any column. Readers refuse a row that they cannot use; this finds where such values are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any

from sqlalchemy import Boolean, Column, Integer, Table, Text
from sqlalchemy.types import BLOB, REAL

from playhead.catalog import schema
from playhead.wording import counted

LARGE = ("points", "replay_steps", "known_files", "known_folders")  # that a quick look leaves out
_JSON = {
    "array": {"runs.tags", "info_shapes.names", "artifact_versions.aliases", "artifact_versions.tags"},
    "object": {
        *("runs.config", "episode_folders.signals", "episode_folders.static", "reels.facts", "replay_episodes.facts"),
    },
}
_ANYTHING = {"replay_steps.action"}
# Sums of them must not overflow: so large is no number of bytes, steps or points.
_COUNTS = {
    *("runs.metric_count", "runs.key", "series.key", "series.part", "series.points", "media.part", "reels.key"),
    *("reels.number", "reels.steps", "reel_agents.agent", "replay_episodes.key", "replay_episodes.number"),
    *("replay_episodes.first", "replay_episodes.steps", "info_shapes.key", "replay_steps.agent", "replay_steps.place"),
    *("sources.part", "sources.offset", "sources.bad_lines", "episode_folders.number", "artifact_versions.version"),
    *("artifact_versions.size_bytes", "artifact_versions.num_files", "artifact_versions.num_references"),
    *("artifact_uses.version", "artifacts.latest", "known_files.size", "known_folders.version"),
}
_MOST = 1 << 53
# After the last moment that can be counted no stamp can follow; this is months before it, in the year 2261.
_STAMPS = {
    *("series.last_ns", "points.ts_ns", "media.ts_ns", "sources.last_ns"),
    *("replay_episodes.began_ns", "replay_episodes.ended_ns"),
}
_LAST_STAMP = 9_200_000_000_000_000_000


Ask = Callable[[str], Iterable[Sequence[Any]]]  # runs a query


def values(ask: Ask, *, full: bool = True) -> Iterator[str]:
    """Yield what is odd, each in words: the column, and how many rows.

    Args:
        ask: Runs a query in the catalogue.
        full: Look also at the tables that may have millions of rows.
    """
    for table in schema.metadata.tables.values():
        if not full and table.name in LARGE:
            continue
        names = [column.name for column in table.columns]
        (found,) = ask(_query(table.name))
        for name, count in zip(names, found, strict=True):
            if count:
                yield f"{counted(int(count), 'row')} of {table.name} with an odd {name}"


def orphans(ask: Ask) -> Iterator[str]:
    """Yield in words which rows belong to no row of the table that they name."""
    for table, _, parent, _ in ask("PRAGMA foreign_key_check"):
        yield f"a row of {table} that belongs to nothing in {parent}"


@cache
def _query(name: str) -> str:
    table = schema.metadata.tables[name]
    return f'SELECT {", ".join(f"total({_is_odd(table, column)})" for column in table.columns)} FROM "{name}"'


def _is_odd(table: Table, column: Column[object]) -> str:
    name, place = f'"{column.name}"', f"{table.name}.{column.name}"
    if place in _ANYTHING:
        return "0"
    odd = [f"typeof({name}) NOT IN ({_types(column)})"]
    if isinstance(column.type, Boolean):
        odd.append(f"{name} NOT IN (0, 1)")
    if place in _COUNTS:
        odd.append(f"{name} NOT BETWEEN 0 AND {_MOST}")
    if place in _STAMPS:
        odd.append(f"{name} NOT BETWEEN -{_LAST_STAMP} AND {_LAST_STAMP}")
    if place == "replay_steps.info":  # a list of values, or before their names were kept apart an object
        odd.append(f"({name} IS NOT NULL AND NOT json_valid({name}))")
    for kind, places in _JSON.items():
        if place in places:
            odd.append(f"CASE WHEN json_valid({name}) THEN json_type({name}) IS NOT '{kind}' ELSE 1 END")
    return f"ifnull({' OR '.join(odd)}, 0)"


def _types(column: Column[object]) -> str:
    kinds = {Boolean: "'integer'", Integer: "'integer'", Text: "'text'", REAL: "'real'", BLOB: "'blob'"}
    kind = next(word for type_, word in kinds.items() if isinstance(column.type, type_))
    return f"{kind}, 'null'" if column.nullable else kind
