"""`playhead trace seek`: the state of a step."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from playhead import disk, strictjson
from playhead.cli import words
from playhead.cli.options import PathType, examples, json_option, store_option
from playhead.cli.trace import source
from playhead.cli.trace.options import step_option, trace_argument, which_options
from playhead.errors import Empty

if TYPE_CHECKING:
    from playhead.trace import Trace

_BEST, _LAST = "best", "last"


@click.command(
    "seek",
    epilog=examples(
        "playhead trace seek last/fit 73412 --step train:update",
        "playhead trace seek last/fit best --step train:update -o best.json",
        "playhead trace seek fit.trace 0",
    ),
)
@trace_argument()
@click.argument("step", metavar="STEP")
@step_option
@click.option(
    "-o",
    "--output",
    "target",
    type=PathType(dir_okay=False),
    metavar="PATH",
    help="Write the state to a file, as JSON that comes back to the last bit.",
)
@which_options
@json_option
@store_option
def command(
    trace: str,
    step: str,
    function: str | None,
    target: str | None,
    as_json: bool,
    place: int | None,
    variant: int | None,
    store_path: str | None,
) -> None:
    """Give the state of a step, recomputed where it is not kept.

    STEP is its number from 0, or `best` or `last`. Without --step only keyframes can be had.
    """
    opened = source.open_trace(source.find(store_path, trace, place, variant), function)
    number = _number(opened, step)
    state = opened.seek(number)

    from playhead.trace.formats.states import to_json

    if target is not None:
        disk.save(target, strictjson.encode(to_json(state), indent=True))
        if not as_json:
            click.echo(f"Wrote {target}.")
            return
    keyframe = opened.contents.nearest(number)
    error = float(opened.errors[number])
    if as_json:
        said: dict[str, Any] = {"step": number, "ts_ns": int(opened.timestamps[number]), "error": error}
        said |= {"keyframe": keyframe, "calls": opened.calls}
        encoded = {**strictjson.plain(said), "state": to_json(state)}
        click.echo(strictjson.encode(encoded, indent=True), nl=False)
        return
    from playhead.cli.trace.printing import print_state

    calls = words.counted(opened.calls, "call")
    how = "a keyframe" if keyframe == number else f"recomputed from keyframe {keyframe:,} in {calls}"
    known = "" if math.isnan(error) else f", error {words.number(error, 6)}"
    click.echo(f"Step {number:,} of {len(opened):,}: {how}{known}.\n")
    print_state(state)


def _number(trace: Trace, text: str) -> int:
    if text == _BEST:
        if trace.best is None:
            raise Empty("no step is the best: none has an error")
        return trace.best
    if text == _LAST:
        if not len(trace):
            raise Empty("there is no last step: the trace has none")
        return len(trace) - 1
    try:
        return int(text.replace(",", "").replace("_", ""))
    except ValueError:
        raise click.BadParameter(f"a step is a number, 'best' or 'last', not {text!r}.", param_hint="'STEP'") from None
