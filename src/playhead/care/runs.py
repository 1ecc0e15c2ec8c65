"""Runs under the lens: their JSON files, events and media, and what the catalogue says of them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from playhead import checksums, claims, facts, owner, recovery
from playhead.care import lineage
from playhead.care.finding import (
    DAMAGE,
    NOTE,
    QUARANTINE,
    REBUILD,
    RUN_FACTS,
    WARNING,
    Finding,
    Thing,
    of_damage,
)
from playhead.care.ground import Ground
from playhead.catalog import runs as catalog_runs
from playhead.catalog.runs import RunFacts
from playhead.errors import Damaged, Misplaced
from playhead.lanes.scalars import events
from playhead.lanes.scalars.index import owner_of
from playhead.layout import RunFolder, inside
from playhead.wording import counted

LANE = "runs"


def things(ground: Ground) -> Iterator[Thing]:
    """Tell of every run."""
    for folder in ground.layout.run_folders():
        yield Thing(LANE, ground.layout.relative(folder.path), partial(check, ground, folder), folder.path)
    for folder in ground.layout.run_folders(strayed=True):
        yield Thing(LANE, ground.layout.relative(folder.path), partial(_tell_strayed, ground, folder), folder.path)
    for folder, lost in facts.without_meta(ground.layout):
        name = ground.layout.relative(folder.path)
        yield Thing(LANE, name, partial(_tell_lost, ground, folder, lost), folder.path)
    if claims.paths(ground.layout):
        yield Thing(LANE, ground.layout.recording.name, partial(_claims, ground), ground.layout.recording)


def _claims(ground: Ground, full: bool) -> Iterator[Finding]:  # noqa: ARG001
    """Look for claims that nobody can read: such a one is taken for none, and stays for ever."""
    for path in claims.paths(ground.layout):
        if claims.Claim.load(path) is None and path.exists():
            mend = ground.command("repair")
            yield Finding(WARNING, LANE, path, "the claim of a recorder", "something else", mend, QUARANTINE)


def _tell_strayed(ground: Ground, folder: RunFolder, _full: bool) -> Iterator[Finding]:
    yield of_damage(LANE, ground.layout.strays(folder.meta))


def _tell_lost(ground: Ground, folder: RunFolder, lost: Damaged, _full: bool) -> Iterator[Finding]:
    run_id = folder.path.name
    if ground.is_claimed(run_id):
        return
    is_gone = Path(lost.path) == folder.meta
    is_known = is_gone and ground.catalogue is not None and ground.catalogue.has_run(run_id)
    yield of_damage(LANE, lost, ground.command("repair") if is_known else "", RUN_FACTS if is_known else "")


def check(ground: Ground, folder: RunFolder, full: bool) -> Iterator[Finding]:
    """Look at one run."""
    is_claimed = ground.is_claimed(folder.path.name)
    of_others = list(_of_others(folder, is_claimed=is_claimed))
    yield from of_others
    if is_claimed:
        yield Finding(NOTE, LANE, folder.path, "a run that has ended", "one that is recorded, edited or not settled")
    elif folder.meta.exists():
        yield from _look(ground, folder, full, {finding.path for finding in of_others})


def _of_others(folder: RunFolder, *, is_claimed: bool) -> Iterator[Finding]:
    """Look for event files that are of another run or process, and in a claimed folder for the `meta.json` of one."""
    said = _said_id(folder)
    run_id = folder.path.name if is_claimed else said
    if said != run_id:
        yield Finding(DAMAGE, LANE, folder.meta, f"that of the run {run_id}", f"that of {said[:100]}", owner.REMEDY)
    with contextlib.suppress(Damaged, FileNotFoundError):  # found with the texts
        try:
            facts.check_status(folder, run_id)
        except Misplaced as error:
            yield of_damage(LANE, error)
    for path, part in ((folder.events(part), part) for part in folder.parts()):
        try:
            owner.check(path, events.owner_of(path), owner_of(run_id, part))
        except Damaged as error:
            yield of_damage(LANE, error)


def _said_id(folder: RunFolder) -> str:
    """Return the id that `meta.json` says; that of the folder if it says none."""
    with contextlib.suppress(Damaged):
        return str(facts.known(folder.meta, facts.META).get("id") or folder.path.name)
    return folder.path.name


def _look(ground: Ground, folder: RunFolder, full: bool, of_others: set[Path]) -> Iterator[Finding]:
    damaged = list(_in_texts(ground, folder))
    yield from damaged
    if any(finding.path in (folder.meta, folder.status, folder.summary, folder.deleted) for finding in damaged):
        return
    try:
        known = facts.read(ground.layout, folder)
    except Damaged as error:
        yield of_damage(LANE, error, ground.command("repair"), RUN_FACTS)
        return
    if known.id != folder.path.name:
        yield _of_another(ground, folder, known.id)
        return
    yield from _in_events(folder)
    yield from lineage.gone(ground, folder)
    lost = list(lineage.check(ground, folder)) if ground.catalogue is not None else []
    told = {finding.path for finding in [*damaged, *lost]} | of_others
    noted = [finding for finding in _against_checksums(ground, folder, full) if finding.path not in told]
    changed = [*_deleted(folder), *lost, *noted]
    yield from changed
    if ground.catalogue is not None and not of_others:
        # Where a text is not what was written, the catalogue is right and the file is not: it is not to be made anew.
        yield from _against_catalogue(ground, folder, known, full and not (changed or damaged))


def _of_another(ground: Ground, folder: RunFolder, run_id: str) -> Finding:
    """Make a finding of a folder that says that it is another run; only if `meta.json` alone does, it can be made."""
    expected = f"the id {folder.path.name}, as its folder says"
    try:
        checksums.check_id(folder, run_id)
    except Misplaced:
        return Finding(DAMAGE, LANE, folder.meta, expected, repr(run_id), ground.command("repair"), RUN_FACTS)
    except Damaged as error:
        return of_damage(LANE, error)
    found = f"{run_id!r}, and the files beside it say no other: the whole folder was renamed, copied or swapped"
    return Finding(DAMAGE, LANE, folder.path, expected, found, f"Give it the name {run_id} again, or remove the copy")


def _deleted(folder: RunFolder) -> Iterator[Finding]:
    said = facts.known(folder.deleted, facts.DELETED).get("id") or folder.path.name
    if said != folder.path.name:
        expected, found = f"when and why {folder.path.name} was deleted", f"that of {said[:100]}"
        yield Finding(WARNING, LANE, folder.deleted, expected, found, owner.REMEDY)


def _in_texts(ground: Ground, folder: RunFolder) -> Iterator[Finding]:
    """Look at the JSON files: those that the catalogue knows as well can be written again."""
    again = {folder.meta: facts.META, folder.status: facts.STATUS}
    others = {folder.summary: facts.SUMMARY, folder.environment: facts.ENVIRONMENT, folder.deleted: facts.DELETED}
    for path, shape in (again | others).items():
        for flaw in facts.flaws(path, shape):
            can_be_made = path in again and ground.catalogue is not None
            mend = ground.command("repair") if can_be_made else "Mend the file by hand, or restore it from a copy"
            yield of_damage(LANE, flaw, mend, RUN_FACTS if can_be_made else "")
    yield from lineage.unreadable(ground, folder)


def _in_events(folder: RunFolder) -> Iterator[Finding]:
    for part in folder.parts():
        path = folder.events(part)
        if torn := events.torn_bytes(path):
            found = f"{torn} bytes of a line without one"
            yield Finding(WARNING, LANE, path, "a newline at its end", found, "Look at its last line: mend or cut it")


def _against_checksums(ground: Ground, folder: RunFolder, full: bool) -> Iterator[Finding]:
    if not full:
        return
    try:
        yield from (of_damage(LANE, problem) for problem in checksums.problems(folder))
        if checksums.sealed(folder):
            from playhead import run_seals  # loaded where there are reels or traces: it needs NumPy

            for problem in run_seals.problems(ground.layout, folder):
                lane = ground.layout.relative(Path(problem.path)).split("/")[0]
                yield ground.missing(lane, problem) if not os.path.exists(problem.path) else of_damage(lane, problem)
    except Damaged as error:
        yield of_damage(LANE, error)
    yield from _in_media(folder)


def _in_media(folder: RunFolder) -> Iterator[Finding]:
    """Compare images with the digests in the events that name them; those of earlier versions have none."""
    for part in folder.parts():
        for name, digest in events.digests_of_images(folder.events(part)):
            with contextlib.suppress(Damaged, FileNotFoundError):  # found with the rows of the catalogue
                path = folder.path / inside(name, folder.path)
                if (found := checksums.digest_of(path)) != digest:
                    expected = f"the image that was logged, with SHA-256 {digest[:12]}…"
                    yield Finding(DAMAGE, LANE, path, expected, f"another, with {found[:12]}…", owner.REMEDY)


def _against_catalogue(ground: Ground, folder: RunFolder, known: RunFacts, full: bool) -> Iterator[Finding]:
    assert ground.catalogue is not None
    mend = ground.command("rebuild")
    if not ground.catalogue.has_run(known.id):
        yield Finding(WARNING, LANE, folder.path, "a row in the catalogue", "none", mend, REBUILD)
        return
    indexed = ground.catalogue.indexed(known.id)
    for part in sorted({*indexed, *folder.parts()}):
        offset = indexed.get(part, 0)
        size = folder.events(part).stat().st_size if folder.events(part).exists() else 0
        if size < offset:
            said = f"{offset:,} bytes, which the catalogue has read"
            yield Finding(DAMAGE, LANE, folder.events(part), said, f"{size:,}", "Restore it from a copy of the store")
        elif size > offset and size - events.torn_bytes(folder.events(part)) > offset:
            said = f"all {size:,} bytes of {folder.events(part).name} in the catalogue"
            yield Finding(WARNING, LANE, folder.events(part), said, f"{offset:,}", mend, REBUILD)
    for part, count in ground.catalogue.bad_lines(known.id).items():
        found = f"{counted(count, 'line')} of something else, or too long"
        yield Finding(NOTE, LANE, folder.events(part), "an event in each line", found)
    for name in ground.catalogue.media_of(known.id):
        remedy = "Restore it from a copy of the store"
        try:
            path = folder.path / inside(name, folder.path)
        except Damaged:
            yield Finding(DAMAGE, LANE, folder.path, "paths of media that stay inside", repr(name), remedy)
            continue
        if not path.is_file():
            yield Finding(DAMAGE, LANE, path, "what was logged as media", "no file", remedy)
    if full:
        yield from _every_row(ground, folder, known)


def _every_row(ground: Ground, folder: RunFolder, known: RunFacts) -> Iterator[Finding]:
    """Index the run anew, and compare."""
    assert ground.catalogue is not None
    mend, path = ground.command("rebuild"), ground.layout.database
    scratch, theirs = ground.scratch()
    try:
        recovery.index_all(scratch, folder, known)
        differences = list(ground.catalogue.differences_in_run(theirs, known.id))
    except Misplaced:
        return  # the check of the replay says so; the catalogue may well be right
    finally:
        with scratch.database.write() as connection:
            catalog_runs.remove(connection, known.id)
    is_vouched = _is_vouched(folder)
    for difference in differences:
        expected = f"{difference.where} of {known.id}: {difference.theirs}, as the files of the run say"
        if difference.is_rounding:
            yield Finding(NOTE, "catalogue", path, expected, difference.ours)
        elif is_vouched or not difference.is_of_values:
            yield Finding(WARNING, "catalogue", path, expected, difference.ours, mend, REBUILD)
        else:
            yield Finding(WARNING, "catalogue", path, expected, difference.ours, ground.undecided)


def _is_vouched(folder: RunFolder) -> bool:
    """Return whether a checksum says that the texts of a run are those that were written."""
    try:
        return bool(checksums.load(folder))
    except Damaged:
        return False
