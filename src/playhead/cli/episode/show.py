"""`playhead episode show`: one episode in full."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from playhead.cli import output, words
from playhead.cli.episode.options import episode_argument
from playhead.cli.episode.source import Found, created_among, find_episode
from playhead.cli.errors import complain
from playhead.cli.options import examples, json_option, store_option
from playhead.cli.output import Cell, Column
from playhead.cli.sparkline import sparkline

if TYPE_CHECKING:
    from playhead.episode import Episode

_PROVENANCE = ("writer", "schema_version", "created_ts_ns", "uid", "path")


@click.command(
    "show",
    epilog=examples(
        "playhead episode show teleop/0",
        "playhead episode show teleop/-1 --json",
        "playhead episode show path/to/000000000000/000000000012",
    ),
)
@episode_argument
@json_option
@store_option
def command(episode: str, as_json: bool, store_path: str | None) -> None:
    """Show one episode: items, signals, rates.

    EPISODE is DATASET/INDEX, DATASET/UID or a path. Times are seconds from the first sample of all. The jitter is
    what 95 of 100 intervals differ from the median by at most; a gap is an interval of more than five times the median.
    """
    from playhead.cli.episode.described import described

    found = find_episode(store_path, episode)
    opened = found.open()
    signals = described(opened)
    if as_json:
        output.print_json(_facts(found, opened) | {"signals": signals})
    else:
        _print(found, opened, signals)
    problems = [one["problem"] for one in signals if one["problem"]]
    for problem in problems:
        complain(problem)
    if problems:
        raise click.exceptions.Exit(1)


def _facts(found: Found, episode: Episode) -> dict[str, Any]:
    created = episode.meta.get("created_ts_ns")
    return {
        "uid": episode.uid,
        "dataset": found.source.label if found.source else None,
        "index": found.entry.index if found.entry else None,
        "state": found.entry.state if found.entry else "",
        "created_ts_ns": created,
        "static": episode.static,
        "meta": episode.meta,
        "path": str(found.path),
    }


def _print(found: Found, episode: Episode, signals: list[dict[str, Any]]) -> None:
    state = f"  {click.style(found.entry.state, dim=True)}" if found.entry and found.entry.state else ""
    click.echo(f"{click.style(words.one_line(found.label), bold=True)}{state}")
    meta = episode.meta
    created = created_among(meta)
    seconds = None if created is None else created / 1e9
    ends = [one["last"] for one in signals if one["last"] is not None]
    output.print_facts(
        [
            ("uid", words.one_line(episode.uid or "")),
            ("created", f"{words.moment(seconds)} ({words.age(seconds)})" if seconds else ""),
            ("duration", words.duration(max(ends, default=0.0))),
            ("writer", words.one_line(_writer(meta.get("writer")))),
            *((name, words.value(value)) for name, value in meta.items() if name not in _PROVENANCE),
            ("folder", str(found.path)),
        ]
    )
    if static := episode.static:
        output.print_heading("Static")
        output.print_facts((words.one_line(name), words.value(value)) for name, value in static.items())
    if signals:
        output.print_heading("Signals")
        _print_signals(signals)


def _writer(writer: Any) -> str:
    if not isinstance(writer, dict):
        return ""
    name = f"{writer.get('name', '')} {writer.get('version', '')}".strip()
    git = writer.get("git") if isinstance(writer.get("git"), dict) else {}
    commit = f"git {str(git.get('commit'))[:12]}{', with changes' if git.get('dirty') else ''}" if git else ""
    return ", ".join(part for part in (name, commit) if part)


def _print_signals(signals: list[dict[str, Any]]) -> None:
    columns = [
        Column("name", style="bold", shrinks=True),
        Column("lane", leaves=3),
        Column("kind", shrinks=True),
        Column("samples", right=True),
        Column("from", right=True, leaves=2),
        Column("to", right=True, leaves=1),
        Column("rate", right=True),
        Column("jitter", right=True, leaves=4),
        Column("longest", right=True, leaves=5),
        Column("gaps", right=True),
        Column("curve", shrinks=True, leaves=6),
    ]
    output.print_table(columns, [_row(one) for one in signals], indent=2)


def _row(one: dict[str, Any]) -> list[str | Cell]:
    name = words.one_line(one["name"])
    if one["problem"]:
        return [name, "", Cell("damaged", "red"), *([""] * 8)]
    return [
        name,
        one["lane"],
        _kind(one),
        f"{one['samples']:,}",
        "" if one["start"] is None else f"{one['start']:.3f}",
        "" if one["last"] is None else f"{one['last']:.3f}",
        "" if one["rate_hz"] is None else f"{words.number(one['rate_hz'], 4)} Hz",
        _short(one["jitter"]),
        _short(one["longest_interval"]),
        Cell(f"{one['gaps']:,}", "yellow") if one["gaps"] else "",
        Cell(sparkline(one["curve"]), "cyan"),
    ]


def _kind(one: dict[str, Any]) -> str:
    shape = one["shape"]
    if one["lane"] != "video":
        return f"{one['dtype']} [{'×'.join(map(str, shape))}]" if shape else str(one["dtype"])
    if not shape:
        return "no frames"
    channels = {1: " grey", 2: " grey"}.get(shape[2] if len(shape) == 3 else 1, "")
    size = f"{shape[1]}×{shape[0]}{channels}{' 16 bit' if one['dtype'] == 'uint16' else ''} {one['codec']}"
    loss = one["loss"]
    return f"{size}, {loss['psnr_db']:.1f} dB" if loss and loss["psnr_db"] is not None else size


def _short(seconds: float | None) -> str:
    if seconds is None:
        return ""
    factor, unit = (1, "s") if seconds >= 1 else (1e3, "ms") if seconds >= 1e-3 else (1e6, "µs")
    return f"{words.number(round(seconds * factor, 2), 3)} {unit}"
