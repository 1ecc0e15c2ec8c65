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
    code 1 if a run could not be read; all others are in the new catalogue. Servers and programs that have the store
    open must open it again: they refuse to mix the two.
    """
    from playhead import opening

    watched = _Watched()
    problems = opening.rebuild(opening.locate(store_path), watched)
    read = watched.total - len(problems)
    if as_json:
        found = [{"path": problem.path, "problem": str(problem)} for problem in problems]
        output.print_json({"runs": read, "problems": found})
    else:
        click.echo(f"Read {words.counted(read, 'run')}.")
        for problem in problems:
            complain(str(problem))
    if problems:
        raise click.exceptions.Exit(1)


class _Watched:
    """Counts the folders that are read and, in a terminal, shows how far the reading is."""

    def __init__(self) -> None:
        self.total = 0

    def __call__(self, folders: Iterable[RunFolder]) -> Iterable[RunFolder]:
        listed = list(folders)
        self.total = len(listed)
        if not sys.stderr.isatty():
            return listed
        from rich.console import Console
        from rich.progress import track

        return track(listed, "Reading runs", console=Console(stderr=True), transient=True)
