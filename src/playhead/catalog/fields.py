"""What the names of the `where` language mean for runs.

| name | is |
|---|---|
| `id`, `project`, `name`, `status`, `notes`, `hostname`, `exit_reason` | text |
| `created_at`, `started_at`, `ended_at`, `updated_at`, `deleted_at` | a time: seconds, or '2026-11-15 08:30' |
| `duration` | seconds; of a run that is not known to have ended, up to its last sign of life |
| `best`, `best_step`, `best_metric` | the best value of the primary metric, sorted good first; its step and metric |
| `best_value` | the same value; sorts as the number that it is |
| `points` | how many metric values were logged |
| `tags` | asked by `'baseline' in tags` |
| `config.lr`, `summary.note` | a config or summary value, dotted as deep as it lies |
| `metric.loss` | the last value of a metric; also `min.loss`, `max.loss` |
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Column, ColumnElement, Select, and_, case, exists, func, literal_column, or_, select

from playhead.catalog.runs import DURATION
from playhead.catalog.schema import run_tags, run_values, runs, series
from playhead.catalog.where import Field, Value
from playhead.errors import BadQuery, NotFound

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "like": lambda column, pattern: column.like(pattern),
}

_TIMES = {"created_at", "started_at", "ended_at", "updated_at", "deleted_at"}
_COLUMNS: dict[str, ColumnElement[Any]] = {
    name: runs.c[name]
    for name in ("id", "project", "name", "status", "notes", "hostname", "exit_reason", *sorted(_TIMES))
} | {
    "duration": DURATION,
    "best": runs.c.best_metric_value,
    "best_value": runs.c.best_metric_value,
    "best_step": runs.c.best_metric_step,
    "best_metric": runs.c.best_metric_name,
    "points": runs.c.metric_count,
}
_BADNESS = case((runs.c.best_metric_mode == "min", runs.c.best_metric_value), else_=-runs.c.best_metric_value)
_SERIES = {"metric": series.c.last_value, "min": series.c.min_value, "max": series.c.max_value}
_ALWAYS = ("id", "project", "name", "status", "created_at", "updated_at")  # no run is without
_NUMBERS = ("integer", "real", "true", "false")  # a truth value is 0 or 1, as everywhere here
_JSON_TYPES = {str: ("text",), bool: _NUMBERS, int: _NUMBERS, float: _NUMBERS, type(None): ("null",)}
_HINT = "also config.KEY, summary.KEY, metric.NAME, min.NAME, max.NAME"


class Resolver:
    """Gives the fields of runs by name, and decides how each condition on another table is asked.

    Such a condition can be asked in two ways. Collecting the runs that fit is quick where few do, and slow where half
    of all do; looking each run up in turn is the other way round. `probes` count how many fit, up to a limit, and
    `common` says for each probe, in order, whether it ran into that limit.

    Args:
        common: The answers to the probes of the same text; none yet means that few fit.
    """

    LIMIT = 5_000

    def __init__(self, common: Sequence[bool] = ()) -> None:
        self._common = common
        self.probes: list[Select[Any]] = []

    def __call__(self, name: str) -> Field:
        """Give the field that a name means.

        Raises:
            NotFound: There is none.
        """
        head, _, rest = name.partition(".")
        if head in ("config", "summary") and rest:
            return KeyedField(name, self)
        if head in _SERIES and rest:
            return MetricField(rest, _SERIES[head], self)
        if name in _COLUMNS:
            return ColumnField(_COLUMNS[name], is_time=name in _TIMES)
        if name == "tags":
            return TagsField(self)
        raise NotFound.among("field", name, [*_COLUMNS, "tags"], hint=_HINT)

    def having(
        self,
        run: Column[Any],
        *conditions: ColumnElement[bool],
        looked_up: Sequence[ColumnElement[bool]] | None = None,
        besides: Sequence[ColumnElement[bool]] = (),
    ) -> ColumnElement[bool]:
        """Build: there is a row in the table of `run` that belongs to this run and fits.

        Args:
            run: The column that names the run.
            conditions: What the row must fit.
            looked_up: The same, written for looking up one run.
            besides: What it must fit, too: nearly every row does, so that it is not worth the time to count them.
        """
        place = len(self.probes)
        fitting = select(run).where(*conditions, *besides)
        counted: Select[Any] = select(literal_column("1")).select_from(run.table).where(*conditions).limit(self.LIMIT)
        self.probes.append(select(func.count()).select_from(counted.subquery()))
        if place < len(self._common) and self._common[place]:
            chosen = conditions if looked_up is None else looked_up
            return exists(select(run).where(run == runs.c.key, *chosen, *besides))
        return runs.c.key.in_(fitting)


_LISTED = re.compile(r"(?:`[^`]*`|[^,`]|`)+")
_SORTED = re.compile(r"(-?)\s*((?:`[^`]*`|[^\s`])+)(?:\s+(asc|desc))?", re.IGNORECASE)


def split_names(text: str) -> list[str]:
    """Split names that have commas between them; a name with a comma in it stands in backquotes."""
    return [name for part in _LISTED.findall(text) if (name := part.strip())]


@dataclass(frozen=True, slots=True)
class SortKey:
    """One name to sort by."""

    name: str
    falling: bool

    @classmethod
    def parse(cls, text: str) -> SortKey:
        """Read `name`, `-name` or `name desc`.

        Raises:
            BadQuery: It is none of these.
        """
        found = _SORTED.fullmatch(text.strip())
        if found is None:
            raise BadQuery(f"cannot sort by {text!r}: write a name, or '-name' for the largest first")
        return cls(found[2], bool(found[1]) or (found[3] or "").lower() == "desc")

    def ranked(self, find: Callable[[str], ColumnElement[Any]]) -> ColumnElement[Any]:
        """Return what SQL sorts by.

        Args:
            find: Gives the column of a name, or raises `NotFound`.

        Raises:
            BadQuery: There is no such name.
        """
        try:
            value = find(self.name.replace("`", ""))
        except NotFound as error:
            raise BadQuery(f"cannot sort by {self.name!r}: {error}") from None
        return value.desc() if self.falling else value.asc()


def sort_keys(text: str) -> list[SortKey]:
    """Read names to sort by, with commas between them.

    Raises:
        BadQuery: There is none, or one that is not a name.
    """
    keys = [SortKey.parse(part) for part in split_names(text)]
    if not keys:
        raise BadQuery(f"cannot sort by {text!r}: write a name, or '-name' for the largest first")
    return keys


def order_by(text: str, *, is_reversed: bool = False) -> list[ColumnElement[Any]]:
    """Give what to sort runs by: `name`, `-name` or `name desc` for the largest first, several with commas between.

    `best` puts good runs first, whether their primary metric should be small or large, and `-best` the bad ones.
    Runs without a value come last; runs that are equal in all of it are sorted by the time they were made, in the
    direction of the last name. `is_reversed` begins at the end of all that.
    """
    keys = [SortKey(key.name, key.falling != is_reversed) for key in sort_keys(text)]
    ranked = [_ranked(key, is_reversed=is_reversed) for key in keys]
    names = [key.name for key in keys]
    for tie in ("created_at", "id"):
        if tie not in names:
            ranked.append(_COLUMNS[tie].desc() if keys[-1].falling else _COLUMNS[tie])
    return ranked


def _ranked(key: SortKey, *, is_reversed: bool) -> ColumnElement[Any]:
    ranked = key.ranked(lambda name: _BADNESS if name == "best" else sorted_value(name))
    if key.name in _ALWAYS:
        return ranked
    return ranked.nulls_first() if is_reversed else ranked.nulls_last()


def sorted_value(name: str) -> ColumnElement[Any]:
    """Give the one value that a run has under a name, as it is sorted and shown.

    Raises:
        NotFound: There is no such name.
    """
    head, _, rest = name.partition(".")
    if name in _COLUMNS:
        return _COLUMNS[name]
    if head in ("config", "summary") and rest:
        one = select(func.coalesce(run_values.c.number, run_values.c.text))
        return one.where(run_values.c.run == runs.c.key, run_values.c.key == name).scalar_subquery()
    if head in _SERIES and rest:
        found = select(_SERIES[head]).where(series.c.run == runs.c.key, series.c.name == rest)
        rank = {"metric": series.c.last_ns.desc(), "min": series.c.min_value, "max": series.c.max_value.desc()}[head]
        return found.order_by(rank.nulls_last()).limit(1).scalar_subquery()
    raise NotFound.among("field", name, _COLUMNS, hint=_HINT)


@dataclass(frozen=True, slots=True)
class ColumnField:
    """A column of `runs`, or what is computed of some."""

    column: ColumnElement[Any]
    is_time: bool = False

    def compare(self, operator: str, value: Value) -> ColumnElement[bool]:
        """Compare; a run without a value fits no comparison."""
        if value is None:
            return self.column.is_(None) if operator == "=" else self.column.is_not(None)
        if self.is_time and isinstance(value, str):
            value = _seconds(value)
        condition: ColumnElement[bool] = _OPERATORS[operator](self.column, _plain(value))
        return and_(self.column.is_not(None), condition) if getattr(self.column, "nullable", True) else condition

    def contains(self, value: Value) -> ColumnElement[bool]:
        """Refuse: a column holds one value."""
        name = getattr(self.column, "name", "it")
        raise BadQuery(f"{name} holds one value; write: {name} = {value!r}")


@dataclass(frozen=True, slots=True)
class KeyedField:
    """A config or summary value."""

    key: str
    resolver: Resolver

    def compare(self, operator: str, value: Value) -> ColumnElement[bool]:
        """Compare with the number or the text under the key."""
        if value is None:
            has = self._having((run_values.c.number.is_not(None)) | (run_values.c.text.is_not(None)))
            return ~has if operator == "=" else has
        column = run_values.c.text if isinstance(value, str) else run_values.c.number
        return self._having(_OPERATORS[operator](column, value if isinstance(value, str) else float(value)))

    def contains(self, value: Value) -> ColumnElement[bool]:
        """Look for a value in a list, which the catalogue holds as JSON text."""
        text = run_values.c.text
        each = func.json_each(case((func.json_valid(text) == 1, text))).table_valued("value", "type", name="each")
        fits = [or_(*(each.c.type == name for name in _JSON_TYPES[type(value)]))]
        if value is not None:
            fits.append(each.c.value == _plain(value))
        listed = exists(select(literal_column("1")).select_from(each).where(*fits).correlate(run_values))
        return self._having(text.like("[%"), listed)

    def _having(self, *conditions: ColumnElement[bool]) -> ColumnElement[bool]:
        return self.resolver.having(run_values.c.run, run_values.c.key == self.key, *conditions)


@dataclass(frozen=True, slots=True)
class MetricField:
    """The last, smallest or largest value of a metric."""

    name: str
    column: Column[Any]
    resolver: Resolver

    def compare(self, operator: str, value: Value) -> ColumnElement[bool]:
        """Compare; a run that never logged the metric fits no comparison."""
        if isinstance(value, str):
            raise BadQuery(f"metric {self.name!r} is a number and cannot be compared with the text {value!r}")
        if value is None:
            has = self.resolver.having(series.c.run, series.c.name == self.name)
            return ~has if operator == "=" else has
        named, compare = series.c.name == self.name, _OPERATORS[operator]
        # The sum keeps SQLite from looking each run up through the index on values.
        looked_up = [named, compare(self.column + 0, float(value))]
        fitting = [named, compare(self.column, float(value))]
        return self.resolver.having(series.c.run, *fitting, looked_up=looked_up, besides=[~self._outdone()])

    def _outdone(self) -> ColumnElement[bool]:
        """Tell whether another stage or process of the run has a later, smaller or larger value of the metric."""
        other = series.alias("other")
        beyond = {
            "last_value": other.c.last_ns > series.c.last_ns,
            "min_value": other.c.min_value < series.c.min_value,
            "max_value": other.c.max_value > series.c.max_value,
        }[self.column.name]
        same = (other.c.run == series.c.run, other.c.name == series.c.name)
        return exists(select(literal_column("1")).select_from(other).where(*same, beyond).correlate(series))

    def contains(self, value: Value) -> ColumnElement[bool]:
        """Refuse: a metric's last value is one value."""
        raise BadQuery(f"metric.{self.name} is one value; write: metric.{self.name} = {value!r}")


