"""`playhead trace verify`: whether a trace is what was recorded, and comes out again."""

from __future__ import annotations

import sys
from typing import Any

import click

from playhead.cli import output, words
from playhead.cli.options import examples, json_option, store_option
from playhead.cli.trace import source
from playhead.cli.trace.options import step_option, tolerance_option, trace_argument, which_options

_LONG = 1000  # steps from which on a bar is worth drawing


@click.command(
    "verify",
    epilog=examples(
        "playhead trace verify last/fit",
        "playhead trace verify last/fit --step train:update",
        "playhead trace verify last/fit --step train:update --tolerance 1e-9",
    ),
)
@trace_argument()
@step_option
@tolerance_option
@which_options
@json_option
@store_option
def command(
    trace: str,
    function: str | None,
    tolerance: float | None,
    as_json: bool,
    place: int | None,
    variant: int | None,
    store_path: str | None,
) -> None:
    """Check a trace; with --step, recompute it and compare.

    First every keyframe and every block of steps is read and compared with its hash. With --step every span between two
    keyframes is recomputed, and what comes out compared with what was kept: not a bit may differ, or with --tolerance
    not more than that. Nothing is written. Ends with exit code 1 if something is wrong.
    """
    if tolerance is not None and function is None:
        raise click.UsageError("--tolerance is about recomputed states: it needs --step.")
    found = source.find(store_path, trace, place, variant)

    from playhead import traces

    wrong = list(traces.verify_file(found.path, found.which))
    report = None
    if function is not None and not wrong:
        from playhead.progress import watching

        opened = source.open_trace(found, function)
        is_seen = sys.stderr.isatty() and len(opened) >= _LONG
        with watching("Recomputing", len(opened), is_seen, unit="steps") as watch:
            report = opened.verify(tolerance=tolerance, progress=watch)
    if as_json:
        damage = [{name: getattr(one, name) for name in ("path", "expected", "found", "remedy")} for one in wrong]
        said: dict[str, Any] = {"trace": found.label, "damage": damage}
        output.print_json(said | {"report": None if report is None else report.to_json()})
    else:
        for one in wrong:
            kind = click.style("damage", fg="red")
            click.echo(f"{kind}  expected {one.expected}, found {one.found}. {one.remedy}")
        problems = words.counted(len(wrong), "problem") if wrong else "all that is kept is as it was written"
        click.echo(f"{words.one_line(found.label)}: {problems}.")
        if report is not None:
            click.echo(str(report))
        elif not wrong:
            click.echo("Nothing was recomputed; --step module:function does that too.")
    if wrong or (report is not None and not report.is_good):
        raise click.exceptions.Exit(1)
