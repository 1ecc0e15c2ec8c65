"""The program `playhead`: one file a command, imported when the command runs."""

from __future__ import annotations

import gc
import io
import os
import sys
from typing import NoReturn

import click

import playhead
from playhead.cli.program import LazyGroup

# The names are those of the modules in this package; the texts are what `playhead --help` says of them.
COMMANDS = {
    "serve": "Serve a store as a page in the browser.",
    "ls": "List runs, newest first.",
    "show": "Show one run: what it holds, config, metrics, environment, log.",
    "diff": "Show what differs between two runs.",
    "sql": "Ask the catalogue in SQL; only reading is possible.",
    "episode": "List, show, check, mend and export episodes.",
    "table": "Build, look at, filter, part, merge and check training tables.",
    "trace": "List, look at, seek in, check, compare and convert traces.",
    "artifact": "Save, list, check and hand out versions of files.",
    "live": "Watch what runs now: its frames, reward, return and step rate.",
    "replay": "Play an episode in the terminal, or write it as a film.",
    "tag": "Add or remove tags, set the notes.",
    "rm": "Put runs into the recycle bin.",
    "restore": "Take runs out of the recycle bin.",
    "purge": "Empty the recycle bin: remove for good.",
    "verify": "Check every file of the store against what is known of it.",
    "repair": "Mend what can be mended, move aside what cannot.",
    "rebuild": "Make the catalogue anew from the run folders.",
    "gc": "Remove what nothing needs any more.",
    "du": "Show what takes the space: by lane, project and run.",
    "compact": "Seal what crashes left in journals, and make the store smaller.",
    "optimize": "Keep the catalogue quick: statistics, fragmentation and log.",
    "migrate": "Take over what another program recorded.",
    "info": "Show versions, extras, and the store's format and size.",
    "completion": "Print the completion script for your shell.",
}

NAME = "playhead"


@click.group(
    NAME,
    cls=LazyGroup,
    package=__name__,
    summaries=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(playhead.__version__, prog_name=NAME)
def program() -> None:
    """Record everything your agents, models and robots do. Find it again here.

    A command works on the store given by --store, else by the variable PLAYHEAD_STORE, else on the one that the current
    folder lies in, else on ./store.
    """


def main() -> NoReturn:
    """Run the program with the arguments of this process."""
    # A command lives for a moment: looking for garbage while modules load costs a tenth of its start.
    gc.set_threshold(100_000)
    if sys.stdout is None:  # closed by `>&-`; a file of the store would get its number
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
    if isinstance(sys.stdout, io.TextIOWrapper):  # what its encoding lacks is escaped, as it is on stderr
        sys.stdout.reconfigure(errors="backslashreplace")
    program(prog_name=NAME)
    raise SystemExit(0)
