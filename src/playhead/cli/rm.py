"""`playhead rm`: put runs into the recycle bin."""

from __future__ import annotations

import click

from playhead.cli import output
from playhead.cli.options import examples, json_option, open_to_change, run_argument, store_option
from playhead.cli.resolve import find_live


@click.command(
    "rm",
    epilog=examples(
        'playhead rm last --reason "wrong seed"',
        "playhead rm 20261115_0812 20261115_0830",
    ),
)
@run_argument("runs", many=True)
@click.option("--reason", metavar="TEXT", default="", help="Why; kept beside the run.")
@json_option
@store_option
def command(runs: tuple[str, ...], reason: str, as_json: bool, store_path: str | None) -> None:
    """Put runs into the recycle bin.

    They are hidden, and come back as they were with `playhead restore`. RUN is an id, the beginning of one, or the word
    last. Nothing is deleted unless every RUN is found.
    """
    with open_to_change(store_path) as store:
        found = find_live(store, runs)
        for run in found:
            run.delete(reason)
    if as_json:
        output.print_json({"deleted": [run.id for run in found]})
        return
    for run in found:
        click.echo(f"Put {run.id} ({run.project}/{run.name}) into the recycle bin.")
    click.echo(f"To undo: playhead restore {' '.join(run.id for run in found)}")
