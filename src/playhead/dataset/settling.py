"""What becomes of episodes whose end did not wait for the medium when the power is cut.

Such an episode says so in its `meta.json`, and is a finished one as long as the machine runs. Before the first of them,
`.settled.json` says that such follow. After the next start of the machine they are looked at once: one that is not as
it was sealed is unfinished if its tape is there, and lost if it is not. A `meta.json` that was never written is told
from one that was damaged by what is in it.
"""

from __future__ import annotations

import enum
import os
from collections.abc import Callable, Iterable

from playhead import disk, facts, filesystem, process, tape
from playhead.episode import lanes
from playhead.episode.sealing import has_torn_meta, identity
from playhead.episode.seals import Seals, is_unsynced
from playhead.errors import Damaged, PlayheadError
from playhead.layout import DatasetFolder, EpisodeFolder
from playhead.settled import Settled, is_due

_MARK = b"unfinished"


class Fate(enum.Enum):
    """What a power cut made of an episode."""

    KEPT = enum.auto()
    UNFINISHED = enum.auto()
    LOST = enum.auto()


def settle(folder: DatasetFolder, aside: Callable[[EpisodeFolder], object] | None = None) -> tuple[list[int], int]:
    """Look at the episodes that a power cut may have taken, once after each start of the machine.

    Args:
        folder: The dataset.
        aside: Moves an episode away that is lost; without it, such an episode is marked as unfinished.

    Returns:
        The numbers of those that were in doubt, and how many of them are lost.
    """
    if not is_due(folder) or filesystem.is_network(folder.path):
        return [], 0
    with disk.locked(folder.path):
        known = Settled.read(folder)
        if known.is_of_this_boot:
            return [], 0
        numbers = [number for number in folder.numbers() if number >= known.below]
        doubtful = [number for number in numbers if _is_doubtful(folder.episode(number))]
        lost = sum(_settle_one(folder.episode(number), aside) for number in doubtful)
        Settled(_below(folder, numbers), process.boot()).write(folder)
    return doubtful, lost


def _settle_one(folder: EpisodeFolder, aside: Callable[[EpisodeFolder], object] | None) -> bool:
    """Bring one episode to rest, and return whether it is lost."""
    fate = fate_of(folder)
    if fate is Fate.LOST and aside is not None:
        aside(folder)
    elif fate is not Fate.KEPT and not folder.is_unfinished():
        disk.replace(folder.unfinished, _MARK)
    return fate is Fate.LOST


def _below(folder: DatasetFolder, numbers: Iterable[int]) -> int:
    """Return the number of the first episode that somebody records, or of the next one."""
    recorded = (number for number in numbers if tape.is_recorded(folder.episode(number).tape))
    return next(recorded, folder.highest() + 1)


def begin_unsynced(folder: DatasetFolder) -> None:
    """Note that episodes follow whose ends do not wait for the medium."""
    settle(folder)
    known = Settled.read(folder)
    if not known.is_of_this_boot or not known.has_unsynced:
        disk.make_folders(folder.path, durable=False)
        below = known.below if os.path.exists(folder.settled) else folder.highest() + 1  # those that are there did wait
        Settled(below, process.boot(), has_unsynced=True).write(folder, named=True)


def sync(folder: DatasetFolder) -> None:
    """Wait until all episodes that have ended are on the medium, and note that they are."""
    if not folder.path.exists():
        return
    settle(folder)
    known = Settled.read(folder)
    numbers = [number for number in folder.numbers() if number >= known.below]
    ended_below = next((one for one in numbers if folder.episode(one).is_unfinished()), folder.highest() + 1)
    disk.sync_file_system(folder.path)
    if ended_below > known.below:
        Settled(ended_below, process.boot(), known.has_unsynced).write(folder)


def doubtful(folder: DatasetFolder) -> range:
    """Return the numbers of the episodes that a power cut may have taken, for readers, who settle nothing."""
    known = Settled.read(folder)
    is_doubtful = known.has_unsynced and not known.is_of_this_boot
    return range(known.below, folder.highest() + 1) if is_doubtful else range(0)


def is_lost(folder: EpisodeFolder) -> bool:
    """Return whether a power cut left less of an episode than its files."""
    return fate_of(folder) is not Fate.KEPT


def _is_doubtful(folder: EpisodeFolder) -> bool:
    meta = _meta(folder)
    return meta is None or not meta or is_unsynced(meta)


def fate_of(folder: EpisodeFolder) -> Fate:
    """Return what a power cut made of an episode that was not on the medium for sure."""
    if tape.is_recorded(folder.tape):
        return Fate.KEPT
    meta = _meta(folder)
    if meta is None and not has_torn_meta(folder):
        return Fate.KEPT  # damaged, but not by a power cut
    if meta and (not is_unsynced(meta) or Seals.among(meta).are_as_noted(folder)):
        return Fate.KEPT
    if not meta and _is_of_others(folder):
        return Fate.KEPT
    if _can_recover(folder):
        return Fate.UNFINISHED
    is_nothing = not folder.files() and not Seals.among(meta or {}).files
    return Fate.KEPT if folder.is_unfinished() and is_nothing else Fate.LOST


def _meta(folder: EpisodeFolder) -> dict[str, object] | None:
    """Read `meta.json`; empty if it is missing, None if it cannot be read."""
    try:
        return facts.known(folder.meta, facts.EPISODE)
    except Damaged:
        return None


def _is_of_others(folder: EpisodeFolder) -> bool:
    """Return whether files without a `meta.json` are whole, and do not say that Playhead recorded them."""
    try:
        signals = folder.signals()
        for name, is_video in signals.items():
            signal = lanes.signal(folder, name, is_video=is_video)
            lanes.check_whole(signal)
            if lanes.owner_of(signal) is not None:
                return False
    except (PlayheadError, OSError):
        return False
    return bool(signals)


def _can_recover(folder: EpisodeFolder) -> bool:
    """Return whether the tape has something, and it is known of which episode."""
    try:
        return bool(tape.records(folder.tape)) and "uid" in identity(folder)
    except Damaged:
        return bool(tape.identity(folder.tape))
