"""What the commands about episodes take alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from playhead.cli.options import Decorator, PathType

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def _complete(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    from playhead.cli.episode import completing

    return completing.datasets(context.params.get("store_path"), begun)


def _complete_episodes(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    from playhead.cli.episode import completing

    return completing.episodes(context.params.get("store_path"), begun)


dataset_argument: Decorator = click.argument("dataset", required=False, shell_complete=_complete)

episode_argument: Decorator = click.argument("episode", shell_complete=_complete_episodes)

either_argument: Decorator = click.argument(
    "source", metavar="[DATASET|EPISODE]", required=False, shell_complete=_complete_episodes
)

signals_option: Decorator = click.option(
    "--signals", metavar="A,B", help="Only these signals. Default: all.", callback=lambda *given: listed(given[2])
)


def output_option(default: str) -> Decorator:
    """Make the option that says where a picture goes.

    Args:
        default: Where it goes otherwise.
    """
    text = f"The file: PNG, SVG or PDF by its ending. Default: {default}, which is replaced."
    return click.option(
        "-o", "--output", "target", type=PathType(dir_okay=False), default=default, metavar="PATH", help=text
    )


def listed(text: str | None) -> list[str]:
    """Give the names in a list with commas."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]
