"""`playhead migrate`: take over what another program recorded."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import click

from playhead.cli import output, words
from playhead.cli.options import examples, json_option, store_option

if TYPE_CHECKING:
    from playhead.integrations.runicorn.roots import Candidate


@click.group("migrate")
def command() -> None:
    """Take over the runs of another tracker. What it recorded is only read, never changed."""


@command.command(
    "runicorn",
    epilog=examples(
        "playhead migrate runicorn ~/.runicorn",
        "playhead migrate runicorn /data/runicorn --store path/to/store",
    ),
)
@click.argument("source", metavar="SRC", type=click.Path(exists=True, file_okay=False))
@json_option
@store_option
def migrate_runicorn(source: str, as_json: bool, store_path: str | None) -> None:
    """Take over the runs of the Runicorn folder SRC, of any version.

    The store is made if there is none. Runs that are in it already are skipped, so that the command can be given again,
    as after a crash or for new runs. Ends with exit code 1 if a run was refused or differs from the one in the store.
    """
    from playhead import opening
    from playhead.integrations import runicorn

    with opening.open(opening.locate(store_path)) as store:
        report = runicorn.migrate(source, store, _with_a_bar)
    if as_json:
        output.print_json(report.to_json())
    else:
        for line in str(report).splitlines():
            click.echo(words.one_line(line))
    if not report.is_complete:
        raise click.exceptions.Exit(1)


def _with_a_bar(runs: Sequence[Candidate]) -> Iterable[Candidate]:
    """Show how far the work is, where a person can see it."""
    if not sys.stderr.isatty():
        return runs
    from rich.console import Console
    from rich.progress import track

    return track(runs, "Importing runs", console=Console(stderr=True), transient=True)
