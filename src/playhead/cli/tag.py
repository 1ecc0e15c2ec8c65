"""`playhead tag`: tags and notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from playhead.cli import output, words
from playhead.cli.options import examples, json_option, open_to_change, open_to_read, run_argument, store_option
from playhead.cli.output import Column
from playhead.cli.resolve import find_live

if TYPE_CHECKING:
    from playhead.run import Run


@click.command(
    "tag",
    epilog=examples(
        "playhead tag last --add baseline --remove draft",
        'playhead tag 20261115_0812 --note "the one in the paper"',
    ),
)
@run_argument("runs", many=True)
@click.option("--add", "added", metavar="TAG", multiple=True, help="Add a tag; repeat for several.")
@click.option("--remove", "removed", metavar="TAG", multiple=True, help="Remove a tag; repeat for several.")
@click.option("--note", metavar="TEXT", help="Set the notes; an empty text removes them.")
@json_option
@store_option
def command(
    runs: tuple[str, ...],
    added: tuple[str, ...],
    removed: tuple[str, ...],
    note: str | None,
    as_json: bool,
    store_path: str | None,
) -> None:
    """Add or remove tags, set the notes.

    Without a change to make, show them. RUN is an id, the beginning of one, or the word last.
    """
    changes = bool(added or removed or note is not None)
    with open_to_change(store_path) if changes else open_to_read(store_path) as store:
        found = find_live(store, runs)
        for run in found:
            _change(run, added, removed, note)
        if as_json:
            output.print_json([{"id": run.id, "tags": run.tags, "notes": run.notes} for run in found])
        else:
            columns = [
                Column("id", style="bold"),
                Column("run"),
                Column("tags", style="magenta"),
                Column("notes", shrinks=True),
            ]
            rows = [
                [run.id, f"{run.project}/{run.name}", ", ".join(run.tags), words.one_line(run.notes)] for run in found
            ]
            output.print_table(columns, rows)


def _change(run: Run, added: tuple[str, ...], removed: tuple[str, ...], note: str | None) -> None:
    if added:
        run.tag(*added)
    if removed:
        run.untag(*removed)
    if note is not None:
        run.note(note)
