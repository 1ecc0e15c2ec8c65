"""`playhead episode`: one file a command, imported when the command runs."""

from __future__ import annotations

import click

from playhead.cli.program import LazyGroup

COMMANDS = {
    "ls": "List datasets, or the episodes of one.",
    "show": "Show one episode: items, signals, rates.",
    "verify": "Check that everything can be read, and is any good.",
    "convert": "Make episodes without frames of episodes with frames, or back.",
    "recover": "Finish episodes whose recording was cut short.",
    "export": "Write an episode as CSV, Parquet, NumPy arrays or images.",
    "sheet": "Draw a contact sheet: frames and signals on one page.",
    "plot": "Draw the signals of an episode.",
}


@click.group("episode", cls=LazyGroup, package=__name__, summaries=COMMANDS)
def command() -> None:
    """List, show, check, mend and export episodes.

    DATASET is the name of a dataset in the store, or the path of a folder of episodes. EPISODE is DATASET/INDEX, where
    the last is -1, or DATASET/UID, of which the beginning is enough, or the path of the folder of one episode.
    """
