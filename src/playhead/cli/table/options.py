"""What the commands about tables take alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from playhead.cli.options import Decorator

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def _complete(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    from playhead.cli.table import completing

    return completing.tables(context.params.get("store_path"), begun)


table_argument: Decorator = click.argument("table", shell_complete=_complete)

tables_argument: Decorator = click.argument(
    "tables", metavar="TABLE...", nargs=-1, required=True, shell_complete=_complete
)

out_option: Decorator = click.option(
    "--out", "target", required=True, metavar="TABLE", help="The new table: a name in the store, or a path."
)

overwrite_option: Decorator = click.option(
    "--overwrite", is_flag=True, help="Replace a table that is there, in one step."
)

widen_option: Decorator = click.option(
    "--widen", is_flag=True, help="Count steps in at least 32 bits, for games of more than 65,536 moves."
)

shard_option: Decorator = click.option(
    "--shard-bytes",
    type=click.IntRange(min=1),
    metavar="N",
    help="Part the rows into files of at most N bytes, for tables beyond memory.",
)

_READING: list[Decorator] = [
    click.argument("sources", metavar="[SOURCE]...", nargs=-1),
    click.option("--dataset", metavar="NAME", help="Of the episodes of a dataset of the store."),
    click.option("--project", metavar="NAME", help="Of the episodes of a project's runs in the store."),
    click.option(
        "--episodes",
        type=click.Choice(["played", "recorded"]),
        metavar="KIND",
        help="Of a project: those that agents played, or those recorded into datasets. Default: played, if any.",
    ),
    click.option(
        "--columns",
        metavar="A,B",
        help="Only these columns or signals; NEW=OLD gives one another name. Default: all that are small.",
    ),
    click.option("--where", metavar="TEXT", help='Only runs that fit, such as "max_score >= 2000".'),
    click.option("--at", metavar="SIGNAL", help="Of episodes: a row at each sample of this signal."),
    click.option(
        "--rate", type=click.FloatRange(min=0, min_open=True), metavar="HZ", help="Of episodes: so many rows a second."
    ),
    click.option(
        "--workers", type=click.IntRange(min=1), metavar="N", help="How many processes read. Default: by the size."
    ),
    click.option("--skip", is_flag=True, help="Leave out what cannot be read, and list it; else that ends the work."),
    click.option(
        "--branches",
        type=click.Choice(["require", "compute"]),
        metavar="HOW",
        help="Games without the values of their moves: require refuses them (the default), compute keeps them.",
    ),
]


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add what says where rows come from, and how."""
    for decorator in reversed(_READING):
        command = decorator(command)
    return command


def as_columns(text: str | None) -> dict[str, str] | None:
    """Give the columns of a list with commas, `NEW=OLD` or a name each."""
    parts = [part.strip() for part in (text or "").split(",") if part.strip()]
    found = {}
    for part in parts:
        new, equals, old = part.partition("=")
        found[new.strip()] = old.strip() if equals else new.strip()
    return found or None
