"""The lists of the artifacts that runs made and used, which the catalogue knows as well."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from playhead import checksums, disk, strictjson
from playhead.artifact import index
from playhead.care.finding import DAMAGE, LINEAGE, WARNING, Finding
from playhead.care.ground import Ground
from playhead.errors import Damaged
from playhead.lanes.files.documents import sealed
from playhead.layout import RunFolder
from playhead.wording import listed

_ARTIFACTS = "artifacts"


def check(ground: Ground, folder: RunFolder) -> Iterator[Finding]:
    """Look for versions that the catalogue knows of a run and that its lists do not name."""
    for path in (folder.artifacts_created, folder.artifacts_used):
        known = ground.lineage(path == folder.artifacts_used).get(folder.path.name, [])
        if not known:
            continue
        try:
            said = [_which(entry) for entry in _said(folder, path)]
            is_right = checksums.is_as_noted(folder, path)
        except Damaged:
            continue  # found with the other files of the run
        missing = [entry for entry in known if _which(entry) not in said]
        if is_right or (is_right is None and not missing):
            continue  # if the list is as it was noted, the catalogue is wrong, and that is found with its rows
        names = listed(_spelled(entry) for entry in missing or known)
        expected = f"a list with {names}, as the catalogue says"
        found = "no file" if not path.exists() else "one without" if missing else "another than was noted"
        is_lost = is_right is False or not said
        cure = LINEAGE if is_lost else ""
        mend = ground.command("repair") if is_lost else "Restore it from a copy of the store, or mend it by hand"
        yield Finding(DAMAGE if is_right is False else WARNING, "runs", path, expected, found, mend, cure)


def _spelled(entry: Mapping[str, Any]) -> str:
    """Spell a version of an artifact."""
    return f"{entry['type']}/{entry['name']}:v{entry['version']}"


def write(ground: Ground, folder: RunFolder, path: Path) -> None:
    """Write a list of a run as the catalogue knows it; the folder of the run is locked.

    Raises:
        Damaged: The catalogue knows nothing of it.
    """
    known = ground.lineage(path == folder.artifacts_used).get(folder.path.name, [])
    if not known:
        raise Damaged(path, "a list of artifacts", "none that the catalogue knows", "Restore it from a copy")
    data = strictjson.encode(sealed({_ARTIFACTS: known}), indent=True)
    if checksums.is_as_noted(folder, path) is not None:
        checksums.expect(folder, path, data)
    disk.replace(path, data)


def _said(folder: RunFolder, path: Path) -> list[dict[str, object]]:
    return index.used_by(folder) if path == folder.artifacts_used else index.made_by(folder)


def _which(entry: Mapping[str, object]) -> tuple[object, ...]:
    return entry.get("type"), entry.get("name"), entry.get("version")
