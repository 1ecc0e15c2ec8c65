"""Metric points in the catalogue: the hot insert, and reading one metric of one run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, func, insert, select, update
from sqlalchemy.dialects.sqlite import insert as upsert

from playhead.catalog.database import driver_rows
from playhead.catalog.schema import media, points, runs, series, sources
from playhead.catalog.typed_rows import row_of

# Rows a statement. One statement of many rows lets go of the interpreter lock once, `executemany` once a row: beside a
# busy training loop that is the difference between keeping up and falling behind.
_ROWS = 500
_INSERT = "INSERT INTO points (series, ts_ns, step, value) VALUES "
_INSERT_MANY = _INSERT + ",".join(["(?,?,?,?)"] * _ROWS)


@dataclass(slots=True)
class SeriesBatch:
    """New points of one metric in one stage, in order of time. NaN is None, as SQLite holds it."""

    name: str
    stage: str
    stamps: list[int]
    steps: list[int]
    values: list[float | None]


@dataclass(slots=True)
class SeriesState:
    """What the catalogue knows of a series: its key and the figures that a list of runs shows."""

    key: int
    points: int = 0
    last_ns: int | None = None
    last_step: int | None = None
    last_value: float | None = None
    min_value: float | None = None
    min_step: int | None = None
    max_value: float | None = None
    max_step: int | None = None

    def extend(self, batch: SeriesBatch) -> None:
        """Take in new points."""
        self.points += len(batch.values)
        self.last_ns, self.last_step, self.last_value = batch.stamps[-1], batch.steps[-1], batch.values[-1]
        numbers = [value for value in batch.values if value is not None]
        if not numbers:
            return
        smallest, largest = min(numbers), max(numbers)
        if self.min_value is None or smallest < self.min_value:
            self.min_value, self.min_step = smallest, batch.steps[batch.values.index(smallest)]
        if self.max_value is None or largest > self.max_value:
            self.max_value, self.max_step = largest, batch.steps[batch.values.index(largest)]


class Position(NamedTuple):
    """How far an event file is indexed."""

    offset: int
    last_ns: int
    last_step: int


_POSITION = select(sources.c.offset, sources.c.last_ns, sources.c.last_step).where(
    sources.c.run == bindparam("run_key"), sources.c.part == bindparam("part_number")
)


def position(connection: Connection, run: int, part: int) -> Position:
    """Say how far an event file is indexed: offset, newest stamp, newest step."""
    row = connection.execute(_POSITION, {"run_key": run, "part_number": part}).first()
    return Position(0, 0, 0) if row is None else row_of(Position, row)


def advance(
    connection: Connection, run: int, part: int, *, offset: int, last_ns: int, last_step: int, bad: int
) -> None:
    """Record how far an event file is indexed now."""
    row = {"run": run, "part": part, "offset": offset, "last_ns": last_ns, "last_step": last_step, "bad_lines": bad}
    grown = {"offset": offset, "last_ns": last_ns, "last_step": last_step, "bad_lines": sources.c.bad_lines + bad}
    connection.execute(upsert(sources).values(row).on_conflict_do_update(index_elements=["run", "part"], set_=grown))


def states(connection: Connection, run: int, part: int) -> dict[tuple[str, str], SeriesState]:
    """Load the series of one recording process, by name and stage."""
    columns = [series.c[name] for name in SeriesState.__slots__]
    chosen = select(series.c.name, series.c.stage, *columns).where(series.c.run == run, series.c.part == part)
    return {(row[0], row[1]): row_of(SeriesState, row[2:]) for row in connection.execute(chosen)}


def add(
    connection: Connection,
    run: int,
    part: int,
    batches: Iterable[SeriesBatch],
    known: dict[tuple[str, str], SeriesState],
) -> None:
    """Insert points, and bring their series up to date.

    Args:
        connection: Within a transaction.
        run: The key of the run.
        part: The recording process.
        batches: New points, one batch a series.
        known: The series so far; new ones are added to it.
    """
    flat: list[Any] = []
    touched: list[SeriesState] = []
    for batch in batches:
        state = known.get((batch.name, batch.stage))
        if state is None:
            state = SeriesState(_new_series(connection, run, part, batch))
            known[batch.name, batch.stage] = state
        state.extend(batch)
        touched.append(state)
        rows: list[Any] = [state.key] * (4 * len(batch.stamps))
        rows[1::4], rows[2::4], rows[3::4] = batch.stamps, batch.steps, batch.values
        flat += rows
    _insert_points(connection, flat)
    _update_series(connection, touched)
    connection.execute(
        update(runs)
        .where(runs.c.key == run)
        .values(
            metric_count=select(func.coalesce(func.sum(series.c.points), 0))
            .where(series.c.run == run)
            .scalar_subquery()
        )
    )


def _new_series(connection: Connection, run: int, part: int, batch: SeriesBatch) -> int:
    row = {"run": run, "name": batch.name, "stage": batch.stage, "part": part}
    return int(connection.execute(insert(series).values(row).returning(series.c.key)).scalar_one())


def _insert_points(connection: Connection, flat: list[Any]) -> None:
    whole = len(flat) // (4 * _ROWS) * (4 * _ROWS)
    for start in range(0, whole, 4 * _ROWS):
        connection.exec_driver_sql(_INSERT_MANY, tuple(flat[start : start + 4 * _ROWS]))
    if whole < len(flat):
        rest = flat[whole:]
        connection.exec_driver_sql(_INSERT + ",".join(["(?,?,?,?)"] * (len(rest) // 4)), tuple(rest))


_FIGURES = [name for name in SeriesState.__slots__ if name != "key"]
_UPDATE_SERIES = (
    update(series)
    .where(series.c.key == bindparam("series_key"))
    .values({name: bindparam(f"new_{name}") for name in _FIGURES})
)


def _update_series(connection: Connection, touched: Sequence[SeriesState]) -> None:
    if touched:
        rows = [{"series_key": s.key} | {f"new_{name}": getattr(s, name) for name in _FIGURES} for s in touched]
        connection.execute(_UPDATE_SERIES, rows)


def add_media(connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
    """Insert what the events say of images; one that is there already stays."""
    if rows:
        connection.execute(insert(media).prefix_with("OR IGNORE"), list(rows))


def read(connection: Connection, run: int, name: str) -> Sequence[tuple[int, int, float | None]]:
    """Give stamp, step and value of a metric, all stages and processes together, in order of time."""
    keys = [key for (key,) in driver_rows(connection, "SELECT key FROM series WHERE run = ? AND name = ?", (run, name))]
    marks = ",".join("?" * len(keys))
    order = "" if len(keys) == 1 else " ORDER BY ts_ns, series"
    query = f"SELECT ts_ns, step, value FROM points WHERE series IN ({marks}){order}"
    return driver_rows(connection, query, keys)


def read_all(connection: Connection, run: int, names: Sequence[str] | None = None) -> Sequence[Any]:
    """Give name, stage, part, stamp, step and value of every point of a run, by metric and time."""
    columns = (series.c.name, series.c.stage, series.c.part, points.c.ts_ns, points.c.step, points.c.value)
    chosen = select(*columns).join(points, points.c.series == series.c.key).where(series.c.run == run)
    if names is not None:
        chosen = chosen.where(series.c.name.in_(names))
    return connection.execute(chosen.order_by(series.c.name, points.c.ts_ns)).all()
