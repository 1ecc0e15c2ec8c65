"""`playhead trace diff`: what differs between two traces."""

from __future__ import annotations

import click

from playhead.cli import output
from playhead.cli.options import examples, json_option, store_option
from playhead.cli.trace import source
from playhead.cli.trace.options import other_which_options, step_option, tolerance_option, trace_argument, which_options


@click.command(
    "diff",
    epilog=examples(
        "playhead trace diff RUN/fit OTHER/fit",
        "playhead trace diff a.trace b.trace --step train:update --tolerance 1e-9",
        "playhead trace diff out.json out.json --trace 0 --other-trace 1",
    ),
)
@trace_argument("one", "ONE")
@trace_argument("other", "OTHER")
@step_option
@tolerance_option
@which_options
@other_which_options
@json_option
@store_option
def command(
    one: str,
    other: str,
    function: str | None,
    tolerance: float | None,
    as_json: bool,
    place: int | None,
    variant: int | None,
    other_place: int | None,
    other_variant: int | None,
    store_path: str | None,
) -> None:
    """Show what differs between two traces.

    Lengths, parameters, functions, errors, best steps and states: without --step those of the keyframes that both have,
    with it those of all steps. Of a train output, --trace and --variant choose for ONE, --other-trace and
    --other-variant for OTHER.
    """
    first = source.open_trace(source.find(store_path, one, place, variant), function)
    second = source.open_trace(source.find(store_path, other, other_place, other_variant), function)

    from playhead.trace.comparing import diff

    found = diff(first, second, tolerance)
    if as_json:
        output.print_json(found.to_json())
    else:
        click.echo(str(found))
