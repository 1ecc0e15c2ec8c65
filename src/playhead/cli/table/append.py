"""`playhead table append`: add rows to a table."""

from __future__ import annotations

from typing import Any

import click

from playhead.cli.options import examples, json_option, store_option
from playhead.cli.table import naming
from playhead.cli.table.options import as_columns, reading_options, table_argument, widen_option
from playhead.cli.table.printing import print_made


@click.command(
    "append",
    epilog=examples(
        "playhead table append 2048 new_games/",
        "playhead table append teleop --dataset teleop-november",
    ),
)
@table_argument
@reading_options
@widen_option
@json_option
@store_option
def command(
    table: str,
    sources: tuple[str, ...],
    dataset: str | None,
    project: str | None,
    columns: str | None,
    skip: bool,
    as_json: bool,
    store_path: str | None,
    **options: Any,
) -> None:
    """Add the rows of more sources to a table.

    Only the new rows are written, and they count all at once. What is not said here of how to read is as the table was
    built. SOURCE are files or folders, as for build.
    """
    path = naming.find(store_path, table)
    with naming.source(store_path, sources, dataset, project) as source:
        from playhead.table import building

        made = building.append(
            path, source, columns=as_columns(columns), errors="skip" if skip else "raise", mmap=True, **options
        )
    print_made(made, as_json, told=made.built["appended"][-1])
