"""Runs in the catalogue: putting in what the folder of a run says, and looking one up."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Select,
    bindparam,
    case,
    delete,
    func,
    insert,
    literal_column,
    select,
    update,
)

from playhead import strictjson
from playhead.catalog.database import driver_rows
from playhead.catalog.schema import media, run_tags, run_values, runs, series, sources
from playhead.catalog.typed_rows import row_of, rows_of


class RunRow(NamedTuple):
    """What is loaded of a row of `runs`. A bare tuple of what a list shows, since lists have tens of thousands."""

    key: int
    id: str
    project: str
    name: str
    created_at: float
    status: str
    ended_at: float | None
    exit_reason: str | None
    best_metric_name: str | None
    best_metric_value: float | None
    best_metric_step: int | None
    deleted_at: float | None
    run_dir: str
    duration_seconds: float | None
    metric_count: int
    notes: str
    tags: str
    config: str


# How long a run took. Of one that is not known to have ended, up to its last sign of life. The catalogue knows the
# newest line of its event files that is indexed, and the begin or end of the newest episode of a reel; `last_sign`
# looks at what else the recorder left, such as the newest episodes of datasets (see `Database.last_sign`).
_INDEXED_NS = """max(
    coalesce((SELECT max(last_ns) FROM sources WHERE sources.run = runs.key), 0),
    coalesce((
        SELECT max(coalesce(e.ended_ns, e.began_ns)) FROM reels JOIN replay_episodes AS e ON e.reel = reels.key
        WHERE reels.run = runs.key AND e.number = (SELECT max(number) FROM replay_episodes WHERE reel = reels.key)
    ), 0))"""
_EPISODES = """(
    SELECT json_group_array(json_array(folder, created_ns, duration_ns)) FROM (
        SELECT folder, created_ns, duration_ns FROM episode_folders WHERE run_id = runs.id
        ORDER BY created_ns DESC LIMIT 8))"""
LAST_SIGN_NS = f"last_sign(runs.id, runs.run_dir, {_INDEXED_NS}, {_EPISODES})"
DURATION: ColumnElement[float] = func.coalesce(
    runs.c.duration_seconds,
    case((runs.c.status == "running", literal_column(f"max(0.0, {LAST_SIGN_NS} / 1e9 - runs.created_at)"))),
).label("duration_seconds")

ROW = select(*(DURATION if name == "duration_seconds" else runs.c[name] for name in RunRow._fields))


@dataclass(frozen=True, slots=True)
class RunFacts:
    """All that the JSON files of a run's folder say, as the catalogue holds it. One field a column.

    Attributes:
        values: Config and summary, flat.
        unknown: The columns of which the files say nothing, since they are damaged there; what is known of them stays.
    """

    id: str
    project: str
    name: str
    created_at: float
    updated_at: float
    status: str
    run_dir: str
    started_at: float | None = None
    ended_at: float | None = None
    exit_reason: str | None = None
    pid: int | None = None
    python_version: str | None = None
    platform: str | None = None
    hostname: str | None = None
    best_metric_name: str | None = None
    best_metric_mode: str | None = None
    deleted_at: float | None = None
    delete_reason: str | None = None
    duration_seconds: float | None = None
    notes: str = ""
    tags: Sequence[str] = ()
    config: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    unknown: frozenset[str] = frozenset()

    def columns(self) -> dict[str, Any]:
        """Give the row of `runs`."""
        row = {name: getattr(self, name) for name in FACT_COLUMNS}
        return row | {name: strictjson.encode(row[name]).decode() for name in ("tags", "config")}


FACT_COLUMNS = tuple(column.name for column in fields(RunFacts) if column.name not in ("values", "unknown"))


# Built once: SQLAlchemy's cost lies in building statements, hardly in running them.
_BY_KEY = ROW.where(runs.c.key == bindparam("run_key"))
_BY_ID = ROW.where(runs.c.id == bindparam("run_id"))
_INSERT = insert(runs)
_UPDATE = update(runs).where(runs.c.key == bindparam("run_key"))
_DROP_TAGS = delete(run_tags).where(run_tags.c.run == bindparam("run_key"))
_DROP_VALUES = delete(run_values).where(run_values.c.run == bindparam("run_key"))
_INSERT_TAGS = insert(run_tags)
_INSERT_VALUES = insert(run_values)


def put(connection: Connection, facts: RunFacts, *, values: bool = True) -> RunRow:
    """Add a run, or bring its row up to date.

    Args:
        connection: Within a transaction.
        facts: What the run's files say.
        values: False where only the row itself can have changed, not tags, config or summary.

    Returns:
        The row.
    """
    row = facts.columns()
    if facts.best_metric_name is None:
        row |= {"best_metric_value": None, "best_metric_step": None}
    known = find(connection, facts.id)
    if known is not None and facts.unknown:
        row, values = without_unknown(row, facts.unknown), values and not facts.unknown & _IN_VALUES
    if known is None:
        key = int(connection.execute(_INSERT, row).lastrowid)
    else:
        key = known.key
        connection.execute(_UPDATE, row | {"run_key": key})
    if values or known is None:
        _put_values(connection, key, facts)
    if facts.best_metric_name is not None or (known is not None and "best_metric_name" in facts.unknown):
        settle_best(connection, key)
    elif known is not None and not facts.unknown:
        return known._replace(**{name: row[name] for name in RunRow._fields if name in row})
    return by_key(connection, key)


_IN_VALUES = {"tags", "config", "best_metric_name"}
_WITH_OTHERS = {
    "best_metric_name": {"best_metric_value", "best_metric_step"},
    "started_at": {"duration_seconds"},
    "ended_at": {"duration_seconds"},
    "created_at": {"updated_at", "duration_seconds"},
}


def without_unknown(row: dict[str, Any], unknown: frozenset[str]) -> dict[str, Any]:
    """Leave the columns out of which the files say nothing, and those that are computed from them."""
    left = unknown.union(*(_WITH_OTHERS.get(name, ()) for name in unknown))
    return {name: value for name, value in row.items() if name not in left}


def _put_values(connection: Connection, key: int, facts: RunFacts) -> None:
    connection.execute(_DROP_TAGS, {"run_key": key})
    connection.execute(_DROP_VALUES, {"run_key": key})
    if facts.tags:
        connection.execute(_INSERT_TAGS, [{"run": key, "tag": tag} for tag in dict.fromkeys(facts.tags)])
    if facts.values:
        connection.execute(_INSERT_VALUES, [_typed(key, name, value) for name, value in facts.values.items()])


def typed(values: Mapping[str, Any]) -> dict[str, tuple[float | None, str | None]]:
    """Return config and summary as the catalogue holds them: each a number or a text."""
    rows = (_typed(0, name, value) for name, value in values.items())
    return {row["key"]: (row["number"], row["text"]) for row in rows}


def _typed(run: int, key: str, value: Any) -> dict[str, Any]:
    text = value if isinstance(value, str) else None
    number = None
    if isinstance(value, (bool, int, float)):
        try:
            number = None if math.isnan(value) else float(value)
        except OverflowError:  # an integer of hundreds of digits
            text = str(value)
    return {"run": run, "key": key, "number": number, "text": text}


_PRIMARY = select(runs.c.best_metric_name, runs.c.best_metric_mode).where(runs.c.key == bindparam("run_key"))
_SET_BEST = update(runs).where(runs.c.key == bindparam("run_key"))


def _best(value: Column[Any], step: Column[Any], order: ColumnElement[Any]) -> Select[Any]:
    metric = (series.c.run == bindparam("run_key"), series.c.name == bindparam("metric_name"))
    return select(value, step).where(*metric, value.is_not(None)).order_by(order, step).limit(1)


_BEST = {
    "max": _best(series.c.max_value, series.c.max_step, series.c.max_value.desc()),
    "min": _best(series.c.min_value, series.c.min_step, series.c.min_value),
}


def settle_best(connection: Connection, run: int) -> None:
    """Set the best value of a run's primary metric from its series: NaN never wins, the first of equals does."""
    name, mode = connection.execute(_PRIMARY, {"run_key": run}).one()
    if name is None or mode not in _BEST:  # of a summary that says only one of them
        return
    best = connection.execute(_BEST[mode], {"run_key": run, "metric_name": name}).first() or (None, None)
    values = {"best_metric_value": best[0], "best_metric_step": best[1]}
    connection.execute(_SET_BEST, {"run_key": run, **values})


