"""`playhead restore`: take runs out of the recycle bin."""

from __future__ import annotations

import click

from playhead.cli import output
from playhead.cli.options import examples, json_option, open_to_change, run_argument, store_option
from playhead.cli.resolve import find_deleted


@click.command(
    "restore",
    epilog=examples(
        "playhead restore last",
    ),
)
@run_argument("runs", many=True, deleted=True)
@json_option
@store_option
def command(runs: tuple[str, ...], as_json: bool, store_path: str | None) -> None:
    """Take runs out of the recycle bin.

    RUN is the id of a deleted run, the beginning of one, or the word last for the one deleted last. `playhead ls
    --deleted` lists them.
    """
    with open_to_change(store_path) as store:
        found = find_deleted(store, runs)
        for run in found:
            run.restore()
    if as_json:
        output.print_json({"restored": [run.id for run in found]})
        return
    for run in found:
        click.echo(f"Restored {run.id} ({run.project}/{run.name}), {run.status}.")
