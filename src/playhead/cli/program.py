"""A group of commands of which only the one that runs is imported."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from playhead.cli.errors import reporting

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class LazyGroup(click.Group):
    """A group that knows its commands by name and summary, and imports the module of a command when it is asked for.

    Args:
        package: Where the modules are; each has its command under the name `command`.
        summaries: One line of text for each name.
        options: What any group takes.
    """

    def __init__(self, *args: Any, package: str = "", summaries: Mapping[str, str], **options: Any) -> None:
        super().__init__(*args, **options)
        self._package = package
        self._summaries = dict(summaries)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Name the commands in the order of the summaries."""
        return list(self._summaries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import a command."""
        if cmd_name not in self._summaries:
            return None
        command: click.Command = import_module(f"{self._package}.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is meant; for one that there is not, name those that are spelled alike."""
        if (name := args[0]) not in self._summaries and not ctx.resilient_parsing:
            from difflib import get_close_matches

            if near := get_close_matches(name, self._summaries):
                ctx.fail(f"No such command {name!r}. Did you mean {' or '.join(map(repr, near))}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the summaries into the help text."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self._summaries.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the names of commands, and the options of the group."""
        from click.shell_completion import CompletionItem

        names = [name for name in self._summaries if name.startswith(incomplete)]
        items = [CompletionItem(name, help=self._summaries[name]) for name in names]
        return items + click.Command.shell_complete(self, ctx, incomplete)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an error meant for the user ends it with one line."""
        with reporting(ctx):
            return super().invoke(ctx)
