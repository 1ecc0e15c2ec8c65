"""Replays under the lens: every sealed file, journal, and the list of them for other programs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from playhead import facts, owner
from playhead.care import journals
from playhead.care.finding import DAMAGE, INDEX, NOTE, QUARANTINE, REBUILD, VIEW, WARNING, Finding, Thing, of_damage
from playhead.care.ground import Ground
from playhead.errors import Damaged, Misplaced, NotFound
from playhead.lanes.arrays import older
from playhead.lanes.arrays.foreign import ForeignPart
from playhead.lanes.arrays.parts import Part, SealedPart
from playhead.lanes.arrays.reel import Reel
from playhead.lanes.arrays.sealed import SealedFile
from playhead.layout import ReelFiles, run_of_reel
from playhead.wording import listed

LANE = "replay"
_RESTORE = "Restore it from a copy of the store; all other rows can be read"


def things(ground: Ground) -> Iterator[Thing]:
    """Tell of every reel, and of the list of them."""
    folder = ground.layout.replay
    if folder.path.is_dir():
        yield Thing(LANE, "", partial(_list, ground), folder.index)
    for reel_id in folder.reels():
        yield Thing(LANE, reel_id, partial(check, ground, folder.reel(reel_id)), folder.reel(reel_id).file)


def check(ground: Ground, files: ReelFiles, full: bool) -> Iterator[Finding]:
    """Look at one reel."""
    try:
        with contextlib.closing(Reel(files)) as reel:
            parts, damage = list(reel.parts), list(reel.damage)
            lost = [(part.path, first, stop) for part in parts for first, stop in part.lost]
    except NotFound:
        return  # purged since
    except Damaged as error:
        yield from _unreadable(ground, files, error)
        return
    if files.journal.is_dir():
        mend = ground.command("compact")
        found = list(journals.look(LANE, files.journal, mend, full=full))
        yield from found
        known = {finding.path for finding in found if not finding.is_harmless}
        yield from (of_damage(LANE, error, mend) for error in damage if Path(error.path) not in known)
        for path, first, stop in lost:
            yield Finding(DAMAGE, LANE, path, f"steps {first} to {stop - 1}", "a hole in the journal", mend)
    yield from _of_its_run(ground, files)
    named = list(_of_their_names(files, parts))
    yield from named
    if any(not finding.is_harmless for finding in named):
        return  # what the catalogue says may well be right
    if not lost and not full:  # else every row is compared, with the run
        yield from _in_catalogue(ground, files, max((part.span().stop for part in parts), default=0))
    yield from _unread(ground, files, parts)
    for path in _sealed(files, parts):
        with contextlib.suppress(FileNotFoundError):  # sealed anew since
            yield from (of_damage(LANE, flaw, _RESTORE) for flaw in SealedFile(path).flaws()) if full else ()
    for part in parts:
        if isinstance(part, ForeignPart):
            yield Finding(NOTE, LANE, part.path, "checksums, and whose it is", "neither: another program made it")


def _of_their_names(files: ReelFiles, parts: list[Part]) -> Iterator[Finding]:
    """Look at files that do not say whose they are where a checksum covers it; readers compare all others."""
    if older.unnamed(parts):
        try:
            older.check(files, parts)
        except Damaged as error:
            yield of_damage(LANE, error)
            return
        found = "an earlier version's list, which does not say it; HDF5's attribute run_id does"
        yield Finding(NOTE, LANE, files.file, "a list of chunks that says whose the file is", found)


def _unread(ground: Ground, files: ReelFiles, parts: list[Part]) -> Iterator[Finding]:
    """Look for sealed parts of which the file of the reel does not know; while it is recorded, they are new."""
    known = {part.path for part in parts}
    lost = [path for path in files.next_parts()[:-1] if path not in known]
    is_one = len(lost) == 1 and lost == [files.part(0)]  # the file itself under a second name
    if lost and not is_one and not files.journal.is_dir():
        expected, mend = f"a view of {len(files.next_parts()) - 1} parts", ground.command("repair")
        yield Finding(DAMAGE, LANE, files.file, expected, "one without " + listed(p.name for p in lost), mend, VIEW)


def _sealed(files: ReelFiles, parts: list[Part]) -> list[Path]:
    """Name the sealed files: the parts, and where there are several, the view of them."""
    foreign = {part.path for part in parts if isinstance(part, ForeignPart)}
    sealed = {part.path for part in parts if isinstance(part, SealedPart)}
    return sorted(path for path in {files.file, *sealed} - foreign if path.exists())


def _unreadable(ground: Ground, files: ReelFiles, error: Damaged) -> Iterator[Finding]:
    """Say what to do about a reel that no reader opens."""
    mend = f"Restore it from a copy, or move it aside: playhead repair --store {ground.layout.root}"
    if isinstance(error, Misplaced) and _is_copy_of_a_part(files, Path(error.path)):
        yield Finding(DAMAGE, LANE, files.file, error.expected, error.found, ground.command("repair"), VIEW)
        return
    is_view = Path(error.path) == files.file and files.part(0).exists()
    yield of_damage(LANE, error, ground.command("repair") if is_view else mend, VIEW if is_view else QUARANTINE)


def _is_copy_of_a_part(files: ReelFiles, path: Path) -> bool:
    """Return whether the file in the place of the view is one of the parts, which is also where it should be."""
    said = SealedFile(path).head.get(owner.FIELD) if path == files.file else None
    return any(owner.fits(said, files.owner(number)) for number in range(len(files.next_parts()) - 1))


def _of_its_run(ground: Ground, files: ReelFiles) -> Iterator[Finding]:
    run_id = run_of_reel(files.id)
    if run_id in ground.run_ids or ground.is_claimed(run_id) or ground.layout.has_run(run_id):
        return  # the last: it may have begun and ended since the runs were listed
    if files.exist():
        found = "none in this store: it was removed by hand, or the replay came from elsewhere"
        yield Finding(NOTE, LANE, files.file, f"a run {run_id}", found)


def _in_catalogue(ground: Ground, files: ReelFiles, steps: int) -> Iterator[Finding]:
    """See that the catalogue knows all steps: of those that it cannot hold, opening a store tells once."""
    run_id = run_of_reel(files.id)
    if ground.catalogue is None or not ground.catalogue.has_run(run_id) or ground.is_claimed(run_id):
        return
    known = ground.catalogue.steps_of_reel(files.id)
    if known < steps:
        mend, expected = ground.command("rebuild"), f"all {steps:,} steps of {files.id} in the catalogue"
        yield Finding(WARNING, LANE, files.file, expected, f"{known:,}", mend, REBUILD)


def _list(ground: Ground, full: bool) -> Iterator[Finding]:  # noqa: ARG001
    """Look at `index.json`, which is for other programs."""
    folder, mend = ground.layout.replay, ground.command("repair")
    try:
        known = facts.load(folder.index)
    except Damaged as error:
        yield of_damage(LANE, error, mend, INDEX)
        return
    due = {reel_id: folder.reel(reel_id).file.name for reel_id in folder.reels()}
    for reel_id in sorted(known.keys() | due.keys()):
        if known.get(reel_id) != due.get(reel_id) and not ground.is_claimed(run_of_reel(reel_id)):
            expected, found = (f"{said.get(reel_id, 'nothing')} for {reel_id}" for said in (due, known))
            yield Finding(WARNING, LANE, folder.index, expected, found, mend, INDEX)
