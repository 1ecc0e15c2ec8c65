"""`playhead show`: one run in full."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

from playhead.cli import described, logtail, output, words
from playhead.cli.metrics import curve_of, metrics_of
from playhead.cli.options import examples, json_option, open_to_read, run_argument, store_option
from playhead.cli.output import Cell, Column
from playhead.cli.resolve import find_run
from playhead.cli.sparkline import sparkline
from playhead.cli.status import COLOURS, DIED, status_of
from playhead.layout import RunFolder

if TYPE_CHECKING:
    from playhead.run import Run
    from playhead.store import Store

LOG_LINES = 10

_DIED = "its process is gone; the next program that records into the store marks it as failed"


@click.command(
    "show",
    epilog=examples(
        "playhead show last",
        "playhead show 20261115_0812 --json",
        "playhead show last --logs | less",
    ),
)
@run_argument()
@click.option("--config", "only_config", is_flag=True, help="Print the config alone.")
@click.option("--logs", "only_logs", is_flag=True, help="Print the whole text log, and nothing else.")
@json_option
@store_option
def command(run: str, only_config: bool, only_logs: bool, as_json: bool, store_path: str | None) -> None:
    """Show one run: what it holds, config, metrics, environment, log.

    RUN is an id, the beginning of one, or the word last for the newest run.
    """
    if only_config and only_logs:
        raise click.UsageError("--config and --logs exclude each other.")
    with open_to_read(store_path) as store:
        found = find_run(store, run)
        if only_logs:
            _print_logs(found, as_json)
        elif only_config:
            _print_config(found, as_json)
        elif as_json:
            output.print_json(described.whole(store, found, logtail.last_lines(RunFolder(found.path).logs, LOG_LINES)))
        else:
            _print_run(store, found)


def _print_logs(run: Run, as_json: bool) -> None:
    if as_json:
        output.print_json({"id": run.id, "log": run.logs()})
    else:
        logtail.print_all(RunFolder(run.path).logs)


def _print_config(run: Run, as_json: bool) -> None:
    if as_json:
        output.print_json(run.config)
    else:
        _print_tree(run.config, "")


def _print_run(store: Store, run: Run) -> None:
    _print_header(run, status_of(store, run))
    if run.config:
        output.print_heading("Config")
        _print_tree(run.config)
    if summary := described.summary_of(run):
        output.print_heading("Summary")
        _print_tree(summary)
    _print_metrics(run)
    _print_media(run)
    _print_log_end(run)


def _print_header(run: Run, status: str) -> None:
    place = ", in the recycle bin" if run.is_deleted else ""
    coloured = click.style(status, fg=COLOURS[status], bold=True)
    click.echo(f"{click.style(run.id, bold=True)}  {run.project}/{run.name}  {coloured}{place}")
    environment = run.environment
    ended = f", ended {words.moment(run.ended_at)}" if run.ended_at else ""
    best = "" if run.best is None else f"{run.primary_metric} {words.number(run.best)} at step {run.best_step}"
    output.print_facts(
        [
            ("reason", _DIED if status == DIED else words.one_line(run.exit_reason or "")),
            ("created", f"{words.moment(run.created_at)} ({words.age(run.created_at)}){ended}"),
            ("duration", words.duration(run.duration)),
            ("best", best),
            ("tags", ", ".join(run.tags)),
            *((kind, words.one_line(line)) for kind, line in run.holdings.lines().items()),
            ("notes", words.one_line(run.notes)),
            ("host", words.one_line(_host(environment))),
            ("git", words.one_line(_git(environment.get("git")))),
            ("command", words.one_line(shlex.join(environment.get("argv") or []))),
            ("folder", str(run.path)),
        ]
    )


def _host(environment: dict[str, Any]) -> str:
    parts = [environment.get("hostname"), environment.get("platform")]
    gpus = [(gpu or {}).get("name") for gpu in environment.get("gpus") or []]
    python = environment.get("python")
    return ", ".join(str(part) for part in [*parts, python and f"Python {python}", *gpus] if part)


def _git(state: dict[str, Any] | None) -> str:
    if not state:
        return ""
    commit = (state.get("commit") or "no commit yet")[:12]
    branch = f" on {state['branch']}" if state.get("branch") else ""
    changed = (state.get("diff") or "").count("\ndiff --git ") + (state.get("diff") or "").startswith("diff --git ")
    dirty = f", {words.counted(changed, 'changed file')}" if changed else ", with changes" if state.get("dirty") else ""
    return f"{commit}{branch}{dirty}"


def _print_tree(values: dict[str, Any], indent: str = "  ") -> None:
    """Print nested values, one a line, those of one level aligned."""
    width = max((output.text_width(words.one_line(name)) for name in values), default=0)
    for name, value in values.items():
        label = words.one_line(name)
        if isinstance(value, dict) and value:
            click.echo(f"{indent}{click.style(label, dim=True)}")
            _print_tree(value, indent + "  ")
        else:
            space = " " * (width - output.text_width(label))
            click.echo(f"{indent}{click.style(label, dim=True)}{space}  {words.value(value)}")


def _print_metrics(run: Run) -> None:
    metrics = metrics_of(run)
    if not metrics:
        return
    output.print_heading("Metrics")
    staged = any(metric.stage for metric in metrics)
    columns = [
        Column("name", shrinks=True),
        *([Column("stage")] if staged else []),
        Column("points", right=True, leaves=1),
        Column("last", right=True),
        Column("min", right=True),
        Column("max", right=True),
        Column("curve", shrinks=True),
    ]
    rows: list[list[str | Cell]] = [
        [
            metric.name,
            *([metric.stage] if staged else []),
            f"{metric.points:,}",
            Cell(words.number(metric.last), "bold"),
            words.number(metric.min),
            words.number(metric.max),
            Cell(sparkline(curve_of(run, metric)), "cyan"),
        ]
        for metric in metrics
    ]
    output.print_table(columns, rows, indent=2)


def _print_media(run: Run) -> None:
    media = run.media
    if not media:
        return
    output.print_heading("Media")
    columns = [
        Column("key", shrinks=True),
        Column("images", right=True),
        Column("last step", right=True),
        Column("newest file"),
    ]
    newest = {item.key: item for item in media}
    counts = {key: sum(item.key == key for item in media) for key in newest}
    rows = [
        [key, str(counts[key]), str(item.step if item.step is not None else ""), str(item.path.relative_to(run.path))]
        for key, item in newest.items()
    ]
    output.print_table(columns, rows, indent=2)


def _print_log_end(run: Run) -> None:
    lines = logtail.last_lines(RunFolder(run.path).logs, LOG_LINES)
    if not lines:
        return
    output.print_heading(f"Log (last {LOG_LINES} lines)" if len(lines) == LOG_LINES else "Log")
    for line in lines:
        click.echo(f"  {words.one_line(line)}")
