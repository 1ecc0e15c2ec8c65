"""`playhead migrate`: take over what another program recorded."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from playhead.cli import output, words
from playhead.cli.options import PathType, examples, json_option, store_option

if TYPE_CHECKING:
    from playhead.integrations import mosaic, runicorn


@click.group("migrate")
def command() -> None:
    """Take over what another program recorded. It is only read, unless you ask for more."""


@command.command(
    "runicorn",
    epilog=examples(
        "playhead migrate runicorn ~/.runicorn",
        "playhead migrate runicorn /data/runicorn --store path/to/store",
    ),
)
@click.argument("source", metavar="SRC", type=PathType(exists=True, file_okay=False))
@json_option
@store_option
def migrate_runicorn(source: str, as_json: bool, store_path: str | None) -> None:
    """Take over the runs and artifacts of the Runicorn folder SRC, of any version.

    The store is made if there is none. What is in it already is skipped, so that the command can be given again, as
    after a crash or for new runs. Every file of an artifact is compared with its SHA-256. Ends with exit code 1 if
    something was refused or differs from what is in the store.
    """
    from playhead import opening
    from playhead.integrations import runicorn

    with opening.open(opening.locate(store_path)) as store:
        report = runicorn.migrate(source, store, _with_a_bar)
    _print(report, as_json)


@command.command(
    "mosaic",
    epilog=examples(
        "playhead migrate mosaic var/telemetry/telemetry.sqlite --dry-run",
        "playhead migrate mosaic telemetry.sqlite --replay-dir var/replay --store path/to/store",
        "playhead migrate mosaic telemetry.sqlite --compact",
    ),
)
@click.argument("source", metavar="DATABASE", type=PathType(exists=True, dir_okay=False))
@click.option(
    "--replay-dir",
    type=PathType(exists=True, file_okay=False),
    metavar="DIR",
    help="Where MOSAIC has its replay files. Default: replay beside the database, or above it.",
)
@click.option(
    "--compact", is_flag=True, help="When all is taken over and compared, drop the arrays from the database, for good."
)
@click.option("--dry-run", is_flag=True, help="Only look, and say what would be done.")
@json_option
@store_option
def migrate_mosaic(
    source: str, replay_dir: str | None, compact: bool, dry_run: bool, as_json: bool, store_path: str | None
) -> None:
    """Take over the runs of MOSAIC's telemetry DATABASE and of its replay files.

    Arrays are copied out of the database, read back and compared, one by one; replay files are adopted as they are. The
    store is made if there is none. Runs that are in it already are skipped, so that the command can be given again, as
    after a crash. Ends with exit code 1 if a run was refused or differs from the one in the store.

    With --compact, the columns that held arrays then go from the database, and their room is given back. All of it is
    compared once more before; where anything is missing, nothing is changed.
    """
    from playhead import opening
    from playhead.integrations import mosaic

    path = opening.locate(store_path)
    options: dict[str, Any] = {"replay_dir": replay_dir, "progress": sys.stderr.isatty()}
    if not dry_run:
        with opening.open(path) as store:
            report = mosaic.migrate(source, store, compact=compact, **options)
    elif path.exists():
        with opening.open(path, mode="r") as store:
            report = mosaic.survey(source, store, **options)
    else:
        report = mosaic.survey(source, **options)
    _print(report, as_json)


def _print(report: runicorn.Report | mosaic.Report, as_json: bool) -> None:
    if as_json:
        output.print_json(report.to_json())
    else:
        for line in str(report).splitlines():
            click.echo(words.one_line(line))
    if not report.is_complete:
        raise click.exceptions.Exit(1)


def _with_a_bar(things: Sequence[Any]) -> Iterable[Any]:
    """Show how far the work is, where a person can see it."""
    if not sys.stderr.isatty():
        return things
    from rich.console import Console
    from rich.progress import track

    from playhead.integrations.runicorn.roots import Candidate

    what = "runs" if all(isinstance(thing, Candidate) for thing in things) else "artifacts"
    return track(things, f"Importing {what}", console=Console(stderr=True), transient=True)
