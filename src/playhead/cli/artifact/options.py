"""What the commands about artifacts take alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from playhead.cli.options import Decorator

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def _complete_version(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    from playhead.cli.artifact import completing

    return completing.versions(context.params.get("store_path"), begun)


def _complete_name(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    from playhead.cli.artifact import completing

    return completing.names(context.params.get("store_path"), begun)


def version_argument(name: str = "version", *, many: bool = False) -> Decorator:
    """Make an argument that names versions, with completion."""
    metavar, count = ("VERSION...", -1) if many else ("VERSION", 1)
    return click.argument(name, metavar=metavar, required=True, nargs=count, shell_complete=_complete_version)


name_argument: Decorator = click.argument("name", required=False, shell_complete=_complete_name)
