"""What the reels and traces of a run are, noted in its `checksums.json` when they were sealed.

The note of a file is the SHA-256 of what the file says of itself, which has a checksum of every other byte: so it is
had without reading the rest. Only files that are sealed for now are noted, and none that is made of others.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from playhead import checksums, disk
from playhead.catalog import runs as catalog_runs
from playhead.checksums import Seals
from playhead.errors import Damaged, NotFound, StoreTooNew
from playhead.home import Home
from playhead.lanes.arrays.sealed import SealedFile
from playhead.lanes.keyframes.sealed import Sealed
from playhead.layout import Layout, ReelFiles, RunFolder, run_of_reel, tape_beside

_UNREADABLE = (Damaged, NotFound, FileNotFoundError, StoreTooNew)
_TRACE = ".trace"


def of_run(layout: Layout, run_id: str) -> Seals:
    """Return what all sealed files of a run are."""
    return of(layout, run_id, layout.replay.reels_of(run_id), layout.traces(run_id).files())


def of(layout: Layout, run_id: str, reels: Iterable[str], traces: Iterable[str]) -> Seals:
    """Return what some reels and traces of a run are, as far as they are sealed and can be read."""
    found: dict[str, str | None] = {}
    for reel_id in reels:
        files = layout.replay.reel(reel_id)
        found[layout.relative(files.file)] = None  # it may be the view of several parts by now
        if not files.journal.is_dir():
            found |= {layout.relative(path): _digest(path) for path in _sealed(files)}
    files_of = layout.traces(run_id).files()
    for path in (files_of[name] for name in traces if name in files_of):
        if not tape_beside(path).is_dir():
            found[layout.relative(path)] = _digest(path)
    return found


def note_reel(home: Home, reel_id: str) -> None:
    """Note a reel that was sealed after its run had ended."""
    folder = _folder_of(home, reel_id)
    if folder is not None and folder.checksums.exists():
        _put(folder, of(home.layout, run_of_reel(reel_id), [reel_id], ()))


@contextlib.contextmanager
def changing(home: Home, reel_id: str) -> Iterator[Callable[[], object]]:
    """Let the note of a reel follow a change; if the reel was not as noted, all stays as it is.

    Yields:
        What to call before the first file changes. From then on nothing is noted, so that a crash leaves no note of
        what is not there any more.
    """
    folder = _folder_of(home, reel_id)
    noted = {} if folder is None else _noted(home.layout, folder, _sealed(home.layout.replay.reel(reel_id)))
    forgotten: list[str] = []

    def forget() -> None:
        if folder is not None and noted:
            forgotten.extend(noted)
            _put(folder, dict.fromkeys(noted))

    try:
        yield forget
    finally:
        if forgotten:
            note_reel(home, reel_id)


@contextlib.contextmanager
def renaming(layout: Layout, path: Path) -> Iterator[None]:
    """Let the note of a trace that was renamed by hand follow, while the trace is made to say its new name."""
    run_id, digest = path.parent.name, _digest(path)
    folder = next((one for one in layout.run_folders() if one.path.name == run_id), None)
    former = [] if folder is None else [name for name, said in checksums.sealed(folder).items() if said == digest]
    if folder is None or not former:
        yield
        return
    _put(folder, dict.fromkeys(former))
    yield
    _put(folder, of(layout, run_id, (), [name for name, one in layout.traces(run_id).files().items() if one == path]))


def problems(layout: Layout, folder: RunFolder) -> Iterator[Damaged]:
    """Compare the sealed files of a run with what is noted of them; what says itself that it is another's is left out.

    Raises:
        Damaged: Nobody knows what is noted.
    """
    step = f"remove its line from {folder.checksums}"
    for name, expected in checksums.sealed(folder).items():
        path = layout.root / name
        if not path.exists():
            if not _is_taped(path) and not _is_renamed(path, expected):
                remedy = f"Restore it from a copy of the store. If you removed it yourself, {step}"
                yield Damaged(path, "the file that was sealed here", "no file", remedy)
        elif (found := _digest(path)) not in (None, expected) and not _is_taped(path):
            remedy = f"Restore the right one from a copy of the store. If you put this one here yourself, {step}"
            yield Damaged(
                path, f"the file that was sealed here, {expected[:12]}…", f"another, {found}"[:21] + "…", remedy
            )


def _folder_of(home: Home, reel_id: str) -> RunFolder | None:
    with home.database.read() as connection:
        row = catalog_runs.find(connection, run_of_reel(reel_id))
    folder = None if row is None else home.layout.run_at(row.run_dir)
    return folder if folder is not None and folder.path.is_dir() else None


def _put(folder: RunFolder, seals: Seals) -> None:
    with disk.locked(folder.path):
        checksums.note(folder, (), seals)


def _noted(layout: Layout, folder: RunFolder, paths: Iterable[Path]) -> Seals:
    """Return what is noted of files; nothing if one of them is not as noted."""
    try:
        noted = checksums.sealed(folder)
    except Damaged:
        return {}
    found = {layout.relative(path): _digest(path) for path in paths}
    return found if all(noted.get(name) == digest for name, digest in found.items()) else {}


def _sealed(files: ReelFiles) -> list[Path]:
    """List the files in which the rows of a reel are."""
    try:
        parts = SealedFile(files.file).head.get("parts")
    except _UNREADABLE:
        return []
    return [files.file] if parts is None else [files.part(number) for number in range(len(parts))]


def _digest(path: Path) -> str | None:
    """Return what a file is; None if it cannot be read, or is that of another program."""
    try:
        if path.suffix == ".h5":
            return SealedFile(path).digest()
        if path.suffix == _TRACE:
            with contextlib.closing(Sealed(path)) as sealed:
                return sealed.digest()
        return checksums.digest_of(path)
    except _UNREADABLE:
        return None


def _is_trace(name: str) -> bool:
    return not name.endswith(".h5")


def _is_taped(path: Path) -> bool:
    """Return whether somebody goes on with a trace, or did so: then the tape has to fit."""
    return tape_beside(path).is_dir() or path.with_suffix(".journal").is_dir()


def _is_renamed(path: Path, expected: str) -> bool:
    """Return whether a trace lies beside its place, under another name."""
    is_trace = _is_trace(path.name) and path.parent.is_dir()
    return is_trace and any(_digest(other) == expected for other in path.parent.iterdir() if other.is_file())
