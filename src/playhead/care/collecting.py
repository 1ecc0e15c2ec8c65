"""What nothing needs any more: contents that no version holds, leftovers of crashes, journals of runs that are gone.

Safe beside whoever records and saves. Everything is looked at twice: once to be told of, and again, under the lock of
those who could still want it, just before it goes.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playhead import claims, clock, disk, filesystem
from playhead.artifact import index, walking
from playhead.errors import Damaged
from playhead.home import Home
from playhead.journal.writer import LOCK_FILE
from playhead.lanes.files import sharing
from playhead.lanes.files.pool import Pool
from playhead.lanes.files.versions import Metadata
from playhead.layout import ArtifactFolder, Layout, run_of_reel

AGE_SECONDS = 3600.0  # for so long nobody may have touched what is taken for a leftover

TEMPORARY, TRASH, JOURNAL, VERSION, BLOB = "temporary", "trash", "journal", "version", "blob"

_PID = re.compile(r"\.(\d+)-[0-9a-f]{8}\.tmp(?:-\w+)?$")  # SQLite adds endings of its own


@dataclass(frozen=True, slots=True)
class Garbage:
    """Something that nothing needs.

    Attributes:
        kind: `temporary`, `trash`, `journal`, `version` or `blob`.
        path: The file or folder.
        bytes: What it takes.
        why: How it came about.
    """

    kind: str
    path: Path
    bytes: int
    why: str

    def described(self) -> dict[str, Any]:
        """Give it with stable keys, for JSON."""
        return {"kind": self.kind, "path": str(self.path), "bytes": self.bytes, "why": self.why}


@dataclass(frozen=True, slots=True)
class Collected:
    """What a collection found.

    Attributes:
        garbage: What was removed, or would be.
        problems: Why some of it was left alone.
    """

    garbage: list[Garbage]
    problems: list[str]


def collect(home: Home, *, dry_run: bool = False, older_than: float = AGE_SECONDS) -> Collected:
    """Remove what nothing needs.

    Args:
        home: The store, open to be changed.
        dry_run: Only say what would go.
        older_than: Seconds for which nobody may have touched a leftover of a crash.
    """
    layout = home.layout
    garbage: list[Garbage] = []
    problems: list[str] = []
    for found in _inside(layout, _leftovers(layout, older_than), problems):
        if dry_run or _remove_leftover(found, older_than):
            garbage.append(found)
    for found in _inside(layout, _journals(layout, older_than), problems):
        if dry_run or _remove_journal(layout, found):
            garbage.append(found)
    try:
        layout.check_holds(layout.artifacts.pool.lock)
        garbage += _artifacts(layout, dry_run=dry_run, older_than=older_than)
    except Damaged as error:
        problems.append(f"no artifacts were collected, since nobody knows what they hold: {error}")
    except BlockingIOError:
        problems.append("no artifacts were collected: somebody is saving some; run it again later")
    return Collected(garbage, problems)


def _inside(layout: Layout, found: Iterable[Garbage], problems: list[str]) -> Iterator[Garbage]:
    """Leave out what lies elsewhere: a store of a stranger may have links that lead anywhere."""
    for one in found:
        try:
            layout.check_holds(one.path)
        except Damaged as error:
            problems.append(f"left alone: {error}")
        else:
            yield one


# -- leftovers of crashes ---------------------------------------------------------------------------------------------


def _leftovers(layout: Layout, older_than: float) -> Iterator[Garbage]:
    """Walk over temporary files and folders, but not those of artifacts, and over runs that were being purged."""
    for root, folders, names in os.walk(layout.root):
        here = Path(root)
        for name in sorted([*folders, *names]):
            if _is_temporary(layout, here, name) and is_abandoned(here / name, older_than):
                yield Garbage(TEMPORARY, here / name, _size(here / name), "a process ended while it wrote it")
        kept = (layout.quarantine, layout.artifacts.path, layout.trash)
        folders[:] = [name for name in folders if not disk.is_temporary(name) and here / name not in kept]
    for path in sorted(layout.trash.iterdir()) if layout.trash.is_dir() else ():
        if is_abandoned(path, older_than) and not claims.of_run(layout, path.name):
            yield Garbage(TRASH, path, _size(path), "what is left of a run that was purged")


def _is_temporary(layout: Layout, folder: Path, name: str) -> bool:
    is_catalogue = folder == layout.root and name.startswith(f".{layout.database.name}.")
    return disk.is_temporary(name) or is_catalogue  # SQLite adds endings of its own


def is_abandoned(path: Path, older_than: float) -> bool:
    """Tell whether nobody has touched a file, or anything in a folder, for long, and its maker is not alive here."""
    maker = _PID.search(path.name)
    if maker and os.path.exists(f"/proc/{maker[1]}"):
        return False
    try:
        newest = max(os.lstat(one).st_mtime for one in _all_in(path))
    except FileNotFoundError:
        return False  # it is being written, or is gone
    return clock.now() - newest >= older_than


def _all_in(path: Path) -> Iterator[str]:
    yield os.fspath(path)
    if path.is_dir() and not path.is_symlink():
        for root, folders, names in os.walk(path):
            yield from (os.path.join(root, name) for name in [*folders, *names])


def _size(path: Path) -> int:
    if path.is_dir() and not path.is_symlink():
        return filesystem.size_of(path)
    try:
        return os.lstat(path).st_size
    except FileNotFoundError:
        return 0


def _remove_leftover(found: Garbage, older_than: float) -> bool:
    if not is_abandoned(found.path, older_than):
        return False
    _remove(found.path)
    return True


def _remove(path: Path) -> None:
    """Remove a file or a folder; a folder is first out of sight in one step, so that nobody sees half of it."""
    with contextlib.suppress(FileNotFoundError):
        if not path.is_dir() or path.is_symlink():
            disk.remove(path)
            return
        disk.remove_tree(path) if disk.is_temporary(path.name) else disk.take_away(path)


# -- journals ---------------------------------------------------------------------------------------------------------


def _journals(layout: Layout, older_than: float) -> Iterator[Garbage]:
    """Walk over the journals of runs that are gone, folder and claims and all."""
    runs = layout.run_ids()
    for reel_id in layout.replay.reels():
        journal = layout.replay.reel(reel_id).journal
        if not journal.is_dir() or journal.is_symlink() or run_of_reel(reel_id) in runs:
            continue
        if _is_orphan(layout, reel_id, journal, older_than):
            yield Garbage(JOURNAL, journal, _size(journal), f"the run {run_of_reel(reel_id)} is gone")


def _is_orphan(layout: Layout, reel_id: str, journal: Path, older_than: float) -> bool:
    return is_abandoned(journal, older_than) and not claims.of_run(layout, run_of_reel(reel_id))


def _remove_journal(layout: Layout, found: Garbage) -> bool:
    """Remove a journal, as who would record it: its run may have come back."""
    with contextlib.suppress(FileNotFoundError), disk.locked(found.path / LOCK_FILE, wait=False, make=True) as mine:
        reel_id = found.path.stem
        is_back = run_of_reel(reel_id) in layout.run_ids()
        if mine and not is_back and not claims.of_run(layout, run_of_reel(reel_id)):
            _remove(found.path)
            return True
    return False


# -- artifacts --------------------------------------------------------------------------------------------------------


def _artifacts(layout: Layout, *, dry_run: bool, older_than: float) -> list[Garbage]:
    """Collect what no version holds, alone with the pool: nobody saves meanwhile.

    Raises:
        Damaged: A version cannot be read, and nobody knows what it holds.
        BlockingIOError: Somebody saves for long.
    """
    pool = Pool(layout.artifacts.pool)
    with pool.removing() as is_alone:
        if not is_alone:
            raise BlockingIOError
        folders = [found for found in _in_folders(layout, older_than) if _gone(found, dry_run)]
        leftovers = [
            Garbage(TEMPORARY, path, _size(path), "a process ended while it saved an artifact")
            for path in pool.leftovers()
            if is_abandoned(path, older_than)
        ]
        held = _held(layout, folders)
        blobs = [
            Garbage(BLOB, blob.path, blob.size, "no version of an artifact holds it")
            for blob in pool.blobs()
            if blob.digest not in held
        ]
        kept = [found for found in (*leftovers, *blobs) if _gone(found, dry_run)]
        if not dry_run:
            for shard in layout.artifacts.pool.shards():
                disk.remove_empty(shard)
        return [*folders, *kept]


def _gone(found: Garbage, dry_run: bool) -> bool:
    if not dry_run:
        if found.kind == VERSION:
            _pass_on(found.path)
        _remove(found.path)
    return True


def _pass_on(path: Path) -> None:
    """Leave nobody without files who has them by a link: a list of versions may have been lost, and made by hand."""
    artifact = ArtifactFolder(path.parent)
    with disk.locked(artifact.lock, make=True):
        sharing.pass_on(artifact, artifact.number_of(path))


def _in_folders(layout: Layout, older_than: float) -> Iterator[Garbage]:
    """Walk over versions that were never listed, and over those that were being made or removed."""
    for artifact in layout.artifacts.walk():
        for name in sorted(os.listdir(artifact.path)):
            path = artifact.path / name
            if disk.is_temporary(name) and is_abandoned(path, older_than):
                yield Garbage(TEMPORARY, path, _size(path), "a process ended while it saved or purged a version")
    for found in walking.versions(layout):
        if isinstance(found, Damaged):
            raise found
        path = found.folder.path
        if (
            found.entry is None
            and is_abandoned(path, older_than)
            and _is_listed(found.artifact)
            and not _counted_once(layout, found)
        ):
            yield Garbage(VERSION, path, _size(path), "a process ended before the version counted")


def _is_listed(artifact: ArtifactFolder) -> bool:
    """Tell whether there is a list at all: where it was lost, its versions are not garbage."""
    return artifact.versions.exists() or not any(
        artifact.version(number).metadata.exists() for number in artifact.numbers()
    )


def _counted_once(layout: Layout, found: walking.Found) -> bool:
    """Return whether the run that made a version names it: the list that it was in was lost, and others were saved."""
    with contextlib.suppress(Damaged, OSError):
        maker = Metadata.load(found.folder, None).created_by_run
        which = (found.artifact.type, found.artifact.name, found.number)
        for folder in layout.run_folders():
            if folder.path.name == maker:
                made = index.made_by(folder)
                return any((one.get("type"), one.get("name"), one.get("version")) == which for one in made)
    return False


def _held(layout: Layout, going: Iterable[Garbage]) -> set[str]:
    """Give the digests that versions hold, those that are about to go left out."""
    gone = {found.path for found in going}
    held: set[str] = set()
    for found in walking.versions(layout):
        if isinstance(found, Damaged):
            raise found
        if found.folder.path not in gone:
            held.update(entry.sha256 for entry in found.load()[1].files)
    return held