def remove(connection: Connection, run_id: str) -> None:
    """Remove a run and all that hangs on it."""
    connection.execute(delete(runs).where(runs.c.id == run_id))


def find(connection: Connection, run_id: str) -> RunRow | None:
    """Give the row of a run, or None."""
    row = connection.execute(_BY_ID, {"run_id": run_id}).first()
    return None if row is None else row_of(RunRow, row)


def by_key(connection: Connection, key: int) -> RunRow:
    """Give the row of a run by its integer key."""
    return row_of(RunRow, connection.execute(_BY_KEY, {"run_key": key}).one())


def running(connection: Connection) -> list[tuple[str, str]]:
    """List id and folder of the runs that are said to be running."""
    return [
        (row[0], row[1]) for row in driver_rows(connection, "SELECT id, run_dir FROM runs WHERE status = 'running'")
    ]


def ids_like(connection: Connection, prefix: str, limit: int = 10) -> list[str]:
    """List ids that begin with a text, newest first."""
    condition = func.substr(runs.c.id, 1, len(prefix)) == prefix
    newest = select(runs.c.id).where(condition).order_by(runs.c.created_at.desc()).limit(limit)
    return list(connection.execute(newest).scalars())


class SeriesRow(NamedTuple):
    """What the catalogue says of one metric of one part of a run in one stage."""

    key: int
    name: str
    stage: str
    part: int
    points: int
    last_ns: int | None
    last_step: int | None
    last_value: float | None
    min_value: float | None
    min_step: int | None
    max_value: float | None
    max_step: int | None


class MediaRow(NamedTuple):
    """What the catalogue says of one image."""

    part: int
    ts_ns: int
    step: int | None
    kind: str
    key: str
    path: str
    caption: str | None


_SERIES = select(*(series.c[name] for name in SeriesRow._fields)).order_by(series.c.name, series.c.stage)
_MEDIA = select(*(media.c[name] for name in MediaRow._fields)).order_by(media.c.ts_ns)


def metrics_of(connection: Connection, run: int) -> list[SeriesRow]:
    """List the series of a run: name, stage, count, last, smallest and largest value."""
    return rows_of(SeriesRow, connection.execute(_SERIES.where(series.c.run == run)))


def media_of(connection: Connection, run: int) -> list[MediaRow]:
    """List the media of a run in the order they were logged."""
    return rows_of(MediaRow, connection.execute(_MEDIA.where(media.c.run == run)))


def counts(connection: Connection) -> dict[str, int]:
    """Count what the catalogue holds."""
    totals = connection.execute(
        select(func.count(), func.count(runs.c.deleted_at), func.coalesce(func.sum(runs.c.metric_count), 0))
    ).one()
    bad = connection.execute(select(func.coalesce(func.sum(sources.c.bad_lines), 0))).scalar_one()
    return {"runs": totals[0] - totals[1], "deleted_runs": totals[1], "points": totals[2], "unreadable_lines": bad}
