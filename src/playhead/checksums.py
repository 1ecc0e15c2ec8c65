"""`checksums.json`: what the texts of a run were when their writers left them, so that a flipped bit is told of.

Whoever ends a part of a run notes the files of that part; whoever edits the run later, the file that was edited. All of
them hold a claim meanwhile, and a check skips runs that are claimed. Nothing is noted anew but what was just written,
and an edit of a file that was not as noted leaves the note as it is: no damage is covered up.

A run without the file, as earlier versions made them, has no checksums.

`sha256` in it holds the digests of texts. `sealed` holds those of the lists of artifacts, and of what each reel and
trace of the run says of itself, which has the checksum of every byte; see `run_seals`. Earlier versions know it not.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from playhead import disk, facts, owner
from playhead.errors import Damaged, Misplaced
from playhead.layout import RunFolder

_ALGORITHM, _SEALED = "sha256", "sealed"
_EVENTS = re.compile(r"events(-[0-9]+)?\.jsonl")
Seals = Mapping[str, str | None]  # of reels and traces, by path in the store; None for one that is not noted any more

_NO_SEALS: Seals = {}
_LANES = re.compile(r"(replay|traces)(/(?!\.{1,2}(/|$))[^/\0]+){1,2}")
_REMEDY = "Restore it from a copy of the store, or remove it: then the files of the run count as they are"


def note_part(folder: RunFolder, part: int, sealed: Seals = _NO_SEALS) -> None:
    """Note the files that a recording process leaves behind; its claim is still there.

    Args:
        folder: The run.
        part: The process.
        sealed: What its reels and traces are, by path in the store; None for one that is not noted any more.
    """
    own = [folder.events(part), folder.logs, folder.summary]
    _note_all(folder, [*own, folder.meta, folder.status, folder.environment] if part == 1 else own, sealed)
    _note_lists(folder)


def note_all(folder: RunFolder, sealed: Seals = _NO_SEALS) -> None:
    """Note all texts of a run, as one that comes from elsewhere."""
    events = [folder.events(part) for part in folder.parts()]
    _note_all(folder, [*_whole(folder), *events], sealed)
    _note_lists(folder)


def _note_lists(folder: RunFolder) -> None:
    """Note lists of artifacts of which nothing is noted: who adds to one that was noted notes it, if it was whole."""
    with contextlib.suppress(Damaged):
        known = load(folder)
        _note_all(folder, [path for path in _lists(folder) if path.name not in known])


def _note_all(folder: RunFolder, paths: Iterable[Path], sealed: Seals = _NO_SEALS) -> None:
    with disk.locked(folder.path):
        note(folder, paths, sealed)


def note(folder: RunFolder, paths: Iterable[Path], sealed: Seals = _NO_SEALS) -> None:
    """Note what some files of a run are now; the caller has locked its folder.

    One `checksums.json` that cannot be read is left as it is, for a check to find.
    """
    _put(folder, {**{path.name: digest_of(path) for path in paths if path.exists()}, **sealed})


def expect(folder: RunFolder, path: Path, data: bytes) -> None:
    """Note what a damaged file is about to be: who is killed before it is written leaves it to be found again."""
    _put(folder, {path.name: hashlib.sha256(data).hexdigest()})


def _put(folder: RunFolder, digests: Seals) -> None:
    with contextlib.suppress(Damaged):
        known = load(folder)
        found = {name: digest for name, digest in sorted({**known, **digests}.items()) if digest is not None}
        if found != known:
            texts = {name: digest for name, digest in found.items() if _is_text(folder, name)}
            rest = {name: digest for name, digest in found.items() if name not in texts}
            # A first one that a power cut takes away is none, which is fine; an old one in its place would be wrong.
            facts.write(folder.checksums, {_ALGORITHM: texts} | ({_SEALED: rest} if rest else {}), named=bool(known))


@contextlib.contextmanager
def following(folder: RunFolder, path: Path) -> Iterator[None]:
    """Let the checksum of a file follow a change; the caller has locked the run's folder.

    Where the file was not as noted before, or nothing is noted of it, all stays as it is.
    """
    was_as_noted: bool | None = False
    with contextlib.suppress(Damaged):
        was_as_noted = is_as_noted(folder, path)
    yield
    if was_as_noted:
        note(folder, [path])


def follow(folder: RunFolder, *paths: Path) -> None:
    """Note those of some files anew of which something is noted: what an editor who died may have written."""
    with contextlib.suppress(Damaged):
        known = load(folder)
        _note_all(folder, [path for path in paths if path.name in known])


def load(folder: RunFolder) -> dict[str, str]:
    """Return the SHA-256 of files by name, and of reels and traces by their paths in the store.

    Raises:
        Damaged: The file is not what was written.
    """
    try:
        content = facts.load(folder.checksums)
    except Damaged as error:
        raise Damaged(error.path, error.expected, error.found, _REMEDY) from error
    texts, rest = content.get(_ALGORITHM, None if content else {}), content.get(_SEALED, {})
    lists = {path.name for path in _lists(folder)}
    if not (
        isinstance(texts, dict)
        and isinstance(rest, dict)
        and all(_is_text(folder, name) for name in texts)
        and all(name in lists or _LANES.fullmatch(name) for name in rest)
    ):
        raise Damaged(folder.checksums, "names of the run's files, each with its SHA-256", "something else", _REMEDY)
    return {name: str(digest) for name, digest in (texts | rest).items()}


def is_as_noted(folder: RunFolder, path: Path) -> bool | None:
    """Return whether a file of a run is the one that was noted; None if nothing is noted of it."""
    noted = load(folder).get(path.name)
    return None if noted is None else path.exists() and noted == digest_of(path)


def check_id(folder: RunFolder, run_id: str) -> None:
    """Refuse a folder whose `meta.json` is that of another run; a whole folder that was renamed is what it says.

    Raises:
        Misplaced: It is.
    """
    if run_id != folder.path.name and is_as_noted(folder, folder.meta) is False:
        raise Misplaced(folder.meta, f"that of the run {folder.path.name}", f"that of {run_id}", owner.REMEDY)


def check_status(folder: RunFolder) -> None:
    """Refuse a `status.json` that says that a run is recorded, if the run ended and noted another.

    To go on from there would note all files anew, damaged ones too. A run that was resumed says so.

    Raises:
        Damaged: If it is another.
    """
    try:
        is_other = is_as_noted(folder, folder.status) is False
    except Damaged:
        return  # reported by who compares all files
    if is_other and "resumed_at" not in facts.load(folder.status):
        raise Damaged(
            folder.status, "how the run ended, as checksums.json says", "one that says it runs", facts.RESTORE
        )


def sealed(folder: RunFolder) -> dict[str, str]:
    """Return what is noted of the reels and traces of a run, by their paths in the store.

    Raises:
        Damaged: Nobody knows what is noted.
    """
    return {name: digest for name, digest in load(folder).items() if _LANES.fullmatch(name)}


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
        if _LANES.fullmatch(name):
            continue
        path = folder.path / name
        found = digest_of(path) if path.exists() else "no file"
        if found != expected:
            said = f"the SHA-256 {expected[:12]}…, as {folder.checksums.name} says"
            yield Damaged(path, said, found if found == "no file" else f"{found[:12]}…", remedy)


def _whole(folder: RunFolder) -> list[Path]:
    return [folder.meta, folder.status, folder.summary, folder.environment, folder.logs]


def _lists(folder: RunFolder) -> list[Path]:
    return [folder.artifacts_created, folder.artifacts_used]


def _is_text(folder: RunFolder, name: str) -> bool:
    return any(name == path.name for path in _whole(folder)) or _EVENTS.fullmatch(name) is not None


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with open(disk.open_to_read(path), "rb") as file:
        return hashlib.file_digest(file, _ALGORITHM).hexdigest()
