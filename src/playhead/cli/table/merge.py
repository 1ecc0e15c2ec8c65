"""`playhead table merge`: one table of several."""

from __future__ import annotations

import click

from playhead.cli.options import examples, json_option, store_option
from playhead.cli.table import naming
from playhead.cli.table.options import out_option, overwrite_option, shard_option, tables_argument
from playhead.cli.table.printing import print_made


@click.command("merge", epilog=examples("playhead table merge monday tuesday path/to/wednesday --out week"))
@tables_argument
@out_option
@click.option("--widen", is_flag=True, help="Where tables count steps in numbers of different width, take the widest.")
@shard_option
@overwrite_option
@json_option
@store_option
def command(
    tables: tuple[str, ...],
    target: str,
    widen: bool,
    shard_bytes: int | None,
    overwrite: bool,
    as_json: bool,
    store_path: str | None,
) -> None:
    """Make one table of several.

    Their runs lie one behind the other, with new ids. Tables of other programs are taken too: folders with steps.npy,
    or steps-00000.npy and so on, and metadata.db.
    """
    from playhead.table import Table

    paths = [naming.find(store_path, table) for table in tables]
    path = naming.new(store_path, target)
    print_made(Table.merge(paths, path, widen=widen, shard_bytes=shard_bytes, overwrite=overwrite, mmap=True), as_json)
