"""`playhead table sample`: some rows."""

from __future__ import annotations

from typing import Any

import click

from playhead.cli import output, words
from playhead.cli.options import examples, json_option, store_option
from playhead.cli.output import Column
from playhead.cli.table import naming
from playhead.cli.table.options import table_argument

_SHOWN = 8  # numbers of an array that a line has room for


@click.command(
    "sample",
    epilog=examples(
        "playhead table sample 2048 -n 5",
        'playhead table sample 2048 --where "max_score >= 20000" --seed 1 --json',
    ),
)
@table_argument
@click.option("-n", "count", type=click.IntRange(min=0), default=10, metavar="N", help="How many rows. Default: 10.")
@click.option("--seed", type=click.IntRange(min=0), default=0, metavar="N", help="Another one, other rows. Default: 0.")
@click.option("--where", metavar="TEXT", help='Of runs that fit, such as "max_score >= 20000".')
@json_option
@store_option
def command(table: str, count: int, seed: int, where: str | None, as_json: bool, store_path: str | None) -> None:
    """Print some rows, chosen by chance; none twice."""
    import numpy as np

    from playhead.table import Table
    from playhead.table.sources.tables import check

    whole = Table.open(naming.find(store_path, table), mmap=True)
    shown = whole if where is None else whole.filter(where)
    chosen = np.random.default_rng(seed).choice(len(shown), min(count, len(shown)), replace=False).astype(np.int64)
    check(shown, chosen)
    rows = shown.get_batch(chosen)
    numbers = shown.spans.rows(chosen).tolist()
    names = list(shown.columns)
    if as_json:
        found = [
            {"row": number} | {name: row[name].tolist() for name in names}
            for number, row in zip(numbers, rows, strict=True)
        ]
        output.print_json(found)
        return
    columns = [Column("row", right=True, style="dim"), *(Column(words.one_line(name), right=True) for name in names)]
    output.print_table(
        columns,
        [
            [f"{number:,}", *(_cell(row[name].tolist()) for name in names)]
            for number, row in zip(numbers, rows, strict=True)
        ],
    )


def _cell(value: Any) -> str:
    if not isinstance(value, list):
        return words.value(value, 4) if isinstance(value, (bool, int, float)) else str(value)
    flat = _flat(value)
    more = f" … ({len(flat):,})" if len(flat) > _SHOWN else ""
    return " ".join(_cell(one) for one in flat[:_SHOWN]) + more


def _flat(value: Any) -> list[Any]:
    return [one for part in value for one in _flat(part)] if isinstance(value, list) else [value]
