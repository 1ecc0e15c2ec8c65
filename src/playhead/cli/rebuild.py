"""`playhead rebuild`: make the catalogue anew."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from playhead.cli import output, words
from playhead.cli.errors import complain
from playhead.cli.options import examples, json_option, store_option

if TYPE_CHECKING:
    from playhead.layout import RunFolder


@click.command(
    "rebuild",
    epilog=examples(
        "playhead rebuild --store path/to/store",
    ),
)
@json_option
@store_option
def command(as_json: bool, store_path: str | None) -> None:
    """Make the catalogue anew from the run folders.

    The folders hold all that was recorded, so that a lost or broken playhead.db costs nothing but this. Ends with exit
    code 1 if a file could not be read as a whole, and names it; all else is in the new catalogue. Servers and programs
    that have the store open must open it again: they refuse to mix the two.
    """
    from playhead import opening

    path = opening.locate(store_path)
    problems = opening.rebuild(path, _watched)
    with opening.open(path, "r") as store:
        read = len(store.runs) + len(store.runs.deleted)
    if as_json:
        found = [{"path": problem.path, "problem": str(problem)} for problem in problems]
        output.print_json({"runs": read, "problems": found})
    else:
        click.echo(f"Read {words.counted(read, 'run')}.")
        for problem in problems:
            complain(str(problem))
    if problems:
        raise click.exceptions.Exit(1)


def _watched(folders: Iterable[RunFolder]) -> Iterable[RunFolder]:
    """Show in a terminal how far the reading is."""
    if not sys.stderr.isatty():
        return folders
    from rich.console import Console
    from rich.progress import track

    return track(list(folders), "Reading runs", console=Console(stderr=True), transient=True)
