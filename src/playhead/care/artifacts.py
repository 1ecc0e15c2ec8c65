"""Artifacts under the lens: what versions say they hold, and every content of the pool."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path

from playhead import disk
from playhead.artifact import index
from playhead.care.finding import BLOB, DAMAGE, FILES, NOTE, REBUILD, VERSIONS, WARNING, Finding, Thing, of_damage
from playhead.care.ground import Ground
from playhead.errors import Damaged
from playhead.lanes.files import sharing
from playhead.lanes.files.entries import FileEntry
from playhead.lanes.files.manifest import Manifest
from playhead.lanes.files.pool import Blob, Pool, is_whole, size_of
from playhead.lanes.files.tree import above_of, is_in
from playhead.lanes.files.versions import DELETED, Metadata, Versions
from playhead.layout import ArtifactFolder, PoolFolder, VersionFolder

LANE = "artifacts"


def things(ground: Ground) -> Iterator[Thing]:
    """Tell of every artifact, and of every shard of the pool."""
    folder = ground.layout.artifacts
    contents = _Contents(folder.pool)
    for artifact in folder.walk():
        yield Thing(LANE, f"{artifact.type}/{artifact.name}", partial(check, ground, contents, artifact), artifact.path)
    pool = Pool(folder.pool)
    for shard in folder.pool.shards():
        yield Thing(LANE, f".dedup/{shard.name}", partial(check_shard, ground, pool, shard), shard)


class _Contents:
    """Inode and size of every content of the pool, looked up at once: a hundred thousand of them take half a second."""

    def __init__(self, folder: PoolFolder) -> None:
        self._folder = folder

    @cached_property
    def known(self) -> dict[str, tuple[int, int]]:
        found: dict[str, tuple[int, int]] = {}
        for shard in self._folder.shards():
            with os.scandir(shard) as entries, contextlib.suppress(FileNotFoundError):
                for entry in entries:
                    found[entry.name] = entry.inode(), entry.stat(follow_symlinks=False).st_size
        return found

    def look_at(self, version: VersionFolder) -> _Files:
        """Look at the files of a version, without reading any."""
        found = _Files()
        self._look(version, "", found)
        return found

    def _look(self, version: VersionFolder, place: str, found: _Files) -> None:
        home = sharing.home_of(version, place)
        if home is None:
            return
        found.folders.add(place)
        if home != version:
            found.shared.add(place)
        before = f"{place}/" if place else ""
        with os.scandir(home.folder(place)) as entries:
            is_here = bool(self.known) and os.stat(home.path).st_dev == os.stat(self._folder.path).st_dev
            for entry in entries:
                if entry.is_dir(follow_symlinks=False) or entry.is_symlink():
                    self._look(home, before + entry.name, found)
                elif is_here:
                    found.inodes[before + entry.name] = entry.inode()


@dataclass(frozen=True, slots=True)
class _Files:
    """What lies in the folder of a version.

    Attributes:
        inodes: Of its files, as far as they can be those of the pool.
        folders: Its folders, and those of other versions that it has by links.
        shared: The folders that are such links.
    """

    inodes: dict[str, int] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)
    shared: set[str] = field(default_factory=set)


def check(ground: Ground, contents: _Contents, artifact: ArtifactFolder, full: bool) -> Iterator[Finding]:
    """Look at one artifact: the chain of digests from `versions.json` down, and that every file is there."""
    repair = ground.command("repair")
    try:
        versions, is_sound = Versions.load(artifact), True
    except Damaged as error:
        yield of_damage(LANE, error, repair, VERSIONS)
        versions, is_sound = Versions(artifact.name, artifact.type), False
    if versions.entries and not versions.is_of(artifact):
        expected, found = (f"the list of {one.type}/{one.name}"[:150] for one in (artifact, versions))
        yield Finding(WARNING, LANE, artifact.versions, expected, found, "Give the folder its own name again")
    for number in artifact.numbers():
        entry = versions.get(number)
        if versions.entries and entry is None:
            if _is_in_progress(artifact, number):
                continue
            found = "none: its saving was stopped, and the next one removes it"
            yield Finding(NOTE, LANE, artifact.version(number).path, "an entry in versions.json", found)
        elif entry is None or entry.status != DELETED or artifact.version(number).manifest.exists():
            yield from _version(ground, contents, artifact.version(number), versions.digest(number), full)
    for entry in versions.entries:
        if entry.status != DELETED and not artifact.version(entry.version).path.is_dir():
            path = artifact.version(entry.version).path
            yield Finding(
                DAMAGE, LANE, path, "a version that versions.json lists", "no folder", "Restore it from a copy"
            )
    if full and is_sound and ground.catalogue is not None and artifact.versions.exists():
        yield from _against_catalogue(ground, artifact)


def _is_in_progress(artifact: ArtifactFolder, number: int) -> bool:
    """Return whether a version without an entry is being saved, or was until a moment ago."""
    if disk.is_held(artifact.lock):
        return True
    with contextlib.suppress(Damaged):  # nobody saves now: what has an entry since the list was read is whole
        return Versions.load(artifact).get(number) is not None
    return False


def _against_catalogue(ground: Ground, artifact: ArtifactFolder) -> Iterator[Finding]:
    assert ground.catalogue is not None
    scratch, theirs = ground.scratch()
    index.put(scratch, artifact)
    for difference in ground.catalogue.differences_in_artifact(theirs, artifact.type, artifact.name):
        expected = f"{difference.where}: {difference.theirs}, as versions.json says"
        path, mend = ground.layout.database, ground.command("rebuild")
        yield Finding(WARNING, "catalogue", path, expected, difference.ours, mend, REBUILD)


def _version(
    ground: Ground, contents: _Contents, folder: VersionFolder, digest: str | None, full: bool
) -> Iterator[Finding]:
    try:
        metadata = Metadata.load(folder, digest)
        manifest = Manifest.load(folder, metadata.manifest_digest)
    except Damaged as error:
        yield of_damage(LANE, error, "Restore it from a copy of the store; its files are in the pool")
        return
    pool, there = Pool(ground.layout.artifacts.pool), contents.look_at(folder)
    broken = _missing_folders(manifest, there)
    for entry in manifest.files:
        inode, size = contents.known.get(entry.sha256, (-1, -1))
        if (there.inodes.get(entry.path), entry.size) == (inode, size):
            continue  # it is a link, and whole as far as sizes tell
        is_lost = is_in(entry.path, broken)
        for finding in _content_of(ground, pool, entry) if is_lost else _file(ground, pool, folder, entry, full):
            shared = [place for place in above_of(entry.path) if place in there.shared]
            if shared and finding.path == folder.files / entry.path:
                broken.add(shared[-1])  # its own link; what it leads to may be right for the other version
            else:
                yield finding
    for place in sorted(broken):
        path = folder.folder(place)
        found = f"a link to {os.readlink(path)}" if path.is_symlink() else "no folder"
        expected = "a folder of files, or a link to the same one of another version"
        yield Finding(DAMAGE, LANE, path, expected, found, ground.command("repair"), FILES)


def _missing_folders(manifest: Manifest, there: _Files) -> set[str]:
    """Find folders that a manifest names and that are not there, or are links that lead elsewhere; the outermost."""
    wanted = {*manifest.folders, *(entry.path.rpartition("/")[0] for entry in manifest.files)}
    missing = {above for place in wanted for above in (place, *above_of(place))} - there.folders if wanted else set()
    return {place for place in missing if not any(above in missing for above in above_of(place))}


def _content_of(ground: Ground, pool: Pool, entry: FileEntry) -> Iterator[Finding]:
    """Look at the content of a file in the pool."""
    try:
        blob = pool.path(entry.sha256)
    except Damaged as error:
        yield of_damage(LANE, error, "Restore the manifest from a copy")
        return
    mend = ground.command("repair")
    found = size_of(blob)
    if found is None:
        yield Finding(DAMAGE, LANE, blob, f"{entry.size:,} bytes of {entry.path}", "no file", mend, BLOB)
        return
    if found != entry.size:
        yield Finding(DAMAGE, LANE, blob, f"{entry.size:,} bytes", f"{found:,}", mend, BLOB)


def _file(ground: Ground, pool: Pool, folder: VersionFolder, entry: FileEntry, full: bool) -> Iterator[Finding]:
    """Look at one file of a version; where it is a link to the pool, that is where its bytes are checked."""
    problems = list(_content_of(ground, pool, entry))
    if problems:
        yield from problems
        return
    path, mend = folder.files / entry.path, ground.command("repair")
    try:
        linked = os.lstat(path)
    except FileNotFoundError:
        yield Finding(DAMAGE, LANE, path, f"{entry.size:,} bytes of {entry.path}", "no file", mend, BLOB)
        return
    is_blob = os.path.samestat(os.stat(pool.path(entry.sha256)), linked)
    if not is_blob and (linked.st_size != entry.size or (full and not is_whole(path, entry.sha256))):
        yield Finding(DAMAGE, LANE, path, "a link to the pool, or the same bytes", "others", mend, BLOB)


def check_shard(ground: Ground, pool: Pool, shard: Path, full: bool) -> Iterator[Finding]:
    """Look at the contents in one folder of the pool."""
    for blob in pool.blobs_of(shard) if full else ():  # else who holds them looks at their sizes
        yield from _content(ground, pool, blob)


def _content(ground: Ground, pool: Pool, blob: Blob) -> Iterator[Finding]:
    try:
        pool.check(blob.digest)
    except Damaged as error:
        if blob.path.exists():  # else it was collected
            yield of_damage(LANE, error, ground.command("repair"), BLOB)
