"""`playhead episode ls`: list datasets, or the episodes of one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import click

from playhead.cli import output, words
from playhead.cli.episode import source as sources
from playhead.cli.episode.options import dataset_argument
from playhead.cli.episode.source import UNFINISHED, Entry, Source
from playhead.cli.options import examples, json_option, store_option
from playhead.cli.output import Cell, Column
from playhead.errors import Damaged

_RECORDING, _DAMAGED = "recording", "damaged"
_STYLES = {UNFINISHED: "yellow", _RECORDING: "cyan", _DAMAGED: "red", sources.DROPPED: "dim"}
_UID = 8
_PREVIEW = 60
_IN_TERMINAL = 100

_EXAMPLE = """\
    with playhead.open({path!r}) as store, store.dataset("teleop").new_episode() as episode:
        episode.append("force", 1.5, time.time_ns())"""


@click.command(
    "ls",
    epilog=examples(
        "playhead episode ls",
        "playhead episode ls teleop --limit 20",
        "playhead episode ls path/to/dataset --json",
    ),
)
@dataset_argument
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    metavar="N",
    help="Only the last N episodes, 0 for all. Default: all; in a terminal 100.",
)
@json_option
@store_option
def command(dataset: str | None, limit: int | None, as_json: bool, store_path: str | None) -> None:
    """List datasets, or the episodes of one.

    DATASET is the name of a dataset in the store, or the path of a folder of episodes. An episode without an index is
    dropped by an edit, unfinished (see `playhead episode recover`), or being recorded now.
    """
    if dataset is None:
        _list_datasets(store_path, as_json)
    else:
        if limit is None:
            limit = _IN_TERMINAL if output.in_terminal() and not as_json else 0
        _list_episodes(sources.find_dataset(store_path, dataset), limit, as_json)


def _list_datasets(store_path: str | None, as_json: bool) -> None:
    found = [_summary(source) for source in sources.datasets(store_path)]
    if as_json:
        output.print_json(found)
    elif not found:
        root = sources._store(store_path).root
        click.echo(f"No datasets in {root} yet. Record an episode:\n\n{_EXAMPLE.format(path=str(root))}", err=True)
    else:
        columns = [
            Column("dataset", style="bold"),
            Column("episodes", right=True),
            Column("duration", right=True),
            Column("size", right=True),
            Column("unfinished", right=True, style="yellow"),
            Column("dropped", right=True, style="dim"),
        ]
        output.print_table(columns, [_dataset_row(summary) for summary in found])


def _summary(source: Source) -> dict[str, Any]:
    every = [_outline(source, entry) for entry in source.entries]
    finished = [one for one in every if not one["state"]]
    return {
        "name": source.label,
        "path": str(source.path),
        "episodes": len(finished),
        "unfinished": sum(one["state"] in (UNFINISHED, _RECORDING) for one in every),
        "dropped": sum(one["state"] == sources.DROPPED for one in every),
        "duration": sum(one["duration"] or 0.0 for one in finished),
        "bytes": sum(one["bytes"] for one in every),
    }


def _dataset_row(summary: dict[str, Any]) -> list[str | Cell]:
    return [
        words.one_line(summary["name"]),
        f"{summary['episodes']:,}",
        words.duration(summary["duration"]),
        words.size(summary["bytes"]),
        f"{summary['unfinished']:,}" if summary["unfinished"] else "",
        f"{summary['dropped']:,}" if summary["dropped"] else "",
    ]


def _list_episodes(source: Source, limit: int, as_json: bool) -> None:
    entries = source.entries
    shown = [_outline(source, entry) for entry in (entries[-limit:] if limit else entries)]
    if as_json:
        output.print_json(shown)
        return
    if not entries:
        click.echo(f"No episodes in {source.label} yet.", err=True)
        return
    _print(shown)
    left = len(entries) - len(shown)
    if left:
        click.secho(f"… and {words.counted(left, 'episode')} before them; --limit 0 shows all", dim=True, err=True)
    unfinished = sum(entry.state == UNFINISHED for entry in entries)
    if unfinished:
        click.secho(
            f"{words.counted(unfinished, 'unfinished episode')}. Run: playhead episode recover {source.label} --all",
            fg="yellow",
            err=True,
        )


def _print(shown: Sequence[dict[str, Any]]) -> None:
    columns = [
        Column("index", right=True, style="bold"),
        Column("uid", leaves=4),
        Column("created", leaves=2),
        Column("duration", right=True),
        Column("size", right=True, leaves=3),
        *([Column("state")] if any(one["state"] for one in shown) else []),
        Column("signals", shrinks=True),
        Column("static", shrinks=True, leaves=1, style="dim"),
    ]
    output.print_table(columns, [_row(one, has_states=len(columns) == 8) for one in shown])


def _row(one: dict[str, Any], *, has_states: bool) -> list[str | Cell]:
    created = None if one["created_ts_ns"] is None else one["created_ts_ns"] / 1e9
    return [
        "" if one["index"] is None else str(one["index"]),
        one["uid"][:_UID] if one["uid"] else "",
        words.age(created) if output.in_terminal() else words.moment(created),
        words.duration(one["duration"]),
        words.size(one["bytes"]),
        *([Cell(one["state"], _STYLES.get(one["state"], ""))] if has_states else []),
        words.one_line(", ".join(one["signals"])),
        _preview(one["static"]),
    ]


def _preview(static: dict[str, Any]) -> str:
    text = ", ".join(f"{words.one_line(name)}={words.value(value)}" for name, value in static.items())
    return text if len(text) <= _PREVIEW else f"{text[: _PREVIEW - 1]}…"


def _outline(source: Source, entry: Entry) -> dict[str, Any]:
    """Give what a list says of an episode; one that cannot be read is in it all the same.

    Reads two small files, and of the others the names and sizes; only where those do not tell, the episode is opened.
    """
    folder = entry.folder
    found: dict[str, Any] = {
        "index": entry.index,
        "uid": None,
        "state": entry.state,
        "created_ts_ns": None,
        "duration": None,
        "signals": [],
        "bytes": _bytes(folder.root),
        "static": {},
        "path": folder.root,
    }
    try:
        meta = sources.load(folder.meta)
        found |= {"uid": sources.uid_among(meta), "created_ts_ns": sources.created_among(meta)}
        if entry.state == UNFINISHED:
            return found | _unfinished(entry)
        found["signals"] = list(folder.signals())
        if isinstance(duration := meta.get("span_ns"), int) and source.dataset is None:
            return found | {"duration": duration / 1e9, "static": sources.load(folder.static)}
        episode = source.open(entry)
        return found | {"duration": episode.duration_ns / 1e9, "static": episode.static}
    except (Damaged, OSError):
        return found | {"state": _DAMAGED}


def _unfinished(entry: Entry) -> dict[str, Any]:
    from playhead.episode import Unfinished

    episode = Unfinished(entry.folder.path)
    return {"state": _RECORDING if episode.is_recorded else UNFINISHED, "signals": episode.signals}


def _bytes(folder: str) -> int:
    """Count the bytes of an episode, with those that lie on its tape."""
    total = 0
    with os.scandir(folder) as entries:
        for entry in entries:
            total += _bytes(entry.path) if entry.is_dir(follow_symlinks=False) else entry.stat().st_size
    return total
