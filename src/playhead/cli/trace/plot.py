"""`playhead trace plot`: the errors of a trace."""

from __future__ import annotations

import click

from playhead.cli.episode.options import output_option
from playhead.cli.options import examples, store_option
from playhead.cli.trace import source
from playhead.cli.trace.options import trace_argument, which_options


@click.command("plot", epilog=examples("playhead trace plot last/fit", "playhead trace plot fit.trace -o fit.svg"))
@trace_argument()
@output_option("trace.png")
@which_options
@store_option
def command(trace: str, target: str, place: int | None, variant: int | None, store_path: str | None) -> None:
    """Draw the errors of a trace, its best steps and its keyframes.

    On a logarithmic axis where they differ much.
    """
    found = source.find(store_path, trace, place, variant)
    opened = source.open_trace(found)

    from playhead import plots

    plots.plot_trace(opened, target, title=found.label)
    click.echo(f"Wrote {target}.")
