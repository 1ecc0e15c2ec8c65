"""Episodes under the lens: every file and tape, and their rows in the catalogue."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from playhead import disk, episode_index, facts, strictjson, tape
from playhead.care import datasets, journals
from playhead.care.finding import DAMAGE, EPISODE, NOTE, QUARANTINE, REBUILD, WARNING, Finding, Thing, of_damage
from playhead.care.ground import Ground
from playhead.check import belonging, verify_episode
from playhead.check.belonging import Said
from playhead.episode import Unfinished, lanes, sealing
from playhead.episode.seals import Seals
from playhead.errors import Damaged, Misplaced
from playhead.layout import EpisodeFolder
from playhead.owner import Fields, Owner

LANE = "episodes"
_PARQUET = b"PAR1"
_LEAST_PARQUET = 12  # bytes


def things(ground: Ground) -> Iterator[Thing]:
    """Tell of every episode, and of the edits of every dataset."""
    for name in ground.layout.datasets():
        folder = ground.layout.dataset(name)
        yield Thing(LANE, name, partial(datasets.check, ground, name), folder.path)
        for number in folder.numbers():
            yield Thing(LANE, f"{name}/{number:012}", partial(check, ground, name, number), folder.episode(number).path)


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
        try:
            sealing.check_tape(folder, facts.load(folder.meta))
        except Misplaced as error:
            yield of_damage(LANE, error)
            return
        except Damaged:
            pass  # found already, or with meta.json
    yield from _deeply(ground, folder) if full else _quickly(ground, folder)
    if ground.catalogue is not None and _is_static_right(folder):  # the catalogue must not learn what is another's
        is_whole = full and not folder.is_unfinished()  # what a crash leaves is indexed once it was recovered
        yield from _against_catalogue(ground, name, number) if is_whole else _against_uid(ground, name, number)


def _deeply(ground: Ground, folder: EpisodeFolder) -> Iterator[Finding]:
    for found in verify_episode(folder.path):
        if found.severity == DAMAGE and not found.is_elsewhere:
            cure, mend = _cure(ground, found.path)
            yield Finding(DAMAGE, LANE, found.path, "what was recorded", found.text, mend, cure)
        elif not found.path.exists() and found.is_elsewhere:
            yield _missing(ground, found.path)
        elif found.is_elsewhere:  # whole, so that a person decides where it goes
            yield Finding(found.severity, LANE, found.path, "what was recorded here", found.text, found.next_step)


def _quickly(ground: Ground, folder: EpisodeFolder) -> Iterator[Finding]:
    """Look at what files there are, whose they are, and at the ends of those that have a footer."""
    try:
        signals = folder.signals()
        for flaw in facts.flaws(folder.meta, facts.EPISODE):
            cure, mend = _cure(ground, Path(flaw.path))
            yield of_damage(LANE, flaw, mend, cure)
        meta = facts.load(folder.meta)
        facts.load(folder.static)
    except Damaged as error:
        cure, mend = _cure(ground, Path(error.path))
        yield of_damage(LANE, error, mend, cure)
        return
    seals, uid = Seals.among(meta), meta.get("uid")
    said: list[Said] = []
    for signal, is_video in signals.items():
        for path in (folder.video(signal), folder.frames(signal)) if is_video else (folder.vector(signal),):
            end = _end_of(path)
            try:
                if end is None:
                    raise Damaged(path, "a whole file", "none: its ends are others")
                if path.name == folder.owned(signal, is_video=is_video):
                    owner = seals.owner(folder, None if uid is None else str(uid), signal, path.name)
                    said.append(Said(signal, path, _said_in(end, owner, path, is_video=is_video)))
            except Damaged as error:
                cure, mend = _cure(ground, path)
                yield of_damage(LANE, error, mend, cure)
    strays = list(belonging.owners(folder, meta, said))
    for found in strays:
        yield Finding(found.severity, LANE, found.path, "what was recorded here", found.text, found.next_step)
    if any(found.signal is None for found in strays):
        return  # what meta.json says is of another episode
    try:
        seals.check_static(folder)
    except Damaged as error:
        yield of_damage(LANE, error)
    for name in seals.files:
        if not os.path.lexists(f"{folder.root}/{name}") and not seals.is_nothing(folder, name):
            yield _missing(ground, folder.path / name)


def _missing(ground: Ground, path: Path) -> Finding:
    """Make a finding of a file that was sealed and is gone."""
    remedy = "Restore it from a copy. If you removed it yourself, remove its entry from 'sealed' in meta.json"
    return ground.missing(LANE, Damaged(path, "the file that was sealed here", "no file", remedy))


def _end_of(path: Path) -> bytes | None:
    """Return the footer of a Parquet file, or nothing of an MP4; None if the file does not begin and end as it must."""
    with open(disk.open_to_read(path), "rb") as file:
        head, size = file.read(8), file.seek(0, os.SEEK_END)
        if path.suffix == ".mp4":
            return b"" if head[4:] == b"ftyp" else None
        file.seek(max(0, size - 8))
        tail = file.read()
        if (head[:4], tail[-4:]) != (_PARQUET, _PARQUET) or size < _LEAST_PARQUET:
            return None
        file.seek(max(0, size - 8 - int.from_bytes(tail[:4], "little")))
        return file.read()


def _said_in(end: bytes, owner: Owner, path: Path, *, is_video: bool) -> Fields | None:
    """Return whose a file says it is; it is parsed only if its end does not spell the right owner."""
    spelled = strictjson.encode({"owner": dict(owner.fields)})[1:-1]
    return owner.fields if spelled in end else lanes.said_by(path, is_video=is_video)


def _cure(ground: Ground, path: Path) -> tuple[str, str]:
    """Say what to do about a damaged file: one of a signal can be moved away, and the others be used."""
    if path.suffix in (".parquet", ".mp4"):
        return QUARANTINE, f"Restore it from a copy, or move it aside: playhead repair --store {ground.layout.root}"
    folder = EpisodeFolder(os.fspath(path.parent))
    if path != Path(folder.meta):
        return "", "Mend the file by hand, or restore it from a copy"
    with contextlib.suppress(Damaged):
        if tape.identity(folder.tape):
            return "", ground.command(f"episode recover {folder.path}")
    repair = f"playhead repair --store {ground.layout.root}"
    return EPISODE, f"Restore it from a copy, or move the episode aside: {repair}"


def _against_catalogue(ground: Ground, name: str, number: int) -> Iterator[Finding]:
    assert ground.catalogue is not None
    scratch, theirs = ground.scratch()
    episode_index.update(scratch, name, [number])
    folder, path = ground.layout.dataset(name).episode(number), ground.layout.database
    meta = facts.known(folder.meta, facts.EPISODE)
    if ground.is_of_claimed(folder):
        return
    is_vouched = bool(Seals.among(meta).files)
    for difference in ground.catalogue.differences_in_episode(theirs, name, number):
        expected = f"{difference.where}: {difference.theirs}, as the folder says"
        if is_vouched:
            yield Finding(WARNING, "catalogue", path, expected, difference.ours, ground.command("rebuild"), REBUILD)
        else:
            yield Finding(WARNING, "catalogue", path, expected, difference.ours, ground.undecided)


def _against_uid(ground: Ground, name: str, number: int) -> Iterator[Finding]:
    """Notice a folder that was moved by hand: its uid decides, and the catalogue has to follow."""
    assert ground.catalogue is not None
    known = ground.catalogue.uid_of_episode(name, number)
    found = Unfinished(ground.layout.dataset(name).episode(number).path).uid
    if known is not None and found is not None and known != found:
        path, mend = ground.layout.database, ground.command("rebuild")
        expected = f"{name}/{number:012}: the episode {found}, as the folder says"
        yield Finding(WARNING, "catalogue", path, expected, f"the episode {known}", mend, REBUILD)


def _is_static_right(folder: EpisodeFolder) -> bool:
    try:
        Seals.among(facts.load(folder.meta)).check_static(folder)
    except (Damaged, OSError):
        return False
    return True
