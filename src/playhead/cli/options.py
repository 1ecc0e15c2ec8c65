"""What the commands take alike: the store, RUN arguments, and JSON instead of a text."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from playhead.paths import as_path

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from playhead.store import Store

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class PathType(click.Path):
    """A path of the command line: `~` is the home folder, also in `--store=~/x`, which no shell expands."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Take the path, then check what the option asks of it."""
        return super().convert(os.fspath(as_path(value)), param, ctx)


store_option: Decorator = click.option(
    "--store",
    "store_path",
    type=PathType(),
    metavar="PATH",
    help="The store's folder. Default: PLAYHEAD_STORE, else the store around the current folder, else ./store.",
)

json_option: Decorator = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")


def examples(*lines: str) -> str:
    """Give the last part of a command's help: how it is called, a line each."""
    # Click wraps a paragraph that does not begin with this character.
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def open_to_read(given: str | None) -> Store:
    """Open the store that a command means, without changing anything.

    Args:
        given: The value of `--store`.
    """
    from playhead import opening

    return opening.open(opening.locate(given), mode="r")


def open_to_change(given: str | None) -> Store:
    """Open the store that a command means, to change it; one that does not exist is not made.

    Args:
        given: The value of `--store`.
    """
    from playhead import opening
    from playhead.layout import Layout

    path = opening.locate(given)
    return opening.open(path, mode="a" if Layout(path).marker.is_file() else "r")


def run_argument(name: str = "run", *, many: bool = False, deleted: bool = False) -> Decorator:
    """Make an argument that names runs, with completion of their ids.

    Args:
        name: The parameter.
        many: One run or more.
        deleted: The runs are in the recycle bin.
    """

    def complete(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
        from playhead.cli import completing

        return completing.run_ids(context.params.get("store_path"), begun, deleted=deleted)

    metavar, count = ("RUN...", -1) if many else ("RUN", 1)
    return click.argument(name, metavar=metavar, required=True, nargs=count, shell_complete=complete)


def project_argument() -> Decorator:
    """Make an argument that may name a project, with completion."""

    def complete(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
        from playhead.cli import completing

        return completing.projects(context.params.get("store_path"), begun)

    return click.argument("project", required=False, shell_complete=complete)
