"""`playhead sql`: ask the catalogue."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from playhead.cli import output, words
from playhead.cli.options import examples, json_option, open_to_read, store_option
from playhead.cli.output import Column

if TYPE_CHECKING:
    import pyarrow as pa

_DIGITS = 12  # enough for a time in seconds with hundredths
_NAMED = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_QUOTED = re.compile(r"'(.*)'", re.DOTALL)


@click.command(
    "sql",
    epilog=examples(
        'playhead sql "SELECT project, count(*) FROM runs GROUP BY 1"',
        'playhead sql "SELECT id FROM runs WHERE name = :name" --param name=dqn --csv',
    ),
)
@click.argument("query")
@click.option(
    "--param",
    "parameters",
    metavar="VALUE",
    multiple=True,
    help="The value for the next ? of the query, or NAME=VALUE for its :NAME. What reads as a number is one, unless in "
    "'quotes'.",
)
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="S", help="Stop after so many seconds.")
@click.option("--csv", "as_csv", is_flag=True, help="Print comma-separated values.")
@json_option
@store_option
def command(
    query: str,
    parameters: tuple[str, ...],
    timeout: float | None,
    as_csv: bool,
    as_json: bool,
    store_path: str | None,
) -> None:
    """Ask the catalogue in SQL; only reading is possible.

    Views: episodes and steps (what agents played), experiments, metrics. Tables: runs, series, points, run_values
    (config and summary), run_tags, media, episode_folders, artifacts, artifact_versions, artifact_uses.
    """
    if as_csv and as_json:
        raise click.UsageError("--csv and --json exclude each other.")
    bound = _bound(query, parameters)
    with open_to_read(store_path) as store:
        table = store.sql(query, bound, timeout=timeout)
    if as_json:
        names = _distinct(table.column_names)
        output.print_json([dict(zip(names, row, strict=True)) for row in _rows(table)])
    elif as_csv:
        from playhead.export.lines import csv_writer

        writer = csv_writer(sys.stdout)
        writer.writerow(table.column_names)
        writer.writerows(_rows(table))
    else:
        _print(table)


def _bound(query: str, parameters: Sequence[str]) -> list[Any] | dict[str, Any]:
    """Give the values for the query: by name if it asks so, else in order."""
    named = {
        match[1]: _value(match[2])
        for text in parameters
        if (match := _NAMED.fullmatch(text)) and re.search(rf"[:@$]{match[1]}\b", query)
    }
    unknown = [match[1] for text in parameters if "?" not in query and (match := _NAMED.fullmatch(text))]
    if unknown and not named:
        raise click.BadParameter(f"the query has no :{unknown[0]}, and no ? either.", param_hint="'--param'")
    if named and len(named) < len(parameters):
        raise click.BadParameter("give either values for ?, or NAME=VALUE for each :NAME.", param_hint="'--param'")
    return named or [_value(text) for text in parameters]


def _value(text: str) -> int | float | str:
    if quoted := _QUOTED.fullmatch(text):
        return quoted[1]
    if "_" in text:  # Python would read some ids of runs as numbers
        return text
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def _rows(table: pa.Table) -> list[tuple[Any, ...]]:
    # Not as dicts: a query may give two columns the same name.
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _distinct(names: Sequence[str]) -> list[str]:
    """Number the names that occur again."""
    return [
        name if name not in names[:place] else f"{name}_{names[:place].count(name) + 1}"
        for place, name in enumerate(names)
    ]


def _print(table: pa.Table) -> None:
    rows = _rows(table)
    numeric = [
        all(isinstance(value, (int, float, type(None))) for value in column) for column in zip(*rows, strict=True)
    ]
    numeric = numeric or [False] * table.num_columns
    columns = [Column(name, right=right) for name, right in zip(table.column_names, numeric, strict=True)]
    output.print_table(columns, [[_text(value) for value in row] for row in rows])


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bytes):
        return f"x'{value.hex()}'"
    return words.value(value, _DIGITS)
