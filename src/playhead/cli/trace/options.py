"""What the commands about traces take alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from playhead.cli.options import Decorator

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def _complete(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    from playhead.cli.trace import completing

    return completing.traces(context.params.get("store_path"), begun)


def trace_argument(name: str = "trace", metavar: str = "TRACE") -> Decorator:
    """Make an argument that names a trace, with completion.

    Args:
        name: The parameter.
        metavar: What the help calls it.
    """
    return click.argument(name, metavar=metavar, shell_complete=_complete)


step_option: Decorator = click.option(
    "--step",
    "function",
    metavar="MODULE:FUNCTION",
    help="The function that made each state of the one before, to recompute those that were not kept.",
)


def which_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options that choose one trace of a file with several: `place` and `variant`."""
    place = click.option(
        "--trace",
        "place",
        type=click.IntRange(min=0),
        metavar="N",
        help="Which trace of a train output, by its place from 0. Default: the best.",
    )
    variant = click.option("--variant", type=int, metavar="N", help="The same, by the number that its program gave it.")
    return place(variant(function))


def other_which_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the same options for the second of two traces: `other_place` and `other_variant`."""
    place = click.option(
        "--other-trace", "other_place", type=click.IntRange(min=0), metavar="N", help="As --trace, of OTHER."
    )
    variant = click.option("--other-variant", type=int, metavar="N", help="As --variant, of OTHER.")
    return place(variant(function))


_TOLERANCE = "How far apart numbers may be, relative and absolute. Default: not a bit."

tolerance_option: Decorator = click.option(
    "--tolerance", type=click.FloatRange(min=0), metavar="NUMBER", help=_TOLERANCE
)
