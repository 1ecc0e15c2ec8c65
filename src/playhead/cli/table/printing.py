"""What the commands that write tables say at their end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from playhead.cli import output, words
from playhead.cli.errors import complain
from playhead.cli.table.naming import described

if TYPE_CHECKING:
    from playhead.table import Table

_LISTED = 10


def print_made(table: Table, as_json: bool, *, told: dict[str, Any] | None = None) -> None:
    """Say what a table has now.

    Args:
        table: It.
        as_json: For programs.
        told: What was left out and skipped.
    """
    from playhead.table import leaving

    told = told or {}
    if as_json:
        output.print_json(described(table) | {name: told.get(name, default) for name, default in _TOLD.items()})
        return
    size = words.size(len(table) * table.dtype.itemsize)
    rows, runs = words.counted(len(table), "row"), words.counted(len(table.runs), "run")
    click.echo(f"{table.path}: {rows} of {runs}, {size}.")
    for name, why in leaving.told(told).items():
        click.echo(f"Left out: {words.one_line(name)}, {words.one_line(why)}.", err=True)
    skipped = told.get("skipped", [])
    for one in skipped[:_LISTED]:
        complain(f"skipped {words.one_line(one['source'])}: {words.one_line(one['why'])}")
    more = told.get("skipped_count", 0) - _LISTED
    if more > 0:
        complain(f"and {more:,} more; see `built` in manifest.json")


_TOLD: dict[str, Any] = {"left_out": {}, "left_out_episodes": {}, "skipped": [], "skipped_count": 0}
