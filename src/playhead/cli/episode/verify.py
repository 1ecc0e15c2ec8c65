"""`playhead episode verify`: check that everything can be read, and is any good."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from playhead.cli import output, words
from playhead.cli.episode import played, progress
from playhead.cli.episode import source as sources
from playhead.cli.episode.options import either_argument
from playhead.cli.episode.source import Found, Source
from playhead.cli.options import examples, json_option, open_to_read, store_option
from playhead.errors import NotFound

if TYPE_CHECKING:
    from playhead.check import Finding
    from playhead.replay import ReplayEpisode

_STYLES = {"damage": "red", "warning": "yellow", "note": "cyan"}


@click.command(
    "verify",
    epilog=examples(
        "playhead episode verify",
        "playhead episode verify teleop --deep",
        "playhead episode verify teleop/12 --json",
        "playhead episode verify 20260101_120000_a1b2c3-ep0004",
    ),
)
@either_argument
@click.option("--deep", is_flag=True, help="Also decode every frame: finds cameras that froze or repeat. Slow.")
@json_option
@store_option
def command(source: str | None, deep: bool, as_json: bool, store_path: str | None) -> None:
    """Check that everything can be read, and is any good.

    Without an argument, all datasets of the store. Reads every value and compares all checksums, then looks at times
    and values: gaps, clocks that jump or differ, stamps in another unit, NaN, signals that never change. Nothing is
    written. Ends with exit code 1 if something is damaged.

    The id of a run, or of an episode in it, checks what agents played: frames that are not stored are made again from
    each state to the next and compared with what was noted of them; the first step that differs is named.
    """
    from playhead.check import DAMAGE

    chosen = _chosen(store_path, source)
    found: list[Finding] = []
    episodes = 0
    if chosen is None:
        found, episodes = _verify_played(store_path, source or "")
    for one in chosen or []:
        findings, count = _verify(one, deep)
        found += findings
        episodes += count
    if as_json:
        output.print_json({"episodes": episodes, "deep": deep, "findings": [one.described() for one in found]})
    else:
        _print(found, [one.path for one in chosen or []])
        _print_sum(found, episodes, deep)
    if any(finding.severity == DAMAGE for finding in found):
        raise click.exceptions.Exit(1)


def _chosen(store_path: str | None, source: str | None) -> list[Source | Found] | None:
    """Give the datasets or the episode that is meant; None where it may be what agents played."""
    if source is None:
        return list(sources.datasets(store_path))
    try:
        return [sources.find(store_path, source)]
    except NotFound:
        if "/" in source:
            raise
        return None


def _verify_played(store_path: str | None, text: str) -> tuple[list[Finding], int]:
    from playhead.check import verify_replay

    with open_to_read(store_path) as store:
        episodes = played.find(store, text)
        walk: Iterable[ReplayEpisode] = progress.bar(f"Checking {words.one_line(text)}")(episodes)
        return [finding for episode in walk for finding in verify_replay(episode)], len(episodes)


def _verify(one: Source | Found, deep: bool) -> tuple[list[Finding], int]:
    from playhead.check import verify_dataset, verify_episode

    if isinstance(one, Found):
        return verify_episode(one.path, deep=deep), 1
    if not one.folders:
        return [], 0
    title = f"Checking {words.one_line(one.label)}"
    return verify_dataset(one.path, deep=deep, watch=progress.bar(title)), len(one.folders)


def _print(findings: Sequence[Finding], roots: Sequence[Path]) -> None:
    """Print findings, those of one file or folder under its name."""
    grouped: dict[Path, list[Finding]] = {}
    for finding in findings:
        grouped.setdefault(finding.path, []).append(finding)
    for path, group in grouped.items():
        click.secho(_shown(path, roots), bold=True)
        for finding in group:
            click.echo(
                f"  {click.style(finding.severity, fg=_STYLES[finding.severity])}  {words.one_line(_text(finding))}"
            )


def _text(finding: Finding) -> str:
    about = "" if finding.signal is None else f"{finding.signal}: "
    step = f". {finding.next_step}" if finding.next_step else ""
    return f"{about}{finding.text}{step}"


def _shown(path: Path, roots: Sequence[Path]) -> str:
    """Give a path from the folder that was asked for on, where there is one folder."""
    root = roots[0] if len(roots) == 1 else None
    text = str(path.relative_to(root)) if root and path != root and path.is_relative_to(root) else str(path)
    return words.one_line(text)


def _print_sum(findings: Sequence[Finding], episodes: int, deep: bool) -> None:
    counts = Counter(finding.severity for finding in findings)
    said = [
        f"{counts['damage']:,} damaged" if counts["damage"] else "",
        words.counted(counts["warning"], "warning") if counts["warning"] else "",
        words.counted(counts["note"], "note") if counts["note"] else "",
    ]
    result = ", ".join(filter(None, said)) or "all is well"
    frames = "" if deep else " Frames were not decoded; --deep does that too."
    click.echo(f"{words.counted(episodes, 'episode')} checked: {result}.{frames}")
