"""`playhead table ls`: list tables."""

from __future__ import annotations

from typing import Any

import click

from playhead import layout
from playhead.cli import output, words
from playhead.cli.options import examples, json_option, store_option
from playhead.cli.output import Cell, Column
from playhead.errors import NotAStore, PlayheadError

_EXAMPLE = "    playhead table build games/ --out 2048"


@click.command("ls", epilog=examples("playhead table ls", "playhead table ls --json"))
@json_option
@store_option
def command(as_json: bool, store_path: str | None) -> None:
    """List the training tables of the store."""
    root = layout.locate(store_path)
    place = layout.Layout(root)
    if not place.marker.is_file():
        raise NotAStore(f"there is no store at {root}; name one with --store")
    found = [_summary(place, name) for name in place.tables()]
    if as_json:
        output.print_json(found)
    elif not found:
        click.echo(f"No tables in {root} yet. Build one:\n\n{_EXAMPLE}", err=True)
    else:
        columns = [
            Column("table", style="bold"),
            Column("rows", right=True),
            Column("runs", right=True),
            Column("size", right=True),
            Column("columns", shrinks=True),
        ]
        output.print_table(columns, [_row(one) for one in found])


def _summary(place: layout.Layout, name: str) -> dict[str, Any]:
    from playhead.cli.table import naming
    from playhead.table import Table

    path = place.table(name).path
    try:
        return {"name": name, **naming.described(Table.open(path, mmap=True)), "problem": None}
    except (PlayheadError, OSError) as error:
        empty: dict[str, Any] = {"path": str(path), "rows": None, "runs": None, "bytes": None, "columns": {}}
        return {"name": name, **empty, "problem": str(error)}


def _row(one: dict[str, Any]) -> list[str | Cell]:
    name = words.one_line(one["name"])
    if one["problem"] is not None:
        return [name, "", "", "", Cell(words.one_line(one["problem"]), "red")]
    return [name, f"{one['rows']:,}", f"{one['runs']:,}", words.size(one["bytes"]), ", ".join(one["columns"])]
