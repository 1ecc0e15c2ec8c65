"""Makes docs/cli.md from the help texts of the program: `python -m tests.docs.cli_reference` writes it anew."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from playhead.cli import NAME, program

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
COMMAND = "python -m tests.docs.cli_reference"
WIDTH = 90

INTRODUCTION = f"""\
# The command line

Every command, as its `--help` tells it. This page is made from those texts by
`{COMMAND}`, and a test sees that it is current.

- **Output.** Aligned text, with colours in a terminal. `--json` gives strict JSON with stable keys: NaN and the
  infinities are the strings `"NaN"`, `"Infinity"` and `"-Infinity"`, times are seconds since 1970.
- **Exit codes.** 0 if all went well, 1 for a failure, 2 for wrong usage. What went wrong is said on stderr, after
  `playhead: `; stdout holds the answer and nothing else.
- **RUN** is the id of a run, the beginning of one if no other id begins so, or the word `last`.
- `python -m playhead` is the same program.
"""


def page() -> str:
    """Give the text of the page."""
    sections = [f"## {title}\n\n```text\n{text}\n```\n" for title, text in _helps(program, NAME)]
    return "\n".join([INTRODUCTION, *sections])


def _helps(command: click.Command, name: str, parent: click.Context | None = None) -> Iterator[tuple[str, str]]:
    options = {**command.context_settings, "terminal_width": WIDTH, "max_content_width": WIDTH}
    context = click.Context(command, info_name=name, parent=parent, **options)
    yield context.command_path, command.get_help(context).rstrip()
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            found = command.get_command(context, each)
            assert found is not None
            yield from _helps(found, each, context)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
