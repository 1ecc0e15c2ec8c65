"""The lists of the artifacts that a run made and used, which the catalogue knows as well.

The files own these facts, and a list only grows. If one is lost, unreadable or says less than before, the catalogue is
what is left of it. So whoever adds to a list, or is about to sign it, first writes what it lacks into it again.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from playhead import checksums, disk, facts, strictjson, typed
from playhead.artifact import index
from playhead.catalog import artifacts as catalog
from playhead.errors import Damaged, foreseen
from playhead.home import Home
from playhead.lanes.files.documents import is_sealed, sealed
from playhead.layout import RunFolder
from playhead.quarantine import Quarantine
from playhead.wording import listed

__all__ = [
    "add",
    "again",
    "complete",
    "encoded",
    "flaw",
    "is_noted",
    "is_sealed",
    "is_short",
    "missing",
    "paths",
    "settle",
    "spelled",
]

Entry = dict[str, Any]

_ANOTHER = "Run: playhead repair, or restore it from a copy of the store"


def paths(folder: RunFolder) -> tuple[Path, Path]:
    """Return where a run has its lists."""
    return folder.artifacts_created, folder.artifacts_used


def missing(said: Iterable[Entry], known: Iterable[Entry]) -> list[Entry]:
    """Return those of the known entries that a list does not say."""
    there = {_which(entry) for entry in said}
    return [entry for entry in known if _which(entry) not in there]


def spelled(entries: Iterable[Entry]) -> str:
    """Spell the versions that entries name."""
    return listed(f"{entry['type']}/{entry['name']}:v{entry['version']}" for entry in entries)


def is_noted(folder: RunFolder, path: Path) -> bool | None:
    """Return whether a list is the one that was noted; None if nothing is noted of it, or nobody knows what."""
    with contextlib.suppress(Damaged):
        return checksums.is_as_noted(folder, path)
    return None


def is_short(folder: RunFolder, path: Path, said: Sequence[Entry], known: Sequence[Entry]) -> bool:
    """Return whether a list lacks what the catalogue knows, such that the list is wrong and not the catalogue."""
    if not missing(said, known):
        return False
    as_noted = is_noted(folder, path)
    if as_noted is False:
        return True
    # A list with a digest of its own that was noted as it is was written so. One without may have been changed by hand
    # before it was noted.
    return not missing(known, said) and not (as_noted and is_sealed(path))


def flaw(folder: RunFolder, path: Path) -> Damaged | None:
    """Return what is wrong with a list in itself: it cannot be read, or is another than was noted."""
    try:
        with foreseen(path):
            index.entries(folder, path)
    except Damaged as error:
        return error
    if is_noted(folder, path) is False:
        return Damaged(path, "the list that was noted", "another" if path.exists() else "no file", _ANOTHER)
    return None


def again(folder: RunFolder, path: Path, said: Sequence[Entry], known: Sequence[Entry]) -> list[Entry]:
    """Return what a list has to say: what the catalogue knows if that was noted, else this and what the list says."""
    with contextlib.suppress(Damaged):
        if _digest(known) == checksums.load(folder).get(path.name):
            return [*known]
    return sorted([*said, *missing(said, known)], key=_moment)


def encoded(entries: Sequence[Entry]) -> bytes:
    """Return the content of a list."""
    return strictjson.encode(_content(entries), indent=True)


def complete(home: Home, folder: RunFolder, path: Path, run_id: str) -> list[Entry]:
    """Return what a list says, which is written again if it lacks what the catalogue knows; the run's folder is locked.

    What is noted of it stays: if it is not the same again, a check finds it.

    Raises:
        Damaged: It cannot be read, and the catalogue knows nothing of it.
    """
    known = _known(home, run_id, is_used=path == folder.artifacts_used)
    try:
        said = index.entries(folder, path)
    except Damaged as error:
        if not known:
            raise
        Quarantine(home.layout).put(path, error.expected, error.found, copy=True)
        said = []
    else:
        if not is_short(folder, path, said, known):
            return said
    entries = again(folder, path, said, known)
    facts.write(path, _content(entries))
    return entries


def add(home: Home, folder: RunFolder, path: Path, run_id: str, entry: Entry) -> bool:
    """Add to a list, and return whether it did not say so already; the run's folder is locked.

    Raises:
        Damaged: The list cannot be read, and the catalogue knows nothing of it.
    """
    said = complete(home, folder, path, run_id)
    if not missing(said, [entry]):
        return False
    with checksums.following(folder, path):
        facts.write(path, _content([*said, entry]))
    return True


def settle(home: Home, folder: RunFolder, run_id: str) -> None:
    """Bring the lists of a run to what they should be, before they are relied on or noted."""
    with disk.locked(folder.path):
        for path in paths(folder):
            with contextlib.suppress(Damaged):  # one of which nobody knows what it said stays for a check to find
                _note_last(folder, path, complete(home, folder, path, run_id))


def _note_last(folder: RunFolder, path: Path, said: Sequence[Entry]) -> None:
    """Note a list of which all but the last entry was noted: whoever added that one died before."""
    if said and is_noted(folder, path) is False and checksums.load(folder)[path.name] == _digest(said[:-1]):
        checksums.note(folder, [path])


def _known(home: Home, run_id: str, *, is_used: bool) -> list[Entry]:
    """Return what the catalogue knows; nothing if it cannot be read, which ends no recording."""
    ask = catalog.used_by if is_used else catalog.made_by
    with home.backlog.tolerating(None), home.database.read() as connection:
        return ask(connection, run_id)
    return []


def _content(entries: Sequence[Entry]) -> dict[str, Any]:
    return sealed({"artifacts": [*entries]})


def _digest(entries: Sequence[Entry]) -> str:
    return hashlib.sha256(encoded(entries)).hexdigest()


def _which(entry: Entry) -> tuple[str, ...]:
    """Return what tells entries apart; a file may have values of any kind there."""
    return tuple(repr(entry.get(name)) for name in ("type", "name", "version"))


def _moment(entry: Entry) -> float:
    try:
        return typed.moment(entry.get("used_at", entry.get("created_at")))
    except typed.Misfit:
        return 0.0
