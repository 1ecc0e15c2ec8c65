"""`playhead table filter`: the rows of some runs as a new table."""

from __future__ import annotations

import click

from playhead.cli.options import examples, json_option, store_option
from playhead.cli.table import naming
from playhead.cli.table.options import out_option, overwrite_option, shard_option, table_argument
from playhead.cli.table.printing import print_made


@click.command(
    "filter",
    epilog=examples(
        "playhead table filter 2048 --where \"max_score >= 20000 and engine = 'x'\" --out good",
        "playhead table filter 2048 --runs 0,17,42 --out three",
    ),
)
@table_argument
@click.option("--where", metavar="TEXT", help='Of runs that fit, such as "max_score >= 20000".')
@click.option("--runs", metavar="A,B", help="Of runs with these ids.")
@out_option
@shard_option
@overwrite_option
@json_option
@store_option
def command(
    table: str,
    where: str | None,
    runs: str | None,
    target: str,
    shard_bytes: int | None,
    overwrite: bool,
    as_json: bool,
    store_path: str | None,
) -> None:
    """Write the rows of some runs as a new table.

    Training needs no copy: table.filter in Python shows some rows of a table as it is.
    """
    if where is None and runs is None:
        raise click.UsageError("say which runs: --where or --runs.")
    from playhead.table import Table

    view = Table.open(naming.find(store_path, table), mmap=True).filter(where, runs=_ids(runs))
    path = naming.new(store_path, target)
    print_made(Table.merge([view], path, shard_bytes=shard_bytes, overwrite=overwrite, mmap=True), as_json)


def _ids(text: str | None) -> list[int] | None:
    if text is None:
        return None
    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise click.UsageError(f"--runs are ids, such as 0,17,42, not {text!r}.") from None
