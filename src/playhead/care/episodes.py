"""Episodes under the lens: every file and tape, and their rows in the catalogue."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from playhead import disk, episode_index, facts, tape
from playhead.care import journals
from playhead.care.finding import DAMAGE, NOTE, QUARANTINE, REBUILD, WARNING, Finding, Thing, of_damage
from playhead.care.ground import Ground
from playhead.check import verify_episode
from playhead.dataset import LocalDataset
from playhead.errors import Damaged
from playhead.layout import DatasetFolder, EpisodeFolder

LANE = "episodes"
_PARQUET = b"PAR1"


def things(ground: Ground) -> Iterator[Thing]:
    """Tell of every episode, and of the edits of every dataset."""
    for name in ground.layout.datasets():
        folder = ground.layout.dataset(name)
        yield Thing(LANE, name, partial(_edits, folder))
        for number in folder.numbers():
            yield Thing(LANE, f"{name}/{number:012}", partial(check, ground, name, number))


def check(ground: Ground, name: str, number: int, full: bool) -> Iterator[Finding]:
    """Look at one episode."""
    folder = ground.layout.dataset(name).episode(number)
    if not folder.path.is_dir():
        return  # removed since
    recover = ground.command(f"episode recover {folder.path}")
    if folder.is_unfinished():
        if tape.is_recorded(folder.tape):
            yield Finding(NOTE, LANE, folder.path, "a finished episode", "one that is being recorded")
            return
        yield Finding(WARNING, LANE, folder.path, "a finished episode", "one that was cut short", recover)
    if folder.tape.is_dir():
        yield from journals.look(LANE, folder.tape, recover, full=full)
    yield from _deeply(ground, folder) if full else _quickly(ground, folder)
    if full and ground.catalogue is not None:
        yield from _against_catalogue(ground, name, number)


def _deeply(ground: Ground, folder: EpisodeFolder) -> Iterator[Finding]:
    for found in verify_episode(folder.path):
        if found.severity == DAMAGE:
            cure, mend = _cure(ground, found.path)
            yield Finding(DAMAGE, LANE, found.path, "what was recorded", found.text, mend, cure)


def _quickly(ground: Ground, folder: EpisodeFolder) -> Iterator[Finding]:
    """Look at what files there are, and at the ends of those that have a footer."""
    try:
        signals = folder.signals()
        for flaw in facts.flaws(folder.meta, facts.EPISODE):
            cure, mend = _cure(ground, Path(flaw.path))
            yield of_damage(LANE, flaw, mend, cure)
        facts.load(folder.static)
    except Damaged as error:
        cure, mend = _cure(ground, Path(error.path))
        yield of_damage(LANE, error, mend, cure)
        return
    for signal, is_video in signals.items():
        for path in (folder.video(signal), folder.frames(signal)) if is_video else (folder.vector(signal),):
            with open(disk.open_to_read(path), "rb") as file:
                head, size = file.read(8), file.seek(0, os.SEEK_END)
                file.seek(max(0, size - 4))
                tail = file.read()
            is_whole = head[4:] == b"ftyp" if path.suffix == ".mp4" else (head[:4], tail) == (_PARQUET, _PARQUET)
            if not is_whole:
                cure, mend = _cure(ground, path)
                yield Finding(DAMAGE, LANE, path, "a whole file", "none: its ends are others", mend, cure)


def _cure(ground: Ground, path: Path) -> tuple[str, str]:
    """Say what to do about a damaged file: one of a signal can be moved away, and the others be used."""
    if path.suffix in (".parquet", ".mp4"):
        return QUARANTINE, f"Restore it from a copy, or move it aside: playhead repair --store {ground.layout.root}"
    return "", "Mend the file by hand, or restore it from a copy"


def _against_catalogue(ground: Ground, name: str, number: int) -> Iterator[Finding]:
    assert ground.catalogue is not None
    scratch, theirs = ground.scratch()
    episode_index.update(scratch, name, [number])
    for difference in ground.catalogue.differences_in_episode(theirs, name, number):
        expected = f"{difference.where}: {difference.theirs}, as the folder says"
        path, mend = ground.layout.database, ground.command("rebuild")
        yield Finding(WARNING, "catalogue", path, expected, difference.ours, mend, REBUILD)


def _edits(folder: DatasetFolder, full: bool) -> Iterator[Finding]:
    if full and folder.path.is_dir():
        try:
            _ = LocalDataset(folder.path).edited.dropped
        except Damaged as error:
            yield of_damage(LANE, error, "Mend the line by hand; until then, no edit of this dataset counts")
