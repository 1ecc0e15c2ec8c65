"""`playhead table stats`: how rows and runs are distributed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from playhead.cli import output, words
from playhead.cli.options import examples, json_option, store_option
from playhead.cli.output import Column
from playhead.cli.table import naming
from playhead.cli.table.options import table_argument

if TYPE_CHECKING:
    from playhead.table.statistics import Statistics


@click.command(
    "stats",
    epilog=examples("playhead table stats 2048", 'playhead table stats 2048 --where "max_score >= 20000" --json'),
)
@table_argument
@click.option("--where", metavar="TEXT", help='Of runs that fit, such as "max_score >= 20000".')
@json_option
@store_option
def command(table: str, where: str | None, as_json: bool, store_path: str | None) -> None:
    """Show how rows and runs are distributed.

    Every row is looked at, after its bytes were checked. NaN are counted apart.
    """
    from playhead.table import Table
    from playhead.table.sources.tables import check

    opened = Table.open(naming.find(store_path, table), mmap=True)
    check(opened)
    found = (opened if where is None else opened.filter(where)).stats()
    if as_json:
        output.print_json(found.to_json())
    else:
        _print(found)


def _print(found: Statistics) -> None:
    lengths = found.lengths
    output.print_facts(
        [
            ("rows", f"{found.rows:,}"),
            ("runs", f"{found.runs:,}"),
            ("size", words.size(found.bytes)),
            ("run length", f"{lengths[0.0]:g} … {lengths[1.0]:g}, median {lengths[0.5]:g}" if lengths else ""),
        ]
    )
    output.print_heading("Columns")
    numbers = [Column(title, right=True) for title in ("min", "max", "mean", "std", "NaN")]
    output.print_table(
        [Column("column", style="bold"), Column("type"), *numbers],
        [
            [
                words.one_line(name),
                one.kind,
                words.number(one.min),
                words.number(one.max),
                words.number(one.mean),
                words.number(one.std),
                f"{one.nans:,}" if one.nans else "",
            ]
            for name, one in found.columns.items()
        ],
        indent=2,
    )
    if found.facts:
        output.print_heading("Runs")
        output.print_table(
            [Column("column", style="bold"), *(Column(title, right=True) for title in ("min", "mean", "max"))],
            [
                [words.one_line(name), words.number(one.min), words.number(one.mean), words.number(one.max)]
                for name, one in found.facts.items()
            ],
            indent=2,
        )
