"""All versions of all artifacts of a store, as their files say: for those who check, count and collect."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from playhead.errors import Damaged, foreseen
from playhead.lanes.files.manifest import Manifest
from playhead.lanes.files.versions import Metadata, VersionEntry, Versions
from playhead.layout import ArtifactFolder, Layout, VersionFolder


@dataclass(frozen=True, slots=True)
class Found:
    """The folder of a version.

    Attributes:
        artifact: Whose version it is.
        number: Which one.
        folder: Its files.
        entry: Its line in `versions.json`; None for a folder that is not listed, as a crash leaves it.
        digest: What its `metadata.json` must be; None where that is not known.
    """

    artifact: ArtifactFolder
    number: int
    folder: VersionFolder
    entry: VersionEntry | None
    digest: str | None

    def load(self) -> tuple[Metadata, Manifest]:
        """Read what it is and what it holds.

        Raises:
            Damaged: A file is not what was written.
        """
        with foreseen(self.folder.path):
            metadata = Metadata.load(self.folder, self.digest)
            return metadata, Manifest.load(self.folder, metadata.manifest_digest)


def versions(layout: Layout) -> Iterator[Found | Damaged]:
    """Walk over the folders of all versions, listed or not; a list that cannot be read gives an error first."""
    for artifact in layout.artifacts.walk():
        try:
            with foreseen(artifact.versions):
                listed = Versions.load(artifact)
        except Damaged as problem:
            yield problem
            listed = Versions(artifact.name, artifact.type)
        for number in artifact.numbers():
            yield Found(artifact, number, artifact.version(number), listed.get(number), listed.digest(number))


def missing(layout: Layout) -> Iterator[tuple[ArtifactFolder, VersionEntry]]:
    """Walk over versions that are listed as ready, and have no folder."""
    for artifact in layout.artifacts.walk():
        there = set(artifact.numbers())
        try:
            listed = Versions.load(artifact)
        except Damaged:
            continue  # told by `versions`
        for entry in listed.entries:
            if entry.version not in there and entry.status != "deleted":
                yield artifact, entry


def referenced(layout: Layout) -> set[str]:
    """Collect the SHA-256 of every content that a folder of a version names, listed or not.

    Raises:
        Damaged: One of them cannot be read: then nobody knows what it names, and nothing may be removed.
    """
    digests: set[str] = set()
    for found in versions(layout):
        if isinstance(found, Damaged):
            raise found
        digests.update(entry.sha256 for entry in found.load()[1].files)
    return digests
