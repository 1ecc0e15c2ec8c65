"""`playhead artifact`: one file a command, imported when the command runs."""

from __future__ import annotations

import click

from playhead.cli.program import LazyGroup

COMMANDS = {
    "ls": "List artifacts, or the versions of one.",
    "show": "Show one version: its files, metadata and checksums.",
    "save": "Save files or folders as a new version.",
    "get": "Write the files of a version into a folder, checked.",
    "alias": "Let words name a version.",
    "rm": "Delete versions, or remove them for good.",
    "lineage": "Show which runs and versions a version comes from, and what came from it.",
    "diff": "Show what differs between two versions.",
}


@click.group("artifact", cls=LazyGroup, package=__name__, summaries=COMMANDS)
def command() -> None:
    """Save, list, check and hand out versions of files: models, data sets, code.

    VERSION is NAME:latest, NAME:v3 or NAME:ALIAS; TYPE/NAME:v3 where types share a name.
    """
