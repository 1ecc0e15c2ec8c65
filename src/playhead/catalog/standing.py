"""How far a catalogue is: what it says of every run, to be compared with what the files say.

A catalogue that was copied while it was written may mix pages of different moments. SQLite sees that where the pages do
not fit each other. Where they do, the numbers that are kept of rows do not agree with the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection

from playhead.catalog.database import driver_rows
from playhead.catalog.runs import FACT_COLUMNS
from playhead.catalog.typed_rows import numbers_in, text_in

Value = tuple[float | None, str | None]
Use = tuple[str, str, int]


@dataclass(slots=True)
class Standing:
    """What a catalogue says of a run.

    Attributes:
        key: The integer key.
        row: What the JSON files said, by column.
        tags: The tags.
        values: Config and summary, each as a number or a text.
        offsets: How many bytes of each event file are indexed.
        media: How many images are indexed.
        uses: The versions of artifacts that it used.
        reels: The reels.
    """

    key: int
    row: dict[str, Any]
    tags: set[str] = field(default_factory=set)
    values: dict[str, Value] = field(default_factory=dict)
    offsets: dict[int, int] = field(default_factory=dict)
    media: int = 0
    uses: set[Use] = field(default_factory=set)
    reels: set[str] = field(default_factory=set)


def of_runs(connection: Connection) -> dict[str, Standing]:
    """Return what the catalogue says of every run, by id."""
    by_key: dict[int, Standing] = {}
    names = ", ".join(FACT_COLUMNS)
    for key, *values in driver_rows(connection, f"SELECT key, {names} FROM runs"):
        by_key[key] = Standing(key, dict(zip(FACT_COLUMNS, values, strict=True)))
    for run, tag in driver_rows(connection, "SELECT run, tag FROM run_tags"):
        by_key[run].tags.add(tag)
    for run, name, number, text in driver_rows(connection, "SELECT run, key, number, text FROM run_values"):
        by_key[run].values[name] = number, text
    for run, part, offset in numbers_in(
        driver_rows(connection, "SELECT run, part, offset FROM sources WHERE offset > 0")
    ):
        by_key[run].offsets[part] = offset
    for run, count in driver_rows(connection, "SELECT run, count(*) FROM media GROUP BY run"):
        by_key[run].media = count
    for run, *use in driver_rows(connection, "SELECT run, type, name, version FROM artifact_uses"):
        by_key[run].uses.add((use[0], use[1], use[2]))
    for run, reel in driver_rows(connection, "SELECT run, id FROM reels"):
        by_key[run].reels.add(reel)
    return {text_in(standing.row["id"]): standing for standing in by_key.values()}


def is_sound(connection: Connection) -> bool:
    """Return whether SQLite finds that pages and indexes fit each other, and that no row belongs to nothing."""
    (found,) = driver_rows(connection, "PRAGMA integrity_check(1)")[0]
    return str(found) == "ok" and not driver_rows(connection, "PRAGMA foreign_key_check")


# Each gives the keys of runs of which a number that is kept does not agree with the rows that it is of.
_AT_ODDS = (
    """SELECT run FROM series LEFT JOIN
       (SELECT series, count(*) AS held, max(ts_ns) AS last FROM points GROUP BY series) AS p ON p.series = series.key
       WHERE series.points <> ifnull(held, 0) OR (held > 0 AND series.last_ns IS NOT last)""",
    """SELECT runs.key FROM runs LEFT JOIN (SELECT run, sum(points) AS held FROM series GROUP BY run) AS s
       ON s.run = runs.key WHERE metric_count <> ifnull(held, 0)""",
    """SELECT sources.run FROM sources LEFT JOIN
       (SELECT run, part, max(last_ns) AS last FROM
           (SELECT run, part, last_ns FROM series UNION ALL SELECT run, part, ts_ns FROM media) GROUP BY run, part) AS e
       ON e.run = sources.run AND e.part = sources.part WHERE sources.last_ns > ifnull(last, 0)""",
    """SELECT reels.run FROM replay_episodes AS e JOIN reels ON reels.key = e.reel LEFT JOIN
       (SELECT episode, count(*) AS held FROM replay_steps GROUP BY episode) AS s ON s.episode = e.key
       WHERE e.steps <> ifnull(held, 0)""",
    """SELECT reels.run FROM reels LEFT JOIN
       (SELECT reel, sum(steps) AS held FROM replay_episodes GROUP BY reel) AS e ON e.reel = reels.key
       WHERE reels.steps <> ifnull(held, 0)""",
    """SELECT key FROM runs WHERE best_metric_name IS NOT NULL AND best_metric_value IS NOT
       (SELECT CASE best_metric_mode WHEN 'max' THEN max(max_value) ELSE min(min_value) END FROM series
        WHERE series.run = runs.key AND series.name = best_metric_name)""",
)


def at_odds(connection: Connection) -> set[int]:
    """Return the keys of the runs whose rows do not agree with each other; to be on the safe side, some too many."""
    return set(_keys(connection))


def _keys(connection: Connection) -> Iterator[int]:
    for query in _AT_ODDS:
        yield from (key for (key,) in driver_rows(connection, query))
