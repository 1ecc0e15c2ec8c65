"""What a page shows of many runs: counts, the names there are, columns and curves of one page of runs, groups.

Nothing here reads what is not shown: names come from seeks in indexes, one for each, and columns are asked for a page
of runs at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, String, case, cast, func, literal_column, select
from sqlalchemy.dialects import sqlite

from playhead.catalog.database import driver_rows
from playhead.catalog.fields import Resolver, sorted_value
from playhead.catalog.query import RunQuery
from playhead.catalog.runs import LAST_SIGN_NS
from playhead.catalog.schema import run_tags, runs
from playhead.catalog.typed_rows import rows_of
from playhead.errors import BadQuery

MOST_NAMES = 2_000
MOST_GROUPS = 1_000

_DIALECT = sqlite.dialect(paramstyle="named")
_AT_ONCE = 5_000  # values in one statement


class Counts(NamedTuple):
    """How much there is in a store."""

    runs: int
    deleted: int
    running: int
    datasets: int
    episodes: int


_COUNTS = """
    SELECT (SELECT count(*) FROM runs) - (SELECT count(*) FROM runs WHERE deleted_at IS NOT NULL),
           (SELECT count(*) FROM runs WHERE deleted_at IS NOT NULL),
           (SELECT count(*) FROM runs WHERE status = 'running' AND deleted_at IS NULL),
           (SELECT count(DISTINCT dataset) FROM episode_folders),
           (SELECT count(*) FROM episode_folders WHERE uid IS NOT NULL) + (SELECT count(*) FROM replay_episodes)"""


def counts(connection: Connection) -> Counts:
    """Count what there is."""
    return Counts(*driver_rows(connection, _COUNTS)[0])


# -- the names there are ----------------------------------------------------------------------------------------------


class Counted(NamedTuple):
    """A name, and how many runs have it."""

    name: str
    runs: int


# Each count comes from a small index; the few that are in the recycle bin are taken off.
_TALLIES = {
    "projects": (
        "SELECT project, count(*) FROM runs GROUP BY project",
        "SELECT project, count(*) FROM runs WHERE deleted_at IS NOT NULL GROUP BY project",
    ),
    "statuses": (
        "SELECT status, count(*) FROM runs GROUP BY status",
        "SELECT status, count(*) FROM runs WHERE deleted_at IS NOT NULL GROUP BY status",
    ),
    "tags": (
        "SELECT tag, count(*) FROM run_tags GROUP BY tag",
        "SELECT tag, count(*) FROM runs JOIN run_tags ON run_tags.run = runs.key "
        "WHERE deleted_at IS NOT NULL GROUP BY tag",
    ),
}


def tally(connection: Connection, what: str) -> list[Counted]:
    """Count runs by `projects`, `statuses` or `tags`, sorted by name; what only deleted runs have is left out."""
    every, deleted = (dict(driver_rows(connection, sql)) for sql in _TALLIES[what])
    left = ((name, count - deleted.get(name, 0)) for name, count in every.items())
    return [Counted(name, count) for name, count in sorted(left) if count > 0][:MOST_NAMES]


# Each step of the recursion is one seek in an index, however many runs have the name.
_NAMES = """
    WITH RECURSIVE found(name) AS (
        SELECT min({column}) FROM {table} WHERE {column} >= :first AND {column} < :behind
        UNION ALL
        SELECT (SELECT min({column}) FROM {table} WHERE {column} > found.name AND {column} < :behind)
        FROM found WHERE name IS NOT NULL
        LIMIT :most
    )
    SELECT name FROM found WHERE name IS NOT NULL"""
_KEYS = _NAMES.format(table="run_values", column="key")
_METRICS = _NAMES.format(table="series", column="name")
_LAST = "\U0010ffff"


def keys(connection: Connection, family: str) -> list[str]:
    """List the dotted names of `config` or `summary` values, sorted."""
    ends = {"first": f"{family}.", "behind": f"{family}/", "most": MOST_NAMES}  # a slash follows a dot
    return [name for (name,) in driver_rows(connection, _KEYS, ends)]


def metric_names(connection: Connection) -> list[str]:
    """List the names of all metrics, sorted."""
    ends = {"first": "", "behind": _LAST, "most": MOST_NAMES}
    return [name for (name,) in driver_rows(connection, _METRICS, ends)]


# -- columns of some runs ---------------------------------------------------------------------------------------------


def plain_values(connection: Connection, run_keys: Sequence[int], names: Sequence[str]) -> dict[int, tuple[Any, ...]]:
    """Give columns of `runs` by the names of the `where` language, for some runs by their keys."""
    if not names:
        return {}
    columns = ", ".join(f"runs.{sorted_value(name).name}" for name in names)
    return {
        row[0]: tuple(row[1:])
        for row in _of_runs(connection, f"SELECT key, {columns} FROM runs WHERE key IN ({{marks}})", run_keys)
    }


def keyed_values(connection: Connection, run_keys: Sequence[int], names: Sequence[str]) -> dict[tuple[int, str], Any]:
    """Give config and summary values by run and dotted name."""
    if not names:
        return {}
    marks = ",".join("?" * len(names))
    sql = f"SELECT run, key, coalesce(number, text) FROM run_values WHERE run IN ({{marks}}) AND key IN ({marks})"
    return {(run, key): value for run, key, value in _of_runs(connection, sql, run_keys, names)}


class Figures(NamedTuple):
    """What is known of a metric without reading its points.

    The smallest and the largest value are of all processes and stages, all else of the one that logged it last.
    """

    series: int
    points: int
    last_ns: int
    last_value: float | None
    min_value: float | None
    max_value: float | None


def metric_figures(
    connection: Connection, run_keys: Sequence[int], names: Sequence[str]
) -> dict[tuple[int, str], Figures]:
    """Give the figures of metrics by run and name."""
    if not names:
        return {}
    marks = ",".join("?" * len(names))
    sql = f"""
        SELECT run, name, key, points, coalesce(last_ns, 0), last_value, min_value, max_value FROM series
        WHERE run IN ({{marks}}) AND name IN ({marks})"""
    found: dict[tuple[int, str], Figures] = {}
    for run, name, *rest in _of_runs(connection, sql, run_keys, names):
        figures, known = Figures(*rest), found.get((run, name))
        if known is not None:
            newest = figures if figures.last_ns > known.last_ns else known
            both = (figures, known)
            figures = newest._replace(
                min_value=min((one.min_value for one in both if one.min_value is not None), default=None),
                max_value=max((one.max_value for one in both if one.max_value is not None), default=None),
            )
        found[run, name] = figures
    return found


def _of_runs(connection: Connection, sql: str, run_keys: Sequence[int], more: Sequence[Any] = ()) -> Iterable[Any]:
    for start in range(0, len(run_keys), _AT_ONCE):
        some = run_keys[start : start + _AT_ONCE]
        yield from driver_rows(connection, sql.format(marks=",".join("?" * len(some))), (*some, *more))


# Up to here all points of a series are read; of a longer one, those next to moments spread over its life.
_SHORT = 400
_WHOLE = "SELECT series, value FROM points WHERE series IN ({marks}) ORDER BY series, ts_ns"
_SPREAD = """
    WITH RECURSIVE moment(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM moment WHERE i < :most - 1),
    span(series, first, last) AS MATERIALIZED (
        SELECT key, (SELECT min(ts_ns) FROM points WHERE series = key),
               (SELECT max(ts_ns) FROM points WHERE series = key)
        FROM series WHERE key IN ({marks})
    )
    SELECT span.series,
           (SELECT value FROM points WHERE points.series = span.series
            AND ts_ns >= first + (last - first) * moment.i / (:most - 1) ORDER BY ts_ns LIMIT 1)
    FROM span CROSS JOIN moment ORDER BY span.series, moment.i"""


def curves(connection: Connection, sizes: dict[int, int], most: int) -> dict[int, list[float | None]]:
    """Give a few values of each of some series, enough to draw its curve small; None is NaN.

    Args:
        connection: To the catalogue.
        sizes: How many points each series has, by its key.
        most: How many values of each at most.
    """
    found: dict[int, list[float | None]] = {key: [] for key in sizes}
    short = [key for key, size in sizes.items() if size <= _SHORT]
    long = [int(key) for key, size in sizes.items() if size > _SHORT]
    for key, value in _of_runs(connection, _WHOLE, short):
        found[key].append(value)
    if long:
        sql = _SPREAD.format(marks=",".join(map(str, long)))
        for key, value in driver_rows(connection, sql, {"most": most}):
            found[key].append(value)
    return {key: _thinned(values, most) for key, values in found.items()}


def _thinned(values: list[float | None], most: int) -> list[float | None]:
    if len(values) <= most:
        return values
    return [values[place * (len(values) - 1) // (most - 1)] for place in range(most)]


# -- groups -----------------------------------------------------------------------------------------------------------


class Statistic(NamedTuple):
    """What the runs of a group have in one column; numbers only."""

    mean: float | None
    min: float | None
    max: float | None
    size: int


class Group(NamedTuple):
    """Runs that have one value in common; None is those without it."""

    value: Any
    size: int
    columns: tuple[Statistic, ...]


_GROUPED = ("project", "name", "status", "hostname", "best_metric", "tags")


def groups(connection: Connection, query: RunQuery, by: str, names: Sequence[str]) -> list[Group]:
    """Group the runs that fit a query by a value, the largest groups first.

    Args:
        connection: To the catalogue.
        query: Which runs.
        by: What they have in common: a name such as `project`, `tags`, `config.lr`. A run with several tags counts in
            the group of each.
        names: Columns to tell the mean, the smallest and the largest number of.

    Raises:
        BadQuery: They cannot be grouped so.
        NotFound: There is no such column.
    """
    if by not in _GROUPED and by.partition(".")[0] not in ("config", "summary"):
        raise BadQuery(f"cannot group by {by!r}; there is: {', '.join(_GROUPED)}, config.KEY and summary.KEY")
    value = run_tags.c.tag if by == "tags" else sorted_value(by)
    columns = [sorted_value(name).label(f"c{place}") for place, name in enumerate(names)]
    # The limit keeps SQLite from asking for each value again in every one of the functions over it.
    inner = select(value.label("by_value"), *columns).where(*query.conditions(Resolver())).limit(-1)
    if by == "tags":
        inner = inner.select_from(runs.outerjoin(run_tags, run_tags.c.run == runs.c.key))
    rows = inner.subquery()
    figures: list[Any] = []
    for place in range(len(names)):
        number = _number(rows.c[f"c{place}"])
        figures += [func.avg(number), func.min(number), func.max(number), func.count(number)]
    total = func.count().label("total")
    statement = select(rows.c.by_value, total, *figures).group_by(rows.c.by_value)
    statement = statement.order_by(literal_column("total").desc(), rows.c.by_value).limit(MOST_GROUPS)
    compiled = statement.compile(dialect=_DIALECT, compile_kwargs={"render_postcompile": True})
    return [
        Group(row[0], row[1], tuple(Statistic(*row[at : at + 4]) for at in range(2, len(row), 4)))
        for row in driver_rows(connection, str(compiled), compiled.params)
    ]


def _number(column: Any) -> Any:
    return case((cast(func.typeof(column), String) != "text", column), else_=None)


# -- what changes -----------------------------------------------------------------------------------------------------


class State(NamedTuple):
    """What of a run grows while it is recorded; the last sign of life only of one that says that it is running."""

    id: str
    run_dir: str
    status: str
    points: int
    media: int
    episodes: int
    updated_at: float
    last_sign_ns: int


_STATES = f"""
    SELECT id, run_dir, status, metric_count, (SELECT count(*) FROM media WHERE media.run = runs.key),
           (SELECT count(*) FROM reels JOIN replay_episodes AS e ON e.reel = reels.key WHERE reels.run = runs.key)
           + (SELECT count(*) FROM episode_folders WHERE run_id = runs.id AND uid IS NOT NULL),
           updated_at, CASE WHEN status = 'running' THEN {LAST_SIGN_NS} ELSE 0 END
    FROM runs WHERE id IN ({{marks}})"""


def states(connection: Connection, ids: Sequence[str]) -> list[State]:
    """Give the states of runs; one that is not there is left out."""
    found: list[State] = []
    for start in range(0, len(ids), _AT_ONCE):
        some = ids[start : start + _AT_ONCE]
        found += rows_of(State, driver_rows(connection, _STATES.format(marks=",".join("?" * len(some))), some))
    return found


def newest(connection: Connection) -> str | None:
    """Give the id of the run that was made last."""
    rows = driver_rows(
        connection, "SELECT id FROM runs WHERE deleted_at IS NULL ORDER BY created_at DESC, id DESC LIMIT 1"
    )
    return rows[0][0] if rows else None


def version(connection: Connection) -> int:
    """Give a number that differs from the last one on the same connection if anybody else wrote in between."""
    return int(driver_rows(connection, "PRAGMA data_version")[0][0])