@dataclass(frozen=True, slots=True)
class TagsField:
    """The tags of a run."""

    resolver: Resolver

    def compare(self, operator: str, value: Value) -> ColumnElement[bool]:
        """Read `tags = 'x'` as having that tag; `tags is null` as having none."""
        if value is None:
            tagged = self.resolver.having(run_tags.c.run)
            return ~tagged if operator == "=" else tagged
        if operator not in ("=", "!=", "like"):
            raise BadQuery("tags have no order; write: 'name' in tags")
        matches = _OPERATORS["like" if operator == "like" else "="](run_tags.c.tag, _plain(value))
        having = self.resolver.having(run_tags.c.run, matches)
        return ~having if operator == "!=" else having

    def contains(self, value: Value) -> ColumnElement[bool]:
        """Tell whether a run has the tag."""
        if not isinstance(value, str):
            raise BadQuery(f"a tag is text, not {value!r}")
        return self.compare("=", value)


def _plain(value: float | int | str) -> float | int | str:
    """Give a truth value as the number that it is: SQLAlchemy would take it for a condition."""
    return int(value) if isinstance(value, bool) else value


def _seconds(text: str) -> float:
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        raise BadQuery(f"{text!r} is not a time; write '2026-11-15' or '2026-11-15 08:30'") from None
