"""`playhead table`: one file a command, imported when the command runs."""

from __future__ import annotations

import click

from playhead.cli.program import LazyGroup

COMMANDS = {
    "ls": "List the training tables of the store.",
    "build": "Make a table of game files, episodes, arrays or Parquet files.",
    "append": "Add the rows of more sources to a table.",
    "filter": "Write the rows of some runs as a new table.",
    "split": "Part the runs of a table by chance, into new tables.",
    "merge": "Make one table of several.",
    "stats": "Show how rows and runs are distributed.",
    "verify": "Check every byte against what was written.",
    "sample": "Print some rows, chosen by chance.",
}


@click.group("table", cls=LazyGroup, package=__name__, summaries=COMMANDS)
def command() -> None:
    """Build, look at, filter, part, merge and check training tables.

    TABLE is the name of a table in the store, or the path of its folder. A new one (--out) is made in the store where
    its name is a plain word and there is a store, else at the path.
    """
