"""`playhead trace convert`: a trace in another form."""

from __future__ import annotations

from pathlib import Path

import click

from playhead.cli import output, words
from playhead.cli.errors import complain
from playhead.cli.options import PathType, examples, json_option, store_option
from playhead.cli.trace import source
from playhead.cli.trace.options import step_option, trace_argument, which_options

FORMS = ("tiered", "tiered-delta", "v1", "v2", "train")  # of playhead.trace.formats, which help need not import


@click.command(
    "convert",
    epilog=examples(
        "playhead trace convert last/fit fit.json.gz",
        "playhead trace convert export.json export.trace",
        "playhead trace convert last/fit small.trace --tiered -b 100",
        "playhead trace convert last/fit fit.json --form v2",
        "playhead trace convert output.json second.trace --variant 2",
    ),
)
@trace_argument()
@click.argument("target", type=PathType(dir_okay=False))
@click.option("--form", type=click.Choice(FORMS), help="Which JSON. Default: tiered-delta with inputs, else tiered.")
@click.option("--tiered", is_flag=True, help="Keep the keyframes that tiers have, fewer of later steps.")
@click.option(
    "-b",
    "--bucket",
    type=click.IntRange(min=1),
    metavar="N",
    help="Keyframes in a tier; implies --tiered. Default: 1563.",
)
@step_option
@which_options
@json_option
@store_option
def command(
    trace: str,
    target: str,
    form: str | None,
    tiered: bool,
    bucket: int | None,
    function: str | None,
    place: int | None,
    variant: int | None,
    as_json: bool,
    store_path: str | None,
) -> None:
    """Write a trace in another form, or with fewer keyframes.

    TARGET is a new file: .trace, .json or .json.gz. Keyframes that are wanted and not there are recomputed by --step.
    """
    found = source.find(store_path, trace, place, variant)

    from playhead.cli.trace.function import load
    from playhead.lanes.keyframes.tiers import DEFAULT_BUCKET
    from playhead.trace import Trace, formats

    size = bucket or (DEFAULT_BUCKET if tiered else None)
    step = None if function is None else load(function)
    lost = formats.convert(found.path, target, form, size, step, trace=place, variant=variant)
    made, bytes_before, bytes_after = Trace.open(target), _size(found.path), _size(Path(target))
    if as_json:
        said = {"path": target, "steps": len(made), "keyframes": len(made.keyframes), "bytes": bytes_after}
        output.print_json(said | {"bytes_before": bytes_before, "lost": lost})
        return
    counts = f"{words.counted(len(made), 'step')}, {words.counted(len(made.keyframes), 'keyframe')}"
    click.echo(f"Wrote {target}: {counts}, {words.size(bytes_after)} (before: {words.size(bytes_before)}).")
    for one in lost:
        complain(f"left out: {one}, which this form has no place for")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
