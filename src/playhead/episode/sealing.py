"""From tape to files: the end of every recording, and the way back from a crash.

A power cut may leave any part of what was not synced. So all files are written, then synced in one round, and only then
the mark goes; the tape goes last. Until the mark is gone, the tape is what counts.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from playhead import disk, facts, filesystem, owner, strictjson, tape
from playhead.episode import lanes
from playhead.episode.reader import DiskEpisode
from playhead.episode.seals import SYNCED, Seals, is_unsynced
from playhead.errors import Damaged, Misplaced, PlayheadError
from playhead.layout import EpisodeFolder
from playhead.tape import Declaration, Sealed, Sealer

_BEGIN, _END = b"{\n", b"}"  # of every meta.json of Playhead
_ABOVE = 4  # folders above an episode that it may have been the first in: block, dataset, all datasets, store


def seal(folder: EpisodeFolder, *, finished: bool, salvage: bool = False, sync: bool = True) -> None:
    """Make an episode's files from its tape. Doing it again after a crash in the middle is fine.

    Args:
        folder: The episode; nobody records into it any more.
        finished: Whether it is whole; else it stays marked as unfinished.
        salvage: Keep what can be read of a damaged tape.
        sync: Wait for the medium.

    Raises:
        Damaged: The tape cannot be read; everything is as it was.
    """
    meta = identity(folder)
    if folder.tape.exists():
        meta |= _make_files(folder, meta, salvage=salvage)
    if sync:
        meta.pop(SYNCED, None)
    facts.write(folder.meta, meta | _lengths(DiskEpisode(folder.path)), durable=False)
    if sync:
        sync_contents(folder)
    if finished:
        disk.remove(folder.unfinished)
        if sync:
            disk.sync_folder(folder.path)


def recover(folder: EpisodeFolder, *, salvage: bool) -> None:
    """Make a normal episode of what a crash left; the caller holds the tape.

    Files that were sealed before the crash are kept if they are as they were sealed and the tape has no more than they:
    a power cut may have left the tape in part.

    Raises:
        Damaged: What was recorded cannot be read; `Misplaced` if it is another episode.
    """
    meta = identity(folder)
    check_tape(folder, meta)
    seals, records = Seals.among(meta), tape.records(folder.tape)
    is_made = seals.are_as_noted(folder)
    if seals.files and not is_made and not records and is_unsynced(meta):
        expected = "the files that were sealed, or the tape of which they were made"
        raise Damaged(folder.path, expected, "what a power cut left of them, which nobody had synced", "discard() it")
    if is_made and records <= seals.records:
        sync_contents(folder)
        disk.remove(folder.unfinished)
        disk.sync_folder(folder.path)
    else:
        seal(folder, finished=True, salvage=salvage)
    tape.take_away(folder.tape)


def identity(folder: EpisodeFolder) -> dict[str, Any]:
    """Read what an episode is, from `meta.json`, or from its tape if a power cut left no whole `meta.json`.

    Raises:
        Damaged: `meta.json` cannot be read, and no tape says the same.
    """
    try:
        found = facts.known(folder.meta, facts.EPISODE)
    except Damaged:
        found = tape.identity(folder.tape)
        if not found:
            raise
    return found or tape.identity(folder.tape)


def has_torn_meta(folder: EpisodeFolder) -> bool:
    """Return whether a `meta.json` that cannot be read was never wholly written: it is empty, has zeros, or stops."""
    try:
        data = disk.read_file(folder.meta)
    except (Damaged, OSError):
        return False
    is_cut_short = data[: len(_BEGIN)] == _BEGIN[: len(data)] and not data.rstrip().endswith(_END)
    return not data or b"\0" in data or is_cut_short


def check_tape(folder: EpisodeFolder, meta: Mapping[str, Any]) -> None:
    """See that the tape of an episode is of the episode that its `meta.json` says.

    Raises:
        Misplaced: It is of another.
    """
    said, uid = tape.identity(folder.tape).get("uid"), meta.get("uid")
    if None not in (said, uid) and said != uid:
        raise Misplaced(folder.tape, f"the tape of the episode {uid}", f"that of {said}", owner.REMEDY)


def sync_contents(folder: EpisodeFolder) -> None:
    """Wait until the files of an episode can be found after a power cut."""
    device = os.stat(folder.root).st_dev
    disk.sync_contents(folder.root, *above(folder.path), at_once=not _is_network(device, folder.path))


def above(path: Path) -> list[Path]:
    """List the folders above an episode whose names may be new."""
    return list(path.absolute().parents)[:_ABOVE]


@lru_cache(maxsize=64)
def _is_network(_device: int, path: Path) -> bool:
    return filesystem.is_network(path)


def _make_files(folder: EpisodeFolder, meta: dict[str, Any], *, salvage: bool) -> dict[str, Any]:
    """Make the files of all signals and `static.json`; return what `meta.json` says of them."""
    uid = meta.get("uid")
    sealers: list[Sealer] = []

    def sealer_of(declaration: Declaration) -> Sealer:
        sealers.append(lanes.sealer(declaration, folder, None if uid is None else str(uid)))
        return sealers[-1]

    read = tape.seal(folder.tape, sealer_of, salvage=salvage)
    files = [file for sealer in sealers for file in sealer.sealed]
    _remove_torn(folder, {file.name for file in files})
    data = strictjson.encode(read.facts, indent=True)
    disk.replace(folder.static, data, durable=False)
    static = Sealed(os.path.basename(folder.static), len(data), hashlib.sha256(data).hexdigest())
    return Seals.note([static, *files], read.records)


def _remove_torn(folder: EpisodeFolder, made: set[str]) -> None:
    """Remove what a power cut left of files that were being sealed, and that the tape knows nothing of."""
    for name, (signal, is_video) in folder.files().items():
        if name not in made:
            try:
                lanes.check_whole(lanes.signal(folder, signal, is_video=is_video))
            except (PlayheadError, FileNotFoundError):
                disk.remove(folder.path / name)


def _lengths(episode: DiskEpisode) -> dict[str, int]:
    """Say how long an episode is, so that a list need not open its signals.

    `duration_ns` begins when the last signal does, as Positronic counts; `span_ns` with the first sample of all.
    """
    has_samples = any(map(len, episode.signals.values()))
    duration = episode.last_ts - episode.start_ts if has_samples else 0
    return {"duration_ns": duration, "span_ns": episode._measured_duration()}
