"""Lists of runs: a page with chosen columns, the names there are, groups."""

from __future__ import annotations

from typing import Any

from playhead.catalog import browse
from playhead.web.answers import plain
from playhead.web.routes import Answer, Ask, Route, integer, names, text
from playhead.web.runs import columns, rows
from playhead.web.schema import ANYTHING, FLOAT, INTEGER, TEXT, maybe, record, several

SPARK = 48  # values of a metric that is drawn small

COLUMNS = names(
    "columns", "What to add for each run: `config.lr`, `summary.x`, `metric.loss`, `min.loss`, `hostname` …"
)


def list_runs(ask: Ask) -> Any:
    """Give a page of runs."""
    query = rows.query_of(ask, order=ask["order"])
    with ask.site.home.database.read() as connection:
        total = query.count(connection)
        found = query.rows(connection, ask["offset"], ask["limit"])
        values = columns.values_of(connection, found, ask["columns"])
        spark = ask["spark"]
        sparks = columns.sparks_of(connection, found, spark, SPARK) if spark else [None] * len(found)
    return {
        "total": total,
        "offset": ask["offset"],
        "columns": list(ask["columns"]),
        "runs": [
            rows.row_of(ask.site, row) | {"values": chosen, "spark": curve}
            for row, chosen, curve in zip(found, values, sparks, strict=True)
        ],
    }


def list_fields(ask: Ask) -> Any:
    """Give the names that there are, to complete what is typed and to choose columns."""
    with ask.site.home.database.read() as connection:
        return {
            **{
                what: [{"name": name, "count": count} for name, count in browse.tally(connection, what)]
                for what in ("projects", "statuses", "tags")
            },
            "config": browse.keys(connection, "config"),
            "summary": browse.keys(connection, "summary"),
            "metrics": browse.metric_names(connection),
        }


def list_groups(ask: Ask) -> Any:
    """Give groups of runs."""
    by, wanted = ask["by"].replace("`", ""), [name.replace("`", "") for name in ask["columns"]]
    with ask.site.home.database.read() as connection:
        found = browse.groups(connection, rows.query_of(ask), by, wanted)
    return {
        "by": ask["by"],
        "groups": [
            {
                "value": plain(group.value),
                "count": group.size,
                "columns": [
                    {"mean": plain(mean), "min": plain(low), "max": plain(high), "count": size}
                    for mean, low, high, size in group.columns
                ],
            }
            for group in found
        ],
    }


_LISTED = record(
    {**rows.MEMBERS, "values": several(ANYTHING), "spark": maybe(several(FLOAT, most=SPARK))},
)
_PAGE = record({"total": INTEGER, "offset": INTEGER, "columns": several(TEXT), "runs": several(_LISTED)})
_COUNTED = several(record({"name": TEXT, "count": INTEGER}), most=browse.MOST_NAMES)
_NAMES = several(TEXT, most=browse.MOST_NAMES)
_FIELDS = record(
    {
        "projects": _COUNTED,
        "statuses": _COUNTED,
        "tags": _COUNTED,
        "config": _NAMES,
        "summary": _NAMES,
        "metrics": _NAMES,
    }
)
_STATISTIC = record({"mean": FLOAT, "min": FLOAT, "max": FLOAT, "count": INTEGER})
_GROUP = record({"value": ANYTHING, "count": INTEGER, "columns": several(_STATISTIC)})

ROUTES = (
    Route(
        "GET",
        "/api/runs",
        list_runs,
        "List runs, newest first.",
        parameters=(
            *rows.FILTERS,
            rows.ORDER,
            integer("offset", "How many to leave out.", default=0, least=0, most=10**9),
            integer("limit", "How many at most.", default=100, least=0, most=1_000),
            COLUMNS,
            text("spark", "A metric of which a few values are given, to draw small."),
        ),
        answer=Answer("A page of runs.", _PAGE),
    ),
    Route(
        "GET",
        "/api/runs/fields",
        list_fields,
        "List the projects, tags, config values and metrics that there are.",
        answer=Answer("The names.", _FIELDS),
    ),
    Route(
        "GET",
        "/api/runs/groups",
        list_groups,
        "Group runs by a value.",
        parameters=(
            *rows.FILTERS,
            text("by", "project, name, status, hostname, tags, config.KEY or summary.KEY.", required=True),
            COLUMNS,
        ),
        answer=Answer(
            "The groups, the largest first.",
            record({"by": TEXT, "groups": several(_GROUP, most=browse.MOST_GROUPS)}),
        ),
    ),
)
