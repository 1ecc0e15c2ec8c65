"""From tape to files: the end of every recording, and the way back from a crash."""

from __future__ import annotations

import contextlib
from typing import Any

from playhead import disk, facts, tape
from playhead.episode import lanes
from playhead.episode.reader import DiskEpisode
from playhead.layout import EpisodeFolder


def seal(folder: EpisodeFolder, *, finished: bool, salvage: bool = False) -> None:
    """Make an episode's files from its tape. Doing it again after a crash in the middle is fine.

    Args:
        folder: The episode; nobody records into it any more.
        finished: Whether it is whole; else it stays marked as unfinished.
        salvage: Keep what can be read of a damaged tape.

    Raises:
        Damaged: The tape cannot be read; everything is as it was.
    """
    if folder.tape.exists():
        static: dict[str, Any] = tape.seal(
            folder.tape, lambda declaration: lanes.sealer(declaration, folder), salvage=salvage
        )
        facts.write(folder.static, static, named=False)
    facts.write(folder.meta, facts.load(folder.meta) | _lengths(DiskEpisode(folder.path)), named=False)
    disk.sync_folder(folder.path)
    if finished:
        disk.remove(folder.unfinished)
        disk.sync_folder(folder.path)
    with contextlib.suppress(FileNotFoundError):
        disk.remove_tree(folder.tape)


def _lengths(episode: DiskEpisode) -> dict[str, int]:
    """Say how long an episode is, so that a list need not open its signals.

    `duration_ns` begins when the last signal does, as Positronic counts; `span_ns` with the first sample of all.
    """
    has_samples = any(map(len, episode.signals.values()))
    duration = episode.last_ts - episode.start_ts if has_samples else 0
    return {"duration_ns": duration, "span_ns": episode._measured_duration()}
