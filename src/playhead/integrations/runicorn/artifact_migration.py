"""Taking over the artifacts of a Runicorn folder, one version after the other, each whole or not at all.

Every file is compared with the SHA-256 in the manifest while it is copied. A version keeps its number. It is built in
`.incoming`, moved to its place, and counts from when `versions.json` lists it; a folder that is not listed is what a
crash left, and the next migration takes the version over again.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from playhead import disk, facts
from playhead.artifact import index
from playhead.home import Home
from playhead.integrations.incoming import Refused
from playhead.integrations.runicorn.artifact_source import SourceVersion
from playhead.lanes.files.entries import FileEntry
from playhead.lanes.files.manifest import Manifest
from playhead.lanes.files.pool import READ_ONLY, Pool, blocks_of, digest_of
from playhead.lanes.files.versions import DELETED, READY, Metadata, VersionEntry, Versions
from playhead.layout import ArtifactFolder, VersionFolder


class ArtifactMigration:
    """Brings versions into a store.

    Args:
        home: The store.
    """

    def __init__(self, home: Home) -> None:
        self._home = home
        self._pool = Pool(home.layout.artifacts.pool)
        self._whole: set[str] = set()  # contents of the pool that were looked at

    def difference(self, version: SourceVersion) -> str | None:
        """Say how the version of this number in the store differs; None where it does not, or was purged.

        Raises:
            Damaged: It cannot be read.
        """
        folder, number = self._folder(version), version.number
        place = folder.version(number)
        if not place.path.exists():
            return None
        metadata = Metadata.load(place, Versions.load(folder).digest(number))
        if _contents(Manifest.load(place, metadata.manifest_digest)) == _contents(version.manifest):
            return None
        return f"v{number} of {folder.type}/{folder.name} in the store holds something else"

    def take(self, version: SourceVersion) -> bool:
        """Take over a version; one that the store has, or had before it was purged, is left as it is.

        Returns:
            Whether that was done.

        Raises:
            Refused: A file of it is not what was saved. The store is as it was.
            Damaged: The store's list of versions cannot be read.
        """
        if Versions.load(self._folder(version)).get(version.number) is not None:
            return False
        folder = self._folder(version)
        staged = VersionFolder(disk.temporary_beside(self._home.layout.incoming / "version"))
        with self._pool.saving(), contextlib.ExitStack() as undo:
            undo.callback(_discard, staged.path)
            digest = self._build(version, staged)
            disk.make_folders(folder.path)
            with disk.locked(folder.lock, make=True):
                _commit(folder, staged, version, digest)
            undo.pop_all()
        index.put(self._home, folder)
        return True

    def _folder(self, version: SourceVersion) -> ArtifactFolder:
        return self._home.layout.artifacts.artifact(version.type, version.name)

    def _build(self, version: SourceVersion, staged: VersionFolder) -> str:
        """Write all of a version, and wait until it is on the medium; give the digest of its metadata."""
        disk.make_folder(staged.path)
        self._bring(version, staged.files)
        manifest = version.manifest.encode()
        metadata = replace(version.metadata, manifest_digest=hashlib.sha256(manifest).hexdigest()).encode()
        disk.replace(staged.manifest, manifest, named=False)
        if version.deleted is not None:
            facts.write(staged.deleted, {"deleted_at": version.metadata.updated_at, **version.deleted}, named=False)
        disk.replace(staged.metadata, metadata)
        return hashlib.sha256(metadata).hexdigest()

    def _bring(self, version: SourceVersion, files: Path) -> None:
        """Copy the files that are not in the pool, each checked on the way, then let the pool have them too."""
        folders = {files, *((files / entry.path).parent for entry in version.manifest.files)}
        for folder in sorted(folders | {files / name for name in version.manifest.folders}):
            disk.make_folders(folder, durable=False)
        new = [entry for entry in version.manifest.files if not self._link(entry, files / entry.path)]
        for entry in new:
            _copy(entry, version.files[entry.path], files / entry.path)
        disk.sync_file_system(files)
        for entry in new:
            self._give_to_pool(entry, files / entry.path)
        disk.sync_file_system(files)

    def _link(self, entry: FileEntry, target: Path) -> bool:
        """Let a file be the blob that is in the pool; tell whether there is one, and it is whole."""
        blob = self._pool.path(entry.sha256)
        if not self._pool.has(entry.sha256, entry.size) or not self._is_whole(entry, blob):
            return False
        try:
            disk.link_new(blob, target)
        except OSError as error:
            if not disk.cannot_link(error):
                raise
            return False
        return True

    def _is_whole(self, entry: FileEntry, blob: Path) -> bool:
        if entry.sha256 not in self._whole and digest_of(blob) == entry.sha256:
            self._whole.add(entry.sha256)
        return entry.sha256 in self._whole

    def _give_to_pool(self, entry: FileEntry, target: Path) -> None:
        blob = self._pool.path(entry.sha256)
        disk.make_folders(blob.parent, durable=False)
        try:
            disk.link_new(target, blob)
        except FileExistsError:  # brought by another file of the same content, or damaged
            disk.link(*((blob, target) if self._is_whole(entry, blob) else (target, blob)))
        except OSError as error:
            if not disk.cannot_link(error):
                raise
            disk.copy(target, blob)
        self._whole.add(entry.sha256)


def _copy(entry: FileEntry, places: Iterable[Path], target: Path) -> None:
    """Copy a content from where it is what the manifest says."""
    found = "no file"
    for place in places:
        digest = hashlib.sha256()
        disk.write_blocks(target, _hashed(place, digest), mode=READ_ONLY, durable=False)
        if digest.hexdigest() == entry.sha256 and target.stat().st_size == entry.size:
            return
        found = f"{target.stat().st_size:,} bytes with {digest.hexdigest()[:12]}…"
        disk.remove(target)
    expected = f"{entry.size:,} bytes with the SHA-256 {entry.sha256[:12]}…"
    raise Refused(f"its file {entry.path} is not what was saved: expected {expected}, found {found}")


def _hashed(path: Path, digest: hashlib._Hash) -> Iterator[memoryview]:
    for block in blocks_of(path):
        digest.update(block)
        yield block


def _contents(manifest: Manifest) -> object:
    """Give what makes two versions the same."""
    return sorted((entry.path, entry.digest) for entry in manifest.files), sorted(
        one.uri for one in manifest.references
    )


def _commit(folder: ArtifactFolder, staged: VersionFolder, version: SourceVersion, digest: str) -> None:
    """Give a version its place and its line in `versions.json`."""
    versions, number, about = Versions.load(folder), version.number, version.metadata
    if versions.get(number) is not None:
        raise Refused(f"a v{number} of {folder.type}/{folder.name} was saved in the store meanwhile")
    place = folder.version(number).path
    if place.exists():
        gone = disk.temporary_beside(place)
        disk.rename(place, gone)
        disk.remove_tree(gone)
    disk.rename(staged.path, place)
    disk.sync_folder(folder.path)
    status = READY if version.deleted is None else DELETED
    entry = VersionEntry(number, about.created_at, about.created_by_run, about.size_bytes, about.num_files, status)
    aliases = {**dict.fromkeys(version.aliases, number), **versions.aliases}  # a word that the store gave stays there
    entries = sorted((*versions.entries, entry), key=lambda one: one.version)
    changed = replace(
        versions,
        entries=tuple(entries),
        created_at=min(versions.created_at or about.created_at, about.created_at),
        digests={**versions.digests, f"v{number}": digest},
    ).named(aliases, max(versions.updated_at, about.updated_at))
    disk.replace(folder.versions, changed.encode())


def _discard(staged: Path) -> None:
    # The first error is the one to report; what cannot be removed now, the next migration removes.
    with contextlib.suppress(OSError):
        if staged.exists():
            disk.remove_tree(staged)
