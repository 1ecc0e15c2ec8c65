"""`playhead episode recover`: finish episodes whose recording was cut short."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from playhead.cli import output, words
from playhead.cli.episode import source as sources
from playhead.cli.episode.options import either_argument
from playhead.cli.episode.source import UNFINISHED, Found, Source
from playhead.cli.errors import complain
from playhead.cli.options import examples, json_option, open_to_change, open_to_read, store_option
from playhead.errors import Damaged, NotFound, StoreLocked

if TYPE_CHECKING:
    from playhead import Store
    from playhead.episode import DiskEpisode, Unfinished

Opener = Callable[[str | None], "Store"]

_LISTED = 10
RECOVERED, DISCARDED, RECORDING, FAILED, WOULD = "recovered", "discarded", "recording", "failed", "unfinished"


@click.command(
    "recover",
    epilog=examples(
        "playhead episode recover teleop --dry-run",
        "playhead episode recover teleop --all",
        "playhead episode recover teleop/3f2a91c0",
        "playhead episode recover teleop --all --discard --yes",
    ),
)
@either_argument
@click.option("--all", "every", is_flag=True, help="All unfinished episodes of the dataset, or of the store.")
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@click.option("--salvage", is_flag=True, help="Keep what can be read of recordings that their medium has damaged.")
@click.option("--discard", is_flag=True, help="Remove them for good instead. Asks first.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@store_option
def command(
    source: str | None,
    every: bool,
    dry_run: bool,
    salvage: bool,
    discard: bool,
    yes: bool,
    as_json: bool,
    store_path: str | None,
) -> None:
    """Finish episodes whose recording was cut short.

    EPISODE is DATASET/UID, of which the beginning is enough, or a path; with --all, every unfinished episode of DATASET
    or of the whole store. What was recorded becomes a normal episode: at most the last second is missing. One that is
    still being recorded is left alone. Ends with exit code 1 if one could not be recovered.
    """
    opener = open_to_read if dry_run else open_to_change
    chosen = _chosen(source, every or dry_run, store_path, opener)
    if discard and not dry_run and not yes and (due := [one for one in chosen if not one.is_recorded]):
        _ask(due)
    action = None if dry_run else _discard if discard else partial(_recover, salvage=salvage)
    done = [_treated(one, action) for one in chosen]
    if as_json:
        output.print_json(done)
    else:
        _print(done)
    if any(one["outcome"] == FAILED for one in done):
        raise click.exceptions.Exit(1)


def _chosen(text: str | None, every: bool, store_path: str | None, opener: Opener) -> list[Unfinished]:
    found = None if text is None else sources.find(store_path, text)
    if isinstance(found, Found):
        if not found.is_unfinished:
            raise NotFound(f"the episode {found.label} is whole: there is nothing to recover")
        return _opened(store_path, opener, found.source, [found.path])
    if not every:
        raise click.UsageError("name one episode, or say --all for every unfinished one.")
    return [
        one
        for source in (sources.datasets(store_path) if found is None else [found])
        for one in _opened(store_path, opener, source, [e.folder.path for e in source.entries if e.state == UNFINISHED])
    ]


def _opened(store_path: str | None, opener: Opener, source: Source | None, paths: list[Path]) -> list[Unfinished]:
    """Open unfinished episodes; the catalogue of their store hears what becomes of them."""
    from playhead.episode import Unfinished

    known: dict[Path, Unfinished] = {}
    if source is not None and source.name is not None and paths:
        store = opener(store_path)
        click.get_current_context().call_on_close(store.close)
        known = {one.path: one for one in store.dataset(source.name).unfinished}
    return [known.get(path) or Unfinished(path) for path in paths]


def _treated(one: Unfinished, action: Callable[[Unfinished], dict[str, Any]] | None) -> dict[str, Any]:
    found: dict[str, Any] = {"path": str(one.path), "uid": one.uid, "outcome": WOULD, "signals": {}, "duration": None}
    try:
        if one.is_recorded:
            return found | {"outcome": RECORDING, "signals": dict.fromkeys(one.signals)}
        if action is None:
            return found | {"signals": dict.fromkeys(one.signals)}
        return found | action(one)
    except StoreLocked:
        return found | {"outcome": RECORDING}
    except (Damaged, OSError) as error:
        complain(str(error))
        return found | {"outcome": FAILED}


def _recover(one: Unfinished, *, salvage: bool) -> dict[str, Any]:
    return {"outcome": RECOVERED} | _came_back(one.recover(salvage=salvage))


def _came_back(episode: DiskEpisode) -> dict[str, Any]:
    samples = {name: len(signal) for name, signal in episode.signals.items()}
    return {"signals": samples, "duration": episode.duration_ns / 1e9}


def _discard(one: Unfinished) -> dict[str, Any]:
    one.discard()
    return {"outcome": DISCARDED}


def _ask(due: Sequence[Unfinished]) -> None:
    if not sys.stdin.isatty():
        raise click.UsageError(
            "this removes recordings for good, and there is no terminal to ask in. Add --yes to do it."
        )
    for one in due[:_LISTED]:
        click.echo(f"  {one.path}  {', '.join(map(words.one_line, one.signals)) or 'no signals'}", err=True)
    if len(due) > _LISTED:
        click.echo(f"  … and {len(due) - _LISTED} more", err=True)
    click.confirm(f"Remove {words.counted(len(due), 'unfinished episode')} for good?", abort=True, err=True)


_SAID: dict[str, Callable[[dict[str, Any]], str]] = {
    RECOVERED: lambda one: f"Recovered {one['path']}: {_contents(one)}, {words.duration(one['duration'])}.",
    DISCARDED: lambda one: f"Removed {one['path']} for good.",
    RECORDING: lambda one: f"Skipped {one['path']}: it is still being recorded.",
    WOULD: lambda one: f"Unfinished: {one['path']}, with {_contents(one)}.",
}


def _contents(one: dict[str, Any]) -> str:
    parts = [
        words.one_line(name) if count is None else f"{words.one_line(name)} ({count:,})"
        for name, count in one["signals"].items()
    ]
    if not parts:
        return "no signals"
    samples = [count for count in one["signals"].values() if count is not None]
    total = f"{words.counted(sum(samples), 'sample')} of " if samples else ""
    return f"{total}{', '.join(parts)}"


def _print(done: Sequence[dict[str, Any]]) -> None:
    if not done:
        click.echo("Nothing to recover.")
    for one in done:
        if one["outcome"] in _SAID:
            click.echo(_SAID[one["outcome"]](one))
