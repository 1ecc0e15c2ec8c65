"""The lists of the artifacts that runs made and used, which the catalogue knows as well."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from playhead import checksums, disk, facts, owner, typed
from playhead.artifact import index, lists
from playhead.care.finding import DAMAGE, LINEAGE, VERSIONS, WARNING, Finding, of_damage
from playhead.care.ground import Ground
from playhead.errors import BadName, Damaged, Misplaced
from playhead.layout import RunFolder

_LANE = "runs"
_SAME_SECONDS = 1e-3  # times went through the JSON of several programs


def unreadable(ground: Ground, folder: RunFolder) -> Iterator[Finding]:
    """Look for lists of a run that cannot be read; what the catalogue knows can be written again."""
    for path in lists.paths(folder):
        try:
            index.entries(folder, path)
        except Damaged as error:
            if _known(ground, folder, path):
                yield of_damage(_LANE, error, ground.command("repair"), LINEAGE)
            else:
                yield of_damage(_LANE, error, "Mend the file by hand, or restore it from a copy")


def check(ground: Ground, folder: RunFolder) -> Iterator[Finding]:
    """Look for versions that the catalogue knows of a run and that its lists do not name."""
    for path in lists.paths(folder):
        known = _known(ground, folder, path)
        if not known:
            continue
        try:
            said = index.entries(folder, path)
        except Damaged:
            continue  # found by `unreadable`
        as_noted, missing = lists.is_noted(folder, path), lists.missing(said, known)
        is_believed = as_noted and said  # such as one that came from another program with fewer entries
        is_lost = as_noted is False or (not is_believed and lists.is_short(folder, path, said, known))
        if not is_lost and (as_noted or not missing):
            continue  # if the list is as it was noted, the catalogue is wrong, and that is found with its rows
        expected = f"a list with {lists.spelled(missing or known)}, as the catalogue says"
        found = "no file" if not path.exists() else "one without" if missing else "another than was noted"
        cure = LINEAGE if is_lost else ""
        mend = ground.command("repair") if is_lost else "Restore it from a copy of the store, or mend it by hand"
        yield Finding(DAMAGE if as_noted is False else WARNING, _LANE, path, expected, found, mend, cure)


def gone(ground: Ground, folder: RunFolder) -> Iterator[Finding]:
    """Look for versions that a run says that it made, and that are not there, or are those of somebody else.

    The folder of an artifact has no other witness: one of another store has the same name and the same numbers.
    """
    made = folder.artifacts_created
    if lists.is_noted(folder, made) is False:
        return  # found by `check`
    with contextlib.suppress(Damaged, FileNotFoundError):  # found by `unreadable`
        if not lists.is_sealed(made):
            return  # of another program, which may mean other versions and times
        for entry in index.entries(folder, made):
            yield from _gone(ground, folder.path.name, entry)


def _gone(ground: Ground, run_id: str, entry: dict[str, Any]) -> Iterator[Finding]:
    try:
        number, at = typed.version(entry["version"]), typed.moment(entry["created_at"])
        artifact = ground.layout.artifacts.artifact(typed.text(entry["type"]), typed.text(entry["name"]))
    except (KeyError, typed.Misfit, BadName):
        return  # of another program, which may say less
    versions = ground.versions(artifact)
    if versions is None:
        return  # found with the artifacts
    found = versions.get(number)
    expected = f"{lists.spelled([entry])}, which the run {run_id} made"
    mend = "Restore the artifact from a copy of the store"
    if found is None:
        can_be_made = not artifact.versions.exists() and artifact.version(number).metadata.exists()
        mend, cure = (ground.command("repair"), VERSIONS) if can_be_made else (mend, "")
        yield Finding(WARNING, _LANE, artifact.versions, expected, "no such version", mend, cure)
    elif found.created_by_run not in (None, run_id) or abs(found.created_at - at) > _SAME_SECONDS:
        yield Finding(WARNING, _LANE, artifact.versions, expected, "another, with another maker or time", mend)


def write(ground: Ground, folder: RunFolder, path: Path) -> None:
    """Write a list of a run as the catalogue knows it; the folder of the run is locked.

    Raises:
        Damaged: The catalogue knows nothing of it, or the folder is that of another run.
    """
    run_id = facts.load(folder.meta, required=True).get("id")
    if run_id != folder.path.name:
        raise Misplaced(folder.meta, f"that of the run {folder.path.name}", f"that of {run_id}", owner.REMEDY)
    known = _known(ground, folder, path)
    if not known:
        raise Damaged(path, "a list of artifacts", "none that the catalogue knows", "Restore it from a copy")
    data = lists.encoded(lists.again(folder, path, _said(folder, path), known))
    if lists.is_noted(folder, path) is not None:
        checksums.expect(folder, path, data)
    disk.replace(path, data)


def _known(ground: Ground, folder: RunFolder, path: Path) -> Sequence[dict[str, Any]]:
    return ground.lineage(path == folder.artifacts_used).get(folder.path.name, [])


def _said(folder: RunFolder, path: Path) -> Sequence[dict[str, Any]]:
    try:
        return index.entries(folder, path)
    except Damaged:
        return []
