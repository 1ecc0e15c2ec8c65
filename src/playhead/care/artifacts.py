"""Artifacts under the lens: what versions say they hold, and every content of the pool."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from functools import cached_property, partial
from pathlib import Path

from playhead.artifact import index
from playhead.care.finding import BLOB, DAMAGE, NOTE, REBUILD, VERSIONS, WARNING, Finding, Thing, of_damage
from playhead.care.ground import Ground
from playhead.errors import Damaged
from playhead.lanes.files.manifest import DELETED, FileEntry, Manifest, Metadata, Versions
from playhead.lanes.files.pool import Blob, Pool, digest_of
from playhead.layout import ArtifactFolder, PoolFolder, VersionFolder

LANE = "artifacts"


def things(ground: Ground) -> Iterator[Thing]:
    """Tell of every artifact, and of every shard of the pool."""
    folder = ground.layout.artifacts
    contents = _Contents(folder.pool)
    for artifact in folder.walk():
        yield Thing(LANE, f"{artifact.type}/{artifact.name}", partial(check, ground, contents, artifact))
    pool = Pool(folder.pool)
    for shard in folder.pool.shards():
        yield Thing(LANE, f".dedup/{shard.name}", partial(check_shard, ground, pool, shard))


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

    def linked_in(self, folder: Path) -> dict[str, int]:
        """Give the inodes of the files below a folder, as far as they can be those of the pool."""
        if not folder.is_dir() or not self.known or os.stat(folder).st_dev != os.stat(self._folder.path).st_dev:
            return {}
        return dict(_inodes(os.fspath(folder), ""))


def _inodes(folder: str, before: str) -> Iterator[tuple[str, int]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _inodes(entry.path, f"{before}{entry.name}/")
            else:
                yield before + entry.name, entry.inode()


def check(ground: Ground, contents: _Contents, artifact: ArtifactFolder, full: bool) -> Iterator[Finding]:
    """Look at one artifact: the chain of digests from `versions.json` down, and that every file is there."""
    repair = ground.command("repair")
    try:
        versions = Versions.load(artifact)
    except Damaged as error:
        yield of_damage(LANE, error, repair, VERSIONS)
        versions = Versions(artifact.name, artifact.type)
    for number in artifact.numbers():
        entry = versions.get(number)
        if versions.entries and entry is None:
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
    if full and ground.catalogue is not None and artifact.versions.exists():
        yield from _against_catalogue(ground, artifact)


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
    pool, linked = Pool(ground.layout.artifacts.pool), contents.linked_in(folder.files)
    for entry in manifest.files:
        inode, size = contents.known.get(entry.sha256, (-1, -1))
        if (linked.get(entry.path), entry.size) != (inode, size):  # else it is a link, and whole as far as sizes tell
            yield from _file(ground, pool, folder, entry, full)


def _file(ground: Ground, pool: Pool, folder: VersionFolder, entry: FileEntry, full: bool) -> Iterator[Finding]:
    """Look at one file of a version; where it is a link to the pool, that is where its bytes are checked."""
    path = folder.files / entry.path
    try:
        blob = pool.path(entry.sha256)
    except Damaged as error:
        yield of_damage(LANE, error, "Restore the manifest from a copy")
        return
    try:
        found, linked = os.stat(blob), os.lstat(path)
    except FileNotFoundError as error:
        missing = Path(error.filename)
        mend = ground.command("repair")
        yield Finding(DAMAGE, LANE, missing, f"{entry.size:,} bytes of {entry.path}", "no file", mend, BLOB)
        return
    if found.st_size != entry.size:
        mend = ground.command("repair")
        yield Finding(DAMAGE, LANE, blob, f"{entry.size:,} bytes", f"{found.st_size:,}", mend, BLOB)
    elif not os.path.samestat(found, linked) and (linked.st_size != entry.size or (full and _is_other(path, entry))):
        said = "a link to the pool, or the same bytes"
        yield Finding(DAMAGE, LANE, path, said, "others", ground.command("repair"), BLOB)


def _is_other(path: Path, entry: FileEntry) -> bool:
    return path.is_symlink() or digest_of(path) != entry.sha256


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
