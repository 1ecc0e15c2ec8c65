"""`playhead trace ls`: list traces."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import click

from playhead.cli import output, words
from playhead.cli.options import examples, json_option, open_to_read, store_option
from playhead.cli.output import Cell, Column
from playhead.errors import PlayheadError
from playhead.layout import Layout

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from playhead.run import Run
    from playhead.store import Store

_EXAMPLE = '    with run.trace("fit", step=update) as trace: trace.append(state, error=…, input=…)'


def _complete(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    from playhead.cli import completing

    return completing.run_ids(context.params.get("store_path"), begun)


@click.command("ls", epilog=examples("playhead trace ls", "playhead trace ls last --json"))
@click.argument("run", required=False, shell_complete=_complete)
@json_option
@store_option
def command(run: str | None, as_json: bool, store_path: str | None) -> None:
    """List traces.

    Of all runs, newest first, or of one RUN.
    """
    with open_to_read(store_path) as store:
        found = [_summary(one, name) for one in _runs(store, run) for name in one.traces]
        root = store.path
    if as_json:
        output.print_json(found)
    elif not found:
        click.echo(f"No traces in {root if run is None else run} yet. Record one:\n\n{_EXAMPLE}", err=True)
    else:
        columns = [
            Column("trace", style="bold"),
            Column("steps", right=True),
            Column("keyframes", right=True, leaves=2),
            Column("best", right=True),
            Column("at step", right=True, leaves=1),
            Column("size", right=True),
            Column("", shrinks=True),
        ]
        output.print_table(columns, [_row(one) for one in found])


def _runs(store: Store, run: str | None) -> list[Run]:
    from playhead.cli.resolve import find_run

    if run is not None:
        return [find_run(store, run)]
    known = Layout(store.path).traced_runs()
    return sorted(
        (one for run_id in known if (one := store.runs.get(run_id)) is not None), key=lambda one: -one.created_at
    )


def _summary(run: Run, name: str) -> dict[str, Any]:
    from playhead import traces

    said: dict[str, Any] = {"run": run.id, "name": name, "path": str(run.traces.path(name))}
    try:
        return said | dataclasses.asdict(traces.glance(run.traces.path(name))) | {"problem": None}
    except (PlayheadError, OSError) as error:
        empty = {field.name: None for field in dataclasses.fields(traces.Glance)}
        return said | empty | {"problem": str(error)}


def _row(one: dict[str, Any]) -> list[str | Cell]:
    label = words.one_line(f"{one['run']}/{one['name']}")
    if one["problem"] is not None:
        return [label, "", "", "", "", "", Cell(words.one_line(one["problem"]), "red")]
    best = "" if one["best"] is None else f"{one['best']:,}"
    state = Cell("recording", "green") if one["is_recorded"] else ""
    counts = [f"{one['steps']:,}", f"{one['keyframes']:,}"]
    return [label, *counts, words.number(one["error"]), best, words.size(one["bytes"]), state]
