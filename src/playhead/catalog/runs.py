"""Runs in the catalogue: putting in what the folder of a run says, and asking for runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from sqlalchemy import Connection, Row, Select, bindparam, delete, func, insert, select, update

from playhead.catalog import fields as field_names
from playhead.catalog import where as where_language
from playhead.catalog.schema import media, run_tags, run_values, runs, series, sources
from playhead.errors import NotFound


@dataclass(frozen=True, slots=True)
class RunFacts:
    """All that the JSON files of a run's folder say, as the catalogue holds it. One field a column."""

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
    values: Mapping[str, Any] = field(default_factory=dict)

    def columns(self) -> dict[str, Any]:
        """Give the row of `runs`."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("tags", "values")}


# Built once: SQLAlchemy's cost lies in building statements, hardly in running them.
_BY_KEY = select(runs).where(runs.c.key == bindparam("run_key"))
_BY_ID = select(runs).where(runs.c.id == bindparam("run_id"))
_INSERT = insert(runs)
_UPDATE = update(runs).where(runs.c.key == bindparam("run_key"))
_DROP_TAGS = delete(run_tags).where(run_tags.c.run == bindparam("run_key"))
_DROP_VALUES = delete(run_values).where(run_values.c.run == bindparam("run_key"))
_INSERT_TAGS = insert(run_tags)
_INSERT_VALUES = insert(run_values)


def put(connection: Connection, facts: RunFacts) -> Row[Any]:
    """Add a run, or bring its row up to date.

    Returns:
        The row.
    """
    row = facts.columns()
    if facts.best_metric_name is None:
        row |= {"best_metric_value": None, "best_metric_step": None}
    known = find(connection, facts.id)
    if known is None:
        connection.execute(_INSERT, row)
        known = connection.execute(_BY_ID, {"run_id": facts.id}).one()
    else:
        connection.execute(_UPDATE, row | {"run_key": known.key})
        connection.execute(_DROP_TAGS, {"run_key": known.key})
        connection.execute(_DROP_VALUES, {"run_key": known.key})
    if facts.tags:
        connection.execute(_INSERT_TAGS, [{"run": known.key, "tag": tag} for tag in dict.fromkeys(facts.tags)])
    if facts.values:
        connection.execute(_INSERT_VALUES, [_typed(known.key, name, value) for name, value in facts.values.items()])
    if facts.best_metric_name is not None:
        settle_best(connection, known.key)
    return by_key(connection, known.key)


def _typed(run: int, key: str, value: Any) -> dict[str, Any]:
    number = float(value) if isinstance(value, (bool, int, float)) else None
    return {"run": run, "key": key, "number": number, "text": value if isinstance(value, str) else None}


def settle_best(connection: Connection, run: int) -> None:
    """Set the best value of a run's primary metric from its series: NaN never wins, the first of equals does."""
    primary = connection.execute(
        select(runs.c.best_metric_name, runs.c.best_metric_mode).where(runs.c.key == run)
    ).one()
    best = None
    if primary.best_metric_name is not None:
        largest = primary.best_metric_mode == "max"
        value, step = (series.c.max_value, series.c.max_step) if largest else (series.c.min_value, series.c.min_step)
        best = connection.execute(
            select(value, step)
            .where(series.c.run == run, series.c.name == primary.best_metric_name, value.is_not(None))
            .order_by(value.desc() if largest else value, step)
            .limit(1)
        ).first()
    connection.execute(
        update(runs)
        .where(runs.c.key == run)
        .values(best_metric_value=best[0] if best else None, best_metric_step=best[1] if best else None)
    )


def remove(connection: Connection, run_id: str) -> None:
    """Remove a run and all that hangs on it."""
    connection.execute(delete(runs).where(runs.c.id == run_id))


def find(connection: Connection, run_id: str) -> Row[Any] | None:
    """Give the row of a run, or None."""
    return connection.execute(_BY_ID, {"run_id": run_id}).first()


def by_key(connection: Connection, key: int) -> Row[Any]:
    """Give the row of a run by its integer key."""
    return connection.execute(_BY_KEY, {"run_key": key}).one()


def running(connection: Connection) -> list[tuple[str, str]]:
    """List id and folder of the runs that are said to be running."""
    return [(row.id, row.run_dir) for row in connection.execute(select(runs).where(runs.c.status == "running"))]


def ids_like(connection: Connection, prefix: str, limit: int = 10) -> list[str]:
    """List ids that begin with a text, newest first."""
    condition = func.substr(runs.c.id, 1, len(prefix)) == prefix
    newest = select(runs.c.id).where(condition).order_by(runs.c.created_at.desc()).limit(limit)
    return list(connection.execute(newest).scalars())


