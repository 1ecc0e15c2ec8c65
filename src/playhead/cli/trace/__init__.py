"""`playhead trace`: one file a command, imported when the command runs."""

from __future__ import annotations

import click

from playhead.cli.program import LazyGroup

COMMANDS = {
    "ls": "List traces.",
    "info": "Show one trace: steps, keyframes, function, parameters.",
    "seek": "Give the state of a step, recomputed where it is not kept.",
    "best": "List the steps that were the best so far.",
    "plot": "Draw the errors of a trace, its best steps and its keyframes.",
    "verify": "Check a trace; with --step, recompute it and compare.",
    "diff": "Show what differs between two traces.",
    "convert": "Write a trace in another form, or with fewer keyframes.",
}


@click.group("trace", cls=LazyGroup, package=__name__, summaries=COMMANDS)
def command() -> None:
    """List, look at, seek in, check, compare and convert traces.

    TRACE is RUN/NAME in the store, or RUN alone where the run has one trace, or the path of a file: .trace, .json or
    .json.gz.

    States that were not kept are recomputed by the function that made them. It is named by --step module:function and
    looked for as Python would, the current folder included. What a file says of its function is never imported.
    """
