"""`playhead ls`: list runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from playhead.catalog import glance
from playhead.cli import columns, described, output, status, words
from playhead.cli.options import examples, json_option, open_to_read, project_argument, store_option
from playhead.cli.output import Cell, Column
from playhead.errors import NotFound
from playhead.layout import Layout

if TYPE_CHECKING:
    from playhead.holdings import Tally
    from playhead.run import Run
    from playhead.runs import Runs
    from playhead.store import Store

_EXAMPLE = """\
    import playhead
    store = playhead.open({path!r})
    with store.run("project", "name", config={{"lr": 1e-3}}) as run:
        run.log({{"loss": 0.3}})"""


@click.command(
    "ls",
    epilog=examples(
        "playhead ls pong --status finished --order best",
        'playhead ls --where "config.lr < 1e-3 and metric.loss < 0.1" --columns name,config.lr,metric.loss',
    ),
)
@project_argument()
@click.option("--where", metavar="TEXT", help="Only runs that fit, such as \"config.lr < 1e-3 and 'old' in tags\".")
@click.option(
    "--status",
    "wanted_status",
    type=click.Choice([word for word in status.COLOURS if word != status.DIED]),
    metavar="STATUS",
    help="Only running, finished, failed or interrupted runs.",
)
@click.option("--tag", "tags", metavar="TAG", multiple=True, help="Only runs with this tag; repeat for several.")
@click.option(
    "--order",
    metavar="NAME",
    help="Sort by a field: 'best' for the good first, '-points' for the largest. Default: newest first.",
)
@click.option(
    "--limit", type=click.IntRange(min=0), default=20, metavar="N", help="At most so many, 0 for all; 20 by default."
)
@click.option(
    "--columns",
    "wanted",
    metavar="A,B",
    help="What to show beside the id: the fields above; also environment.KEY.",
)
@click.option("--deleted", is_flag=True, help="List the recycle bin.")
@json_option
@store_option
def command(
    project: str | None,
    where: str | None,
    wanted_status: str | None,
    tags: tuple[str, ...],
    order: str | None,
    limit: int,
    wanted: str | None,
    deleted: bool,
    as_json: bool,
    store_path: str | None,
) -> None:
    """List runs, newest first.

    Only those of PROJECT where it is given. --where and --order take the fields id, project, name, status, created_at,
    duration, best, best_step, best_value, points, tags, notes, config.KEY, summary.KEY, metric.NAME (the last value),
    min.NAME and max.NAME. --where knows and, or, not, =, !=, <, <=, >, >=, in, like, is null and parentheses; text
    stands in quotes.

    A narrow terminal shows fewer columns. A run whose process is gone without having said so is shown as died.
    """
    names = [name.strip() for name in wanted.split(",") if name.strip()] if wanted else []
    with open_to_read(store_path) as store:
        every = store.runs.deleted if deleted else store.runs
        order = order or ("-deleted_at" if deleted else "-created_at")
        fitting = every(project, status=wanted_status, tags=tags, where=where, order=order)
        shown = list(iter(fitting(limit=limit or None)))  # of the sequence itself, list() would ask the length
        if as_json:
            output.print_json(_described(store, shown, names))
        elif shown:
            _print(store, shown, names, deleted)
            _tell_rest(fitting, len(shown), limit)
        else:
            _tell_nothing(store, every, project, deleted)


def _described(store: Store, runs: Sequence[Run], names: Sequence[str]) -> list[dict[str, Any]]:
    readers = {name: columns.reader(name) for name in names}
    held = _held(store, runs)
    return [
        described.outline(store, run)
        | {"holds": held[run.id]._asdict()}
        | {name: read(run) for name, read in readers.items()}
        for run in runs
    ]


def _held(store: Store, runs: Sequence[Run]) -> dict[str, Tally]:
    from playhead import holdings

    return holdings.tallies(store._home, [run._row for run in runs])


def _print(store: Store, runs: Sequence[Run], names: Sequence[str], deleted: bool) -> None:
    if names:
        _print_chosen(store, runs, [name for name in names if name != "id"])
        return
    when = Column("deleted" if deleted else "created", leaves=2)
    held = {run_id: str(tally) for run_id, tally in _held(store, runs).items()}
    holds = any(held.values())
    titles = [
        Column("id", style="bold"),
        Column("run", shrinks=True),
        Column("status"),
        when,
        Column("duration", right=True, leaves=3),
        Column("best", shrinks=True),
        *([Column("holds", shrinks=True, leaves=4)] if holds else []),
        Column("tags", shrinks=True, style="magenta", leaves=1),
    ]
    moments = [run.deleted_at if deleted else run.created_at for run in runs]
    rows = zip(runs, moments, strict=True)
    output.print_table(titles, [_row(store, run, when, [held[run.id]] if holds else []) for run, when in rows])


def _row(store: Store, run: Run, when: float | None, holds: list[str]) -> list[str | Cell]:
    return [
        run.id,
        f"{run.project}/{run.name}",
        _status_cell(store, run),
        words.age(when) if output.in_terminal() else words.moment(when),
        words.duration(run.duration),
        "" if run.best is None else f"{run.primary_metric} {words.number(run.best)}",
        *holds,
        ", ".join(run.tags),
    ]


def _status_cell(store: Store, run: Run) -> Cell:
    shown = status.status_of(store, run)
    return Cell(shown, status.COLOURS[shown])


def _print_chosen(store: Store, runs: Sequence[Run], names: Sequence[str]) -> None:
    readers = [columns.reader(name) for name in names]
    values = [[read(run) for read in readers] for run in runs]
    numeric = [all(isinstance(row[place], (int, float, type(None))) for row in values) for place in range(len(names))]
    titles = [Column(name, right=right, shrinks=not right) for name, right in zip(names, numeric, strict=True)]
    rows = [
        [
            run.id,
            *(
                _status_cell(store, run) if name == "status" else _cell(name, value)
                for name, value in zip(names, row, strict=True)
            ),
        ]
        for run, row in zip(runs, values, strict=True)
    ]
    output.print_table([Column("id", style="bold"), *titles], rows)


def _cell(name: str, value: Any) -> str:
    if value is None:
        return ""
    if name in columns.TIMES:
        return words.moment(value)
    if name == "duration":
        return words.duration(value)
    if name == "tags":
        return ", ".join(value)
    return words.value(value)


def _tell_rest(fitting: Runs, shown: int, limit: int) -> None:
    if shown == limit and (more := len(fitting) - shown) > 0:
        click.secho(f"… and {words.counted(more, 'more run')}; --limit 0 shows all", dim=True, err=True)


def _tell_nothing(store: Store, every: Runs, project: str | None, deleted: bool) -> None:
    """Say why the list is empty.

    Raises:
        NotFound: There is no such project.
    """
    total = len(every)
    if total:
        projects = glance.projects(Layout(store.path).database)
        if project is not None and projects and project not in projects:
            raise NotFound.among("project", project, projects)
        click.echo(f"No run fits, of {words.counted(total, 'run')} in {store.path}.", err=True)
    elif deleted:
        click.echo(f"The recycle bin of {store.path} is empty.", err=True)
    else:
        click.echo(f"No runs in {store.path} yet. Record one:\n\n{_EXAMPLE.format(path=str(store.path))}", err=True)
