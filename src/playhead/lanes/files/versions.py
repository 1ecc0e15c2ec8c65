"""`metadata.json` and `versions.json`: what a version is, and which versions there are.

Their keys and the order of these are those that other programs know. The digest of each version's metadata, which has
that of its manifest, is in `versions.json`, and that of `versions.json` is in itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from playhead import facts, owner, strictjson, typed
from playhead.errors import Damaged, Misplaced
from playhead.lanes.files.documents import RESTORE, content_of, decoded, sealed, unsealed
from playhead.layout import ArtifactFolder, VersionFolder

READY, DELETED = "ready", "deleted"
LATEST = "latest"
Checks = Mapping[str, Callable[[Any], Any]]


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a version is. One field a key, in the order in which other programs write them."""

    name: str
    type: str
    version: int
    created_at: float
    updated_at: float
    created_by_run: str | None
    created_by_user: str | None = None
    size_bytes: int = 0
    num_files: int = 0
    num_references: int = 0
    status: str = READY
    metadata: Mapping[str, Any] = field(default_factory=dict)
    description: str = ""
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    parent_artifacts: tuple[str, ...] = ()
    manifest_digest: str | None = None

    def encode(self) -> bytes:
        """Give the content of `metadata.json`."""
        return strictjson.encode({name: getattr(self, name) for name in self.__slots__}, indent=True)

    @classmethod
    def load(cls, folder: VersionFolder, expected: str | None) -> Metadata:
        """Read the metadata of a version.

        Args:
            folder: The version.
            expected: The digest that `versions.json` has for it; None for none.

        Raises:
            Damaged: It is not what was written.
        """
        data = content_of(folder.metadata)
        if expected is not None and hashlib.sha256(data).hexdigest() != expected:
            raise Damaged(folder.metadata, "the digest in versions.json", "another", RESTORE)
        content = decoded(folder.metadata, data)
        try:
            return cls(**_checked(_OF_VERSION, content))
        except TypeError as error:
            raise Damaged(folder.metadata, "name, type, version and times", str(error), RESTORE) from error


@dataclass(frozen=True, slots=True)
class VersionEntry:
    """One version in `versions.json`."""

    version: int
    created_at: float
    created_by_run: str | None
    size_bytes: int
    num_files: int
    status: str = READY
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Versions:
    """Which versions of an artifact there are, and which words name them.

    Attributes:
        name: The artifact.
        type: Its type.
        entries: All versions that ever were, in order; of those that were purged nothing else is left.
        aliases: Words that name a version.
        created_at: When the first was saved.
        updated_at: When one was last saved, named or deleted.
        digests: What the `metadata.json` of each version must be.
    """

    name: str
    type: str
    entries: tuple[VersionEntry, ...] = ()
    aliases: Mapping[str, int] = field(default_factory=dict)
    created_at: float = 0.0
    updated_at: float = 0.0
    digests: Mapping[str, str] = field(default_factory=dict)

    def get(self, number: int) -> VersionEntry | None:
        """Find a version."""
        return next((entry for entry in self.entries if entry.version == number), None)

    def is_of(self, folder: ArtifactFolder) -> bool:
        """Return whether it is the list of the artifact that a folder is named after; it may be renamed by hand."""
        if (self.type, self.name) == (folder.type, folder.name):
            return True
        return owner.fits({"type": self.type, "name": self.name}, {"type": folder.type, "name": folder.name})

    @property
    def highest(self) -> int:
        """The highest number that a version ever had; 0 for none."""
        return max((entry.version for entry in self.entries), default=0)

    def digest(self, number: int) -> str | None:
        """Give what the metadata of a version must be; None where another program wrote it."""
        return self.digests.get(f"v{number}")

    def named(self, aliases: Mapping[str, int], now: float) -> Versions:
        """Give the versions with other names; `latest` is the highest that is not deleted."""
        there = {entry.version for entry in self.entries if entry.status != DELETED}
        kept = {alias: number for alias, number in aliases.items() if alias != LATEST and number in there}
        if there:
            kept = {LATEST: max(there)} | kept
        entries = tuple(
            replace(entry, aliases=tuple(alias for alias, number in kept.items() if number == entry.version))
            for entry in self.entries
        )
        return replace(self, entries=entries, aliases=kept, updated_at=now)

    def encode(self) -> bytes:
        """Give the content of `versions.json`."""
        content = {
            "artifact_name": self.name,
            "artifact_type": self.type,
            "versions": [asdict(entry) for entry in self.entries],
            "aliases": dict(self.aliases),
            "created_at": self.created_at,
            "updated_at": self.updated_at,
            "metadata_digests": dict(self.digests),
        }
        return strictjson.encode(sealed(content), indent=True)

    @classmethod
    def load(cls, folder: ArtifactFolder) -> Versions:
        """Read which versions there are; none, where there is no file.

        Raises:
            Damaged: It is not what was written; `Misplaced` if it is that of another artifact, which is there too.
        """
        try:
            written = facts.load(folder.versions, required=True)
            is_ours = "digest" in written
            content = unsealed(folder.versions, written)
        except FileNotFoundError:
            return cls(folder.name, folder.type)
        try:
            entries = typed.several(lambda entry: VersionEntry(**_checked(_OF_ENTRY, entry)))(content.get("versions"))
            found = cls(
                typed.text(content["artifact_name"]),
                typed.text(content["artifact_type"]),
                tuple(entries),
                {typed.text(alias): typed.version(one) for alias, one in typed.mapping(content.get("aliases")).items()},
                typed.moment(content.get("created_at", 0)),
                typed.moment(content.get("updated_at", 0)),
                {key: typed.text(one) for key, one in typed.mapping(content.get("metadata_digests")).items()},
            )
        except (KeyError, TypeError) as error:
            raise Damaged(folder.versions, "a list of versions", f"an error: {error!r}", RESTORE) from error
        if is_ours and not found.is_of(folder) and folder.is_beside(found.type, found.name):
            due, said = (f"the list of {one.type}/{one.name}" for one in (folder, found))
            raise Misplaced(folder.versions, due, said, owner.REMEDY)
        return found


_OF_ENTRY: Checks = {
    "version": typed.version,
    "created_at": typed.moment,
    "created_by_run": typed.maybe(typed.text),
    "size_bytes": typed.whole,
    "num_files": typed.whole,
    "status": lambda value: typed.text(value or READY),
    "aliases": typed.texts,
}
_OF_VERSION: Checks = {
    "name": typed.text,
    "type": typed.text,
    "updated_at": typed.moment,
    "created_by_user": typed.maybe(typed.text),
    "num_references": typed.whole,
    "metadata": typed.mapping,
    "description": lambda value: typed.text(value or ""),
    "tags": typed.texts,
    "parent_artifacts": typed.texts,
    "manifest_digest": typed.maybe(typed.text),
    **_OF_ENTRY,
}


def _checked(checks: Checks, content: Any) -> dict[str, Any]:
    """Take the values that are known out of an object, each checked; what others add is theirs."""
    found: dict[str, Any] = {}
    for name, value in typed.mapping(content).items():
        if name in checks:
            try:
                found[name] = checks[name](value)
            except TypeError as error:
                raise TypeError(f"{name}: {error}") from None
    return found
