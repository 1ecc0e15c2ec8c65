"""`playhead table build`: make a table."""

from __future__ import annotations

from typing import Any

import click

from playhead.cli.options import examples, json_option, store_option
from playhead.cli.table import naming
from playhead.cli.table.options import (
    as_columns,
    out_option,
    overwrite_option,
    reading_options,
    shard_option,
    widen_option,
)
from playhead.cli.table.printing import print_made


@click.command(
    "build",
    epilog=examples(
        "playhead table build games/ --out 2048",
        'playhead table build games/ --out good --where "max_score >= 20000" --skip',
        "playhead table build --dataset teleop --rate 20 --columns state,action --out teleop",
        "playhead table build --project pong --columns observation,action,reward --out tables/pong",
    ),
)
@reading_options
@out_option
@widen_option
@shard_option
@overwrite_option
@json_option
@store_option
def command(
    sources: tuple[str, ...],
    dataset: str | None,
    project: str | None,
    columns: str | None,
    skip: bool,
    branches: str | None,
    target: str,
    as_json: bool,
    store_path: str | None,
    **options: Any,
) -> None:
    """Make a table of game files, episodes, arrays or Parquet files.

    SOURCE are files or folders: of the 2048 programs (.a2run2, .a2run, .a2pack, .dat), .npy, .npz, .parquet, .arrow, a
    folder of episodes, or a table. The table appears whole, or not at all.
    """
    path = naming.new(store_path, target)
    with naming.source(store_path, sources, dataset, project) as source:
        from playhead.table import Table

        table = Table.build(
            source,
            path,
            columns=as_columns(columns),
            errors="skip" if skip else "raise",
            branches=branches or "require",
            mmap=True,
            **options,
        )
    print_made(table, as_json, told=table.built)
