"""`playhead trace best`: the steps that were the best so far."""

from __future__ import annotations

import click

from playhead.cli import output, words
from playhead.cli.options import examples, json_option, store_option
from playhead.cli.output import Column
from playhead.cli.trace import source
from playhead.cli.trace.options import trace_argument, which_options


@click.command("best", epilog=examples("playhead trace best last/fit", "playhead trace best last/fit -n 5 --json"))
@trace_argument()
@click.option(
    "-n",
    "count",
    type=click.IntRange(min=0),
    default=20,
    metavar="N",
    help="Only the last N, of which the last is the best of all; 0 for all. Default: 20.",
)
@click.option("--before", type=click.IntRange(min=0), metavar="STEP", help="Only steps before this one.")
@which_options
@json_option
@store_option
def command(
    trace: str,
    count: int,
    before: int | None,
    as_json: bool,
    place: int | None,
    variant: int | None,
    store_path: str | None,
) -> None:
    """List the steps that were the best so far.

    A step is one where its error is smaller than all before it.
    """
    opened = source.open_trace(source.find(store_path, trace, place, variant))
    marks = opened.marks.between(0, len(opened) if before is None else before)
    shown = marks[-count:] if count else marks
    errors, stamps, keyframes = opened.errors, opened.timestamps, set(opened.keyframes.tolist())
    found = [
        {"step": step, "error": float(errors[step]), "at": stamps[step] / 1e9, "is_keyframe": step in keyframes}
        for step in shown
    ]
    if as_json:
        output.print_json({"count": len(marks), "steps": found})
        return
    if not marks:
        click.echo("No step has an error.", err=True)
        return
    columns = [Column("step", right=True, style="bold"), Column("error", right=True), Column("time"), Column("")]
    output.print_table(
        columns,
        [
            [
                f"{one['step']:,}",
                words.number(one["error"], 8),
                words.moment(one["at"]),
                "keyframe" if one["is_keyframe"] else "",
            ]
            for one in found
        ],
    )
    if len(marks) > len(shown):
        click.echo(f"and {len(marks) - len(shown):,} before them; -n 0 lists all", err=True)
