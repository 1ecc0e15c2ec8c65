"""What differs between two versions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playhead.artifact.version import ArtifactVersion


@dataclass(frozen=True, slots=True)
class Difference:
    """What a second version has more, less and otherwise than a first.

    Attributes:
        first: The address of the first.
        second: The address of the second.
        added: Files that only the second has.
        removed: Files that only the first has.
        changed: Files of another content.
        moved: Files of the first that the second has under another path, old to new.
        references: References that only one has, or with another checksum.
        metadata: Values of the first and of the second, where they differ.
        bytes: How many more bytes the second has.
    """

    first: str
    second: str
    added: list[str]
    removed: list[str]
    changed: list[str]
    moved: dict[str, str]
    references: list[str]
    metadata: dict[str, tuple[Any, Any]]
    bytes: int

    @property
    def is_empty(self) -> bool:
        """Whether both hold the same."""
        return not (self.added or self.removed or self.changed or self.moved or self.references or self.metadata)

    def to_json(self) -> dict[str, Any]:
        """Give all of it as JSON."""
        return asdict(self)


def compare(first: ArtifactVersion, second: ArtifactVersion) -> Difference:
    """Compare the manifests and the metadata of two versions; no file is read."""
    ours = {entry.path: entry.digest for entry in first.manifest.files}
    theirs = {entry.path: entry.digest for entry in second.manifest.files}
    added, removed = sorted(theirs.keys() - ours.keys()), sorted(ours.keys() - theirs.keys())
    places: dict[str, list[str]] = {}
    for path in added:
        places.setdefault(theirs[path], []).append(path)
    moved = {path: places[ours[path]].pop(0) for path in removed if places.get(ours[path])}
    return Difference(
        first.ref,
        second.ref,
        added=[path for path in added if path not in moved.values()],
        removed=[path for path in removed if path not in moved],
        changed=sorted(path for path in ours.keys() & theirs.keys() if ours[path] != theirs[path]),
        moved=moved,
        references=_references(first, second),
        metadata=_metadata(first.metadata, second.metadata),
        bytes=second.size - first.size,
    )


def _references(first: ArtifactVersion, second: ArtifactVersion) -> list[str]:
    ours = {entry.uri: entry.checksum for entry in first.references}
    theirs = {entry.uri: entry.checksum for entry in second.references}
    return sorted(uri for uri in ours.keys() | theirs.keys() if uri not in ours or ours[uri] != theirs.get(uri, ours))


def _metadata(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    return {
        key: (ours.get(key), theirs.get(key))
        for key in sorted(ours.keys() | theirs.keys())
        if ours.get(key) != theirs.get(key)
    }