def tags_of(connection: Connection, keys: Sequence[int]) -> dict[int, list[str]]:
    """Give the tags of many runs at once."""
    found: dict[int, list[str]] = {}
    for start in range(0, len(keys), 500):
        chosen = select(run_tags).where(run_tags.c.run.in_(keys[start : start + 500])).order_by(run_tags.c.tag)
        for run, tag in connection.execute(chosen):
            found.setdefault(run, []).append(tag)
    return found


def metrics_of(connection: Connection, run: int) -> list[Row[Any]]:
    """List the series of a run: name, stage, count, last, smallest and largest value."""
    return list(connection.execute(select(series).where(series.c.run == run).order_by(series.c.name, series.c.stage)))


def media_of(connection: Connection, run: int) -> list[Row[Any]]:
    """List the media of a run in the order they were logged."""
    return list(connection.execute(select(media).where(media.c.run == run).order_by(media.c.ts_ns)))


def counts(connection: Connection) -> dict[str, int]:
    """Count what the catalogue holds."""
    totals = connection.execute(
        select(func.count(), func.count(runs.c.deleted_at), func.coalesce(func.sum(runs.c.metric_count), 0))
    ).one()
    bad = connection.execute(select(func.coalesce(func.sum(sources.c.bad_lines), 0))).scalar_one()
    return {"runs": totals[0] - totals[1], "deleted_runs": totals[1], "points": totals[2], "unreadable_lines": bad}


@dataclass(frozen=True, slots=True)
class RunQuery:
    """Which runs, in which order. Immutable: each narrowing gives a new one."""

    project: str | None = None
    status: str | None = None
    tags: tuple[str, ...] = ()
    where: str | None = None
    order: str = "created_at"
    limit: int | None = None
    deleted: bool | None = False

    def narrowed(self, **changes: Any) -> RunQuery:
        """Give the query with further conditions."""
        if changes.get("where") and self.where:
            changes["where"] = f"({self.where}) and ({changes['where']})"
        changes["tags"] = (*self.tags, *changes.get("tags", ()))
        return replace(self, **{key: value for key, value in changes.items() if value is not None})

    def _conditions(self) -> list[Any]:
        conditions: list[Any] = []
        if self.deleted is not None:
            conditions.append(runs.c.deleted_at.is_not(None) if self.deleted else runs.c.deleted_at.is_(None))
        if self.project is not None:
            conditions.append(runs.c.project == self.project)
        if self.status is not None:
            conditions.append(runs.c.status == self.status)
        conditions += [runs.c.key.in_(select(run_tags.c.run).where(run_tags.c.tag == tag)) for tag in self.tags]
        if self.where:
            conditions.append(where_language.parse(self.where, field_names.resolve))
        return conditions

    def _selected(self, offset: int, limit: int | None, *, backwards: bool) -> Select[Any]:
        statement = select(runs).where(*self._conditions())
        falling = self.order.startswith("-") or self.order.lower().endswith(" desc")
        order = self.order
        if backwards:
            name = order.strip().removeprefix("-").split()[0]
            order = name if falling else f"-{name}"
        return statement.order_by(*field_names.order_by(order)).limit(limit if limit is not None else -1).offset(offset)

    def count(self, connection: Connection) -> int:
        """Count the runs that fit."""
        total = connection.execute(select(func.count()).select_from(runs).where(*self._conditions())).scalar_one()
        return total if self.limit is None else min(total, self.limit)

    def rows(self, connection: Connection, offset: int = 0, limit: int | None = None) -> Sequence[Row[Any]]:
        """Give the rows from `offset` on."""
        if self.limit is not None:
            room = max(0, self.limit - offset)
            limit = room if limit is None else min(limit, room)
        return connection.execute(self._selected(offset, limit, backwards=False)).all()

    def rows_from_end(self, connection: Connection, offset: int) -> Sequence[Row[Any]]:
        """Give the row `offset` places before the last, without counting all."""
        return connection.execute(self._selected(offset, 1, backwards=True)).all()

    def check(self) -> None:
        """Raise what is wrong with the condition or the order, before anything is asked."""
        self._selected(0, 1, backwards=False)

    def has(self, connection: Connection, run_id: str) -> bool:
        """Tell whether a run with this id fits."""
        chosen = select(runs.c.key).where(runs.c.id == run_id, *self._conditions())
        return connection.execute(chosen).first() is not None

    def row_of(self, connection: Connection, run_id: str) -> Row[Any]:
        """Give the row with an id, if it fits.

        Raises:
            NotFound: No such run fits; the message lists ids.
        """
        row = connection.execute(select(runs).where(runs.c.id == run_id, *self._conditions())).first()
        if row is None:
            newest = select(runs.c.id).where(*self._conditions()).order_by(runs.c.created_at.desc()).limit(11)
            raise NotFound.among("run", run_id, connection.execute(newest).scalars())
        return row
