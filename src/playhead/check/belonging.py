"""Whether the files of an episode are those that were sealed there: whose they say they are, and their digests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playhead.check.finding import DAMAGE, WARNING, Finding
from playhead.episode.lanes import EPISODE
from playhead.episode.seals import KEY, REMEDY, Seals
from playhead.errors import Misplaced
from playhead.layout import EpisodeFolder
from playhead.tape import Sealed

UNSAID = "written before files of episodes said whose they are: files that were swapped are not noticed"


@dataclass(frozen=True, slots=True)
class Said:
    """What a file of a signal says of itself.

    Attributes:
        signal: The signal as which it is opened.
        path: The file.
        owner: Its owner; None if it has none.
    """

    signal: str
    path: Path
    owner: Mapping[str, str] | None


def look(folder: EpisodeFolder, meta: Mapping[str, Any], said: list[Said], damaged: set[Path]) -> Iterator[Finding]:
    """Look whether the files of an episode belong to it and are those that were sealed; every byte is read.

    Args:
        folder: The episode.
        meta: What its `meta.json` says.
        said: What its files say.
        damaged: Files of which it is known already that they are damaged.

    Yields:
        What does not belong here, or is not as it was sealed.
    """
    seals = Seals.among(meta)
    strays = list(owners(folder, meta, said))
    yield from strays
    if any(finding.signal is None for finding in strays):
        return  # whatever its meta.json says is of another episode
    signals = folder.signals_of(seals.files)
    known = {signals.get(path.name, path.name) for path in damaged} | {finding.signal for finding in strays}
    for name, noted in seals.files.items():
        signal = signals.get(name)
        if (signal or name) not in known and not seals.is_nothing(folder, name):
            yield from _against_digest(folder, seals, noted, signal)


def owners(folder: EpisodeFolder, meta: Mapping[str, Any], said: list[Said]) -> Iterator[Finding]:
    """Compare whose the files of an episode say they are with whose they should be.

    Yields:
        Each file that belongs elsewhere; or `meta.json`, without a signal, if that is what belongs elsewhere.
    """
    seals, uid = Seals.among(meta), _uid_of(meta)
    strays = list(_strays(folder, seals, uid, said))
    other = _other_episode(uid, said)
    if strays and other is not None and not seals.is_static_as_noted(folder):
        text = f"says that this is the episode {uid}, and all files of signals say {other}"
        step = "Put the right meta.json back, or the right files"
        yield Finding(DAMAGE, Path(folder.meta), text, next_step=step, is_elsewhere=True)
        return
    for one, error in strays:
        text = f"belongs elsewhere: expected {error.expected}, found {error.found}"
        yield Finding(DAMAGE, one.path, text, one.signal, error.remedy, is_elsewhere=True)


def is_stray(folder: EpisodeFolder, meta: Mapping[str, Any], said: Said) -> bool:
    """Return whether a file belongs elsewhere."""
    return any(True for _ in _strays(folder, Seals.among(meta), _uid_of(meta), [said]))


def _uid_of(meta: Mapping[str, Any]) -> str | None:
    return None if meta.get("uid") is None else str(meta["uid"])


def _against_digest(folder: EpisodeFolder, seals: Seals, noted: Sealed, signal: str | None) -> Iterator[Finding]:
    """Compare a file in which nothing is wrong with what was noted of it."""
    path = folder.path / noted.name
    if not path.exists():
        text = f"is missing: a file of {noted.size:,} bytes was sealed here"
        step = f"Restore it from a copy. If you removed it yourself, remove its entry from {KEY!r} in meta.json"
        yield Finding(DAMAGE, path, text, signal, step, is_elsewhere=True)
    elif not seals.is_as_noted(folder, noted.name):
        text = f"is whole, but not byte for byte the file of {noted.size:,} bytes that was sealed here"
        yield Finding(DAMAGE if signal is None else WARNING, path, text, signal, REMEDY, is_elsewhere=True)


def _strays(folder: EpisodeFolder, seals: Seals, uid: str | None, said: list[Said]) -> Iterator[tuple[Said, Misplaced]]:
    for one in said:
        try:
            seals.owner(folder, uid, one.signal, one.path.name).check(one.path, one.owner)
        except Misplaced as error:
            yield one, error


def _other_episode(uid: str | None, said: list[Said]) -> str | None:
    """Return the episode of which all files are, if that is one and another than the folder says."""
    found = {None if one.owner is None else one.owner.get(EPISODE) for one in said}
    (only,) = found if len(found) == 1 else (None,)
    return None if uid is None or only == uid else only
