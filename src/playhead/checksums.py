"""`checksums.json`: what the texts of a run were when their writers left them, so that a flipped bit is told of.

Whoever ends a part of a run notes the files of that part; whoever edits the run later, the file that was edited. All of
them hold a claim meanwhile, and a check skips runs that are claimed. Nothing is noted anew but what was just written,
and an edit of a file that was not as noted leaves the note as it is: no damage is covered up.

A run without the file, as earlier versions made them, has no checksums.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from playhead import disk, facts
from playhead.errors import Damaged
from playhead.layout import RunFolder

_ALGORITHM = "sha256"
_EVENTS = re.compile(r"events(-[0-9]+)?\.jsonl")
_REMEDY = "Restore it from a copy of the store, or remove it: then the files of the run count as they are"


def note_part(folder: RunFolder, part: int) -> None:
    """Note the files that a recording process leaves behind; its claim is still there."""
    own = [folder.events(part), folder.logs, folder.summary]
    _note_all(folder, [*own, folder.meta, folder.status, folder.environment] if part == 1 else own)


def note_all(folder: RunFolder) -> None:
    """Note all texts of a run, as one that comes from elsewhere."""
    events = [folder.events(part) for part in folder.parts()]
    _note_all(folder, [*_whole(folder), *events])


def _note_all(folder: RunFolder, paths: Iterable[Path]) -> None:
    with disk.locked(folder.path):
        note(folder, paths)


def note(folder: RunFolder, paths: Iterable[Path]) -> None:
    """Note what some files of a run are now; the caller has locked its folder.

    One `checksums.json` that cannot be read is left as it is, for a check to find.
    """
    _put(folder, {path.name: _digest(path) for path in paths if path.exists()})


def expect(folder: RunFolder, path: Path, data: bytes) -> None:
    """Note what a damaged file is about to be: who is killed before it is written leaves it to be found again."""
    _put(folder, {path.name: hashlib.sha256(data).hexdigest()})


def _put(folder: RunFolder, digests: dict[str, str]) -> None:
    with contextlib.suppress(Damaged):
        known = load(folder)
        found = known | digests
        if found != known:
            # A first one that a power cut takes away is none, which is fine; an old one in its place would be wrong.
            facts.write(folder.checksums, {_ALGORITHM: dict(sorted(found.items()))}, named=bool(known))


@contextlib.contextmanager
def following(folder: RunFolder, path: Path) -> Iterator[None]:
    """Let the checksum of a file follow a change; the caller has locked the run's folder.

    Where the file was not as noted before, or nothing is noted of it, all stays as it is.
    """
    is_as_noted = False
    with contextlib.suppress(Damaged):
        noted = load(folder).get(path.name)
        is_as_noted = noted is not None and path.exists() and noted == _digest(path)
    yield
    if is_as_noted:
        note(folder, [path])


def follow(folder: RunFolder, *paths: Path) -> None:
    """Note those of some files anew of which something is noted: what an editor who died may have written."""
    with contextlib.suppress(Damaged):
        known = load(folder)
        _note_all(folder, [path for path in paths if path.name in known])


def load(folder: RunFolder) -> dict[str, str]:
    """Give the SHA-256 of files by name; empty where nothing is noted.

    Raises:
        Damaged: The file is not what was written.
    """
    try:
        content = facts.load(folder.checksums)
    except Damaged as error:
        raise Damaged(error.path, error.expected, error.found, _REMEDY) from error
    found = content.get(_ALGORITHM, None if content else {})
    names = {path.name for path in _whole(folder)}
    if not isinstance(found, dict) or not all(name in names or _EVENTS.fullmatch(name) for name in found):
        raise Damaged(folder.checksums, "names of the run's files, each with its SHA-256", "something else", _REMEDY)
    return {name: str(digest) for name, digest in found.items()}


def problems(folder: RunFolder) -> Iterator[Damaged]:
    """Compare every file with what is noted of it.

    Raises:
        Damaged: Nobody knows what is noted.
    """
    remedy = (
        "Restore it from a copy of the store. If you changed it yourself, remove "
        f"{folder.checksums}, and then run: playhead rebuild"
    )
    for name, expected in load(folder).items():
        path = folder.path / name
        found = _digest(path) if path.exists() else "no file"
        if found != expected:
            said = f"the SHA-256 {expected[:12]}…, as {folder.checksums.name} says"
            yield Damaged(path, said, found if found == "no file" else f"{found[:12]}…", remedy)


def _whole(folder: RunFolder) -> list[Path]:
    return [folder.meta, folder.status, folder.summary, folder.environment, folder.logs]


def _digest(path: Path) -> str:
    with open(disk.open_to_read(path), "rb") as file:
        return hashlib.file_digest(file, _ALGORITHM).hexdigest()
