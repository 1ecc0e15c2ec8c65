"""The whole of a list of runs as a file."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from starlette.responses import Response

from playhead import arrow
from playhead.web import answers
from playhead.web.routes import Answer, Ask, Route, text
from playhead.web.runs import columns, rows
from playhead.web.runs.listing import COLUMNS

_TYPES = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet", "json": answers.JSON}
_OWN = ("id", "project", "name", "status", "created_at", "ended_at", "duration", "points", "tags", "notes")


def export_runs(ask: Ask) -> Response:
    """Give all runs that fit as a file."""
    query = rows.query_of(ask, order=ask["order"])
    kind: str = ask["format"]
    with ask.site.home.database.read() as connection:
        found = query.rows(connection)
        values = columns.values_of(connection, found, ask["columns"])
    described = [rows.row_of(ask.site, row) for row in found]
    table = [
        [*(row[name] for name in _OWN), *_best(row["best"]), *chosen]
        for row, chosen in zip(described, values, strict=True)
    ]
    names = _unique([*_OWN, "best_metric", "best", "best_step", *ask["columns"]])
    return answers.download(_written(kind, names, table), _TYPES[kind], f"runs.{kind}")


def _best(best: dict[str, Any] | None) -> list[Any]:
    return [None, None, None] if best is None else [best["name"], best["value"], best["step"]]


def _unique(names: list[str]) -> list[str]:
    """Number names that are there twice."""
    seen: dict[str, int] = {}
    unique = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        unique.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return unique


def _written(kind: str, names: list[str], table: list[list[Any]]) -> bytes:
    if kind == "json":
        return bytes(answers.json([dict(zip(names, row, strict=True)) for row in table]).body)
    made = arrow.table(names, [[_cell(value) for value in row] for row in table])
    sink = pa.BufferOutputStream()
    if kind == "csv":
        from pyarrow import csv

        csv.write_csv(made, sink)
    else:
        from pyarrow import parquet

        parquet.write_table(made, sink)
    return bytes(sink.getvalue().to_pybytes())


def _cell(value: Any) -> Any:
    """Give a value as one cell holds it."""
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value) if isinstance(value, dict) else value


ROUTES = (
    Route(
        "GET",
        "/api/runs/export",
        export_runs,
        "Download all runs that fit, with chosen columns.",
        parameters=(
            *rows.FILTERS,
            rows.ORDER,
            COLUMNS,
            text("format", "csv, parquet or json.", default="csv", choices=tuple(_TYPES)),
        ),
        answer=Answer("The file.", types=tuple(_TYPES.values())),
    ),
)
