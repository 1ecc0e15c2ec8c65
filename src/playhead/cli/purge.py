"""`playhead purge`: empty the recycle bin."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from playhead import clock
from playhead.cli import output, words
from playhead.cli.options import examples, json_option, open_to_change, store_option

if TYPE_CHECKING:
    from playhead.run import Run
    from playhead.store import Store

_DAY = 86_400
_LISTED = 10


@click.command(
    "purge",
    epilog=examples(
        "playhead purge --older-than 30",
        "playhead purge --yes",
    ),
)
@click.option(
    "--older-than",
    "days",
    type=click.FloatRange(min=0),
    default=0.0,
    metavar="DAYS",
    help="Only what was deleted so long ago.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@store_option
def command(days: float, yes: bool, as_json: bool, store_path: str | None) -> None:
    """Empty the recycle bin: remove for good.

    Removes the files of deleted runs, and nothing else. Asks first; without a terminal to ask in, --yes is needed.
    """
    with open_to_change(store_path) as store:
        due = _due(store, days)
        if due and not yes:
            _ask(due)
        purged = store.purge(older_than=days * _DAY) if due else []
    if as_json:
        output.print_json({"purged": purged})
    elif purged:
        click.echo(f"Removed {words.counted(len(purged), 'run')} for good.")
    else:
        click.echo("Nothing to remove.")


def _due(store: Store, days: float) -> list[Run]:
    latest = clock.now() - days * _DAY
    return [run for run in store.runs.deleted if (run.deleted_at or 0.0) <= latest]


def _ask(due: list[Run]) -> None:
    if not sys.stdin.isatty():
        raise click.UsageError("this removes runs for good, and there is no terminal to ask in. Add --yes to do it.")
    for run in due[:_LISTED]:
        click.echo(f"  {run.id}  {run.project}/{run.name}  deleted {words.age(run.deleted_at)}", err=True)
    if len(due) > _LISTED:
        click.echo(f"  … and {len(due) - _LISTED} more", err=True)
    click.confirm(f"Remove {words.counted(len(due), 'run')} for good?", abort=True, err=True)
