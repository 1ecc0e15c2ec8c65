"""Columns of a page of runs: a query for each kind of column, not for each run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from playhead import facts, strictjson
from playhead.catalog import browse, fields
from playhead.catalog.database import Connection
from playhead.catalog.runs import RunRow
from playhead.web.answers import plain

_FIGURES = {"metric": "last_value", "min": "min_value", "max": "max_value"}


def values_of(connection: Connection, rows: Sequence[RunRow], names: Sequence[str]) -> list[list[Any]]:
    """Give the values of columns for each run, as the API writes them; a run without one has None.

    Args:
        connection: To the catalogue.
        rows: The runs.
        names: Names of the `where` language; `tags` too.

    Raises:
        NotFound: There is no such name.
    """
    names = [name.replace("`", "") for name in names]
    for name in names:
        if name != "tags":
            fields.sorted_value(name)
    families = {name: name.partition(".")[0] if "." in name else "" for name in names}
    keys = [row.key for row in rows]
    own = [name for name in names if not families[name] and name != "tags"]
    plain_values = browse.plain_values(connection, keys, own)
    summaries = browse.keyed_values(connection, keys, [name for name in names if families[name] == "summary"])
    metrics = sorted({name.partition(".")[2] for name in names if families[name] in _FIGURES})
    figures = browse.metric_figures(connection, keys, metrics)
    configs: dict[int, dict[str, Any]] = {}
    configured = browse.keyed_values(connection, keys, [name for name in names if families[name] == "config"])
    if "config" in families.values():
        configs = {row.key: facts.flatten(strictjson.decode(row.config), "config") for row in rows}

    def value(row: RunRow, name: str) -> Any:
        family, _, rest = name.partition(".")
        if name == "tags":
            return sorted(strictjson.decode(row.tags))
        if name == "duration":
            return row.duration_seconds
        if not rest:
            return plain_values[row.key][own.index(name)]
        if family == "config":
            found = configs[row.key].get(name)  # in words: what they stand for, the other table says
            is_word = isinstance(found, str) and found in strictjson.SPECIAL
            return configured.get((row.key, name)) if is_word else found
        if family == "summary":
            return summaries.get((row.key, name))
        found = figures.get((row.key, rest))
        return None if found is None else getattr(found, _FIGURES[family])

    return [[plain(value(row, name)) for name in names] for row in rows]


def sparks_of(
    connection: Connection, rows: Sequence[RunRow], name: str, most: int
) -> list[list[float | str | None] | None]:
    """Give a few values of a metric for each run, to draw small; None for a run that never logged it."""
    figures = browse.metric_figures(connection, [row.key for row in rows], [name])
    series = {run: found for (run, _), found in figures.items() if found.points}
    curves = browse.curves(connection, {found.series: found.points for found in series.values()}, most)
    return [plain(curves[series[row.key].series]) if row.key in series else None for row in rows]
