"""What an earlier version holds of the files that are to be saved, known from how their folders look.

A folder that looks as it did, every file of it, holds what it held. So nothing is looked up file by file, and the new
version has a link to the folder that the earlier one has.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from playhead import disk
from playhead.catalog import known_files, known_folders
from playhead.catalog.known_folders import KnownFolder
from playhead.errors import Damaged
from playhead.home import Home
from playhead.lanes.files import entries, sharing
from playhead.lanes.files.documents import content_of
from playhead.lanes.files.entries import Parted
from playhead.lanes.files.manifest import Manifest
from playhead.lanes.files.pool import Pool
from playhead.lanes.files.tree import Look, above_of
from playhead.lanes.files.versions import Metadata, Versions
from playhead.layout import ArtifactFolder, VersionFolder


@dataclass(frozen=True)
class Recalled:
    """Folders that are as an earlier version has them.

    Attributes:
        version: The version.
        facts: What it is.
        data: Its `manifest.json`.
        folders: The folders; none lies in another, and the empty text is all of them.
    """

    version: VersionFolder
    facts: Metadata
    data: bytes
    folders: tuple[str, ...]

    @property
    def is_all(self) -> bool:
        """Whether it holds the very same files, and nothing that lies elsewhere."""
        return "" in self.folders and not self.facts.num_references

    @cached_property
    def manifest(self) -> Manifest:
        """Its manifest."""
        return Manifest.decode(self.version, self.data)

    @cached_property
    def _parted(self) -> Parted:
        found = entries.parts_of(self.data)
        return found or Parted(entries.spelled(self.manifest.files), {"executables": list(self.manifest.executables)})

    def files(self) -> Iterator[tuple[str, Sequence[bytes]]]:
        """Walk over the folders: how the paths of all files in each begin, and what the manifest says of these."""
        return ((prefix, entries.below(self._parted.files, prefix)) for prefix in self._prefixes)

    def executables(self) -> Iterator[str]:
        """Walk over the paths of those that can be run."""
        return (path for path in self._parted.rest.get("executables", ()) if path.startswith(self._prefixes))

    @property
    def _prefixes(self) -> tuple[str, ...]:
        return tuple(f"{place}/" if place else "" for place in self.folders)

    def repeat_manifest(self, staged: VersionFolder) -> None:
        """Give a new version the same manifest: a link, or a copy where there can be none."""
        try:
            disk.link_new(self.version.manifest, staged.manifest)
        except OSError as error:
            if not disk.cannot_link(error) and not isinstance(error, FileNotFoundError):  # purged since
                raise
            disk.replace(staged.manifest, self.data, named=False)

    def share(self, pool: Pool, staged: VersionFolder) -> None:
        """Let a new version have the folders; who purges versions is kept out by the caller."""
        for place in self.folders:
            home = sharing.home_of(self.version, place)
            if home is None or not sharing.link(staged, place, home):
                missing = sharing.fill(pool, staged.folder(place), self.manifest, place)
                if missing:
                    raise Damaged(pool.folder.path, f"the content of {missing[0]}", "none", "Run: playhead repair")
        for folder in {staged.folder(place).parent for place in self.folders if place}:  # the top is synced later
            disk.sync_folder(folder)


def recall(home: Home, folder: ArtifactFolder, looks: Mapping[str, Look]) -> Recalled | None:
    """Find what the last version that was saved of an artifact has, as far as that can be known by looking."""
    known: Mapping[str, KnownFolder] = {}
    with home.backlog.tolerating(None), home.database.read() as connection:
        known = known_folders.of(connection, folder.type, folder.name)
    same = {place for place, one in known.items() if place in looks and one.look == looks[place].digest}
    same = {place for place in same if not any(above in same for above in above_of(place))}
    if not same:
        return None
    row = known[min(same)]  # all are of one version
    version, versions = folder.version(row.version), Versions.load(folder)
    if versions.get(row.version) is None:
        return None
    try:
        facts = Metadata.load(version, versions.digest(row.version))
        data = content_of(version.manifest)
    except Damaged:
        return None  # purged, or damaged: then the files are looked up one by one
    if not row.manifest.hex() == facts.manifest_digest == hashlib.sha256(data).hexdigest():
        return None
    return Recalled(version, facts, data, tuple(sorted(same)))


def remember(
    home: Home, folder: ArtifactFolder, version: int, manifest: str, looks: Mapping[str, Look], unsure: Collection[str]
) -> None:
    """Keep how folders looked when a version was saved.

    Args:
        home: The store.
        folder: The artifact.
        version: The version.
        manifest: The SHA-256 of its manifest.
        looks: How they looked before they were read.
        unsure: Files that may look the same after they are written again.
    """
    left_out = {above for member in unsure for above in above_of(member)}
    rows = [
        KnownFolder(folder.type, folder.name, place, look.digest, version, bytes.fromhex(manifest))
        for place, look in looks.items()
        if look.files >= sharing.LEAST and place not in left_out
    ]
    with home.database.write() as connection:
        known_folders.put(connection, folder.type, folder.name, rows)


def forget(home: Home, problems: Iterable[Damaged]) -> None:
    """Forget the files whose contents were found damaged, so that saving them again brings the contents back."""
    places = [Path(problem.path) for problem in problems]
    pool = home.layout.artifacts.pool
    damaged = [path.name for path in places if path.parent.parent == pool.path and pool.is_blob(path.name)]
    if damaged and home.database.mode == "a":
        with home.database.write() as connection:
            known_folders.clear(connection)
            for digest in damaged:
                known_files.forget(connection, digest)


def hand_on(home: Home, folder: ArtifactFolder, version: int, heirs: Mapping[str, int]) -> None:
    """Keep in mind which version has all that a purged one had, where one has."""
    if "" in heirs:
        with home.database.write() as connection:
            known_folders.hand_on(connection, folder.type, folder.name, version, heirs[""])
