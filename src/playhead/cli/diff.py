"""`playhead diff`: what differs between two runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from playhead.cli import described, output, words
from playhead.cli.metrics import metrics_of
from playhead.cli.options import examples, json_option, open_to_read, run_argument, store_option
from playhead.cli.output import Cell, Column
from playhead.cli.resolve import find_run

if TYPE_CHECKING:
    from playhead.run import Run

Sections = dict[str, dict[str, Any]]

_ABSENT = object()
_DIFFERENT = "yellow"
_LONGEST = 60  # characters of a value; JSON has all of it


@click.command(
    "diff",
    epilog=examples(
        "playhead diff 20261115_0812 last",
        "playhead diff 20261115_0812 last --json",
    ),
)
@run_argument("left")
@run_argument("right")
@click.option("--all", "everything", is_flag=True, help="Also show what is equal.")
@json_option
@store_option
def command(left: str, right: str, everything: bool, as_json: bool, store_path: str | None) -> None:
    """Show what differs between two runs.

    Compares config, summary, environment (git, packages, Python, machine, command), and the best and last values of
    metrics. RUN is an id, the beginning of one, or the word last.
    """
    with open_to_read(store_path) as store:
        pair = find_run(store, left), find_run(store, right)
        sections = _compared(_sections(pair[0]), _sections(pair[1]), everything)
    if as_json:
        output.print_json({"left": pair[0].id, "right": pair[1].id, "sections": _described(sections)})
    else:
        _print(pair, sections)


def _sections(run: Run) -> Sections:
    """Give what is compared of a run, by section and dotted name."""
    from playhead.facts import flatten

    environment = {key: value for key, value in run.environment.items() if key != "notes"}
    return {
        "run": {"project": run.project, "name": run.name, "status": run.status, "exit_reason": run.exit_reason},
        "config": _without_prefix(flatten(run.config, "config")),
        "summary": _without_prefix(flatten(described.summary_of(run), "summary")),
        "environment": _without_prefix(flatten(environment, "environment")),
        "metrics": _metrics(run),
    }


def _without_prefix(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name.partition(".")[2]: value for name, value in values.items()}


def _metrics(run: Run) -> dict[str, Any]:
    values: dict[str, Any] = {}
    if run.primary_metric is not None:
        values[f"best {run.primary_metric}"] = run.best
    for metric in metrics_of(run):
        name = f"{metric.name} ({metric.stage})" if metric.stage else metric.name
        values[f"last {name}"] = metric.last
    return values


def _compared(left: Sections, right: Sections, everything: bool) -> dict[str, dict[str, tuple[Any, Any]]]:
    compared = {}
    for section in left:
        names = dict.fromkeys([*left[section], *right[section]])
        pairs = {name: (left[section].get(name, _ABSENT), right[section].get(name, _ABSENT)) for name in names}
        chosen = {name: pair for name, pair in pairs.items() if everything or not _equal(*pair)}
        if chosen:
            compared[section] = chosen
    return compared


def _equal(left: Any, right: Any) -> bool:
    both_nan = left != left and right != right  # noqa: PLR0124 - NaN alone differs from itself
    return bool(left == right or both_nan)


def _described(sections: dict[str, dict[str, tuple[Any, Any]]]) -> dict[str, Any]:
    return {
        section: {
            name: {side: value for side, value in zip(("left", "right"), pair, strict=True) if value is not _ABSENT}
            for name, pair in pairs.items()
        }
        for section, pairs in sections.items()
    }


def _print(pair: tuple[Run, Run], sections: dict[str, dict[str, tuple[Any, Any]]]) -> None:
    if not sections:
        click.echo(f"{pair[0].id} and {pair[1].id} do not differ.")
        return
    columns = [Column("", style="dim"), Column(pair[0].id, shrinks=True), Column(pair[1].id, shrinks=True)]
    rows: list[list[str | Cell]] = []
    for section, pairs in sections.items():
        rows.append([Cell(section.capitalize(), "bold not dim"), "", ""])
        rows += [[f"  {words.one_line(name)}", *_cells(name, *values)] for name, values in pairs.items()]
    output.print_table(columns, rows)


def _cells(name: str, left: Any, right: Any) -> list[str | Cell]:
    style = "" if _equal(left, right) else _DIFFERENT
    return [Cell(_text(name, value), style) for value in (left, right)]


def _text(name: str, value: Any) -> str:
    if value is _ABSENT:
        return "–"
    if name == "git.diff" and isinstance(value, str):
        return f"{words.counted(value.count(chr(10)), 'line')}" if value else "none"
    text = words.value(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
