"""`manifest.json`, `metadata.json` and `versions.json`: what a version holds, what it is, and which versions there are.

Their keys and the order of these are those that other programs know. Each is covered by a digest: the manifest's is in
the metadata, the metadata's in `versions.json`, and that of `versions.json` is in itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from playhead import disk, facts, strictjson
from playhead.errors import BadName, Damaged
from playhead.lanes.files import typed
from playhead.layout import ArtifactFolder, VersionFolder, check_member

READY, DELETED = "ready", "deleted"
LATEST = "latest"
ALGORITHM = "sha256:"
_SEAL = "digest"
Checks = Mapping[str, Callable[[Any], Any]]
_RESTORE = "Restore it from a copy of the store, or run: playhead repair"


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One file of a version.

    Attributes:
        path: Its place in the artifact, with `/` between folders.
        size: Bytes.
        digest: `sha256:` and its SHA-256 in hexadecimal.
        modified_at: When the file that was saved was last written, in seconds since 1970.
    """

    path: str
    size: int
    digest: str
    modified_at: float | None = None

    @property
    def sha256(self) -> str:
        """The SHA-256 alone."""
        return self.digest.removeprefix(ALGORITHM)


@dataclass(frozen=True, slots=True)
class Reference:
    """What a version holds that lies elsewhere.

    Attributes:
        uri: Where: `file:///…`, `playhead://tables/pong`, `s3://…`.
        checksum: What it was when the version was saved; None where nobody knows.
        size: Bytes, where they are known.
        metadata: What else was said about it.
    """

    uri: str
    checksum: str | None = None
    size: int | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Manifest:
    """All that a version holds.

    Attributes:
        files: Its files, in order of their paths.
        references: What lies elsewhere.
        created_at: When it was made.
        folders: Folders in which nothing is.
        executables: The paths of files that could be run when they were saved.
    """

    files: tuple[FileEntry, ...]
    references: tuple[Reference, ...] = ()
    created_at: float = 0.0
    folders: tuple[str, ...] = ()
    executables: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Bytes of the files, and of the references whose size is known."""
        return sum(entry.size for entry in self.files) + sum(entry.size or 0 for entry in self.references)

    def encode(self) -> bytes:
        """Give the content of `manifest.json`."""
        entries = [
            {"path": entry.path, "size": entry.size, "digest": entry.digest, "modified_at": entry.modified_at}
            for entry in self.files
        ]
        content = {
            "files": entries,
            "references": [asdict(entry) for entry in self.references],
            "total_size": self.size,
            "total_files": len(self.files),
            "total_references": len(self.references),
            "created_at": self.created_at,
        }
        more = {"folders": self.folders, "executables": self.executables}  # others know neither
        return strictjson.encode(content | {key: paths for key, paths in more.items() if paths}, indent=True)

    @classmethod
    def load(cls, folder: VersionFolder, expected: str | None) -> Manifest:
        """Read the manifest of a version.

        Args:
            folder: The version.
            expected: The digest that the metadata has for it; None for none.

        Raises:
            Damaged: It is not what was written.
        """
        path = folder.manifest
        data = content_of(path)
        if expected is not None and hashlib.sha256(data).hexdigest() != expected:
            raise Damaged(path, f"the digest in {folder.metadata.name}", "another", _RESTORE)
        return cls.decode(folder, data)

    @classmethod
    def decode(cls, folder: VersionFolder, data: bytes) -> Manifest:
        """Understand the manifest of a version; otherwise as `load`."""
        path = folder.manifest
        content = _decoded(path, data)
        try:
            files = tuple(map(_file_entry, content["files"]))
            references = tuple(map(_reference, content.get("references") or ()))
            folders = tuple(map(check_member, typed.texts(content.get("folders"))))
            executables = typed.texts(content.get("executables"))
            return cls(files, references, typed.moment(content.get("created_at", 0)), folders, executables)
        except (KeyError, TypeError, BadName) as error:
            raise Damaged(path, "a list of files", f"an error: {error!r}", _RESTORE) from error


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
            raise Damaged(folder.metadata, "the digest in versions.json", "another", _RESTORE)
        content = _decoded(folder.metadata, data)
        try:
            return cls(**_checked(_OF_VERSION, content))
        except TypeError as error:
            raise Damaged(folder.metadata, "name, type, version and times", str(error), _RESTORE) from error


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
            Damaged: It is not what was written.
        """
        try:
            content = unsealed(folder.versions, facts.load(folder.versions, required=True))
        except FileNotFoundError:
            return cls(folder.name, folder.type)
        try:
            entries = [VersionEntry(**_checked(_OF_ENTRY, entry)) for entry in content.get("versions") or ()]
            return cls(
                typed.text(content["artifact_name"]),
                typed.text(content["artifact_type"]),
                tuple(entries),
                {typed.text(alias): typed.version(one) for alias, one in typed.mapping(content.get("aliases")).items()},
                typed.moment(content.get("created_at", 0)),
                typed.moment(content.get("updated_at", 0)),
                {key: typed.text(one) for key, one in typed.mapping(content.get("metadata_digests")).items()},
            )
        except (KeyError, TypeError) as error:
            raise Damaged(folder.versions, "a list of versions", f"an error: {error!r}", _RESTORE) from error


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


def _file_entry(found: Any) -> FileEntry:
    if not isinstance(found, dict):
        raise TypeError(f"expected an object for each file, found {found!r}")
    path, size, digest, at = found["path"], found["size"], found["digest"], found.get("modified_at")
    check_member(typed.text(path))
    return FileEntry(path, typed.whole(size), typed.digest(digest), None if at is None else float(typed.number(at)))


def _reference(found: Any) -> Reference:
    if not isinstance(found, dict):
        raise TypeError(f"expected an object for each reference, found {found!r}")
    checksum, size = typed.maybe(typed.text)(found.get("checksum")), typed.maybe(typed.whole)(found.get("size"))
    return Reference(typed.text(found["uri"]), checksum, size, typed.mapping(found.get("metadata")))


def sealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """Add the digest of a JSON object to it."""
    return {**content, _SEAL: _digest_of_content(content)}


def unsealed(path: Path, content: dict[str, Any]) -> dict[str, Any]:
    """Take the digest of a JSON object off it; one that another program wrote has none.

    Raises:
        Damaged: The digest is that of another content.
    """
    seal = content.pop(_SEAL, None)
    if seal is not None and seal != _digest_of_content(content):
        raise Damaged(path, "the content whose digest it has", "another", _RESTORE)
    return content


def _digest_of_content(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(strictjson.encode(content)).hexdigest()


def content_of(path: Path) -> bytes:
    """Read a file of a version.

    Raises:
        Damaged: It is not there, or no file.
    """
    try:
        with open(disk.open_to_read(path), "rb") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        raise Damaged(path, "a file of a version of an artifact", "no file", _RESTORE) from None


def _decoded(path: Path, data: bytes) -> dict[str, Any]:
    try:
        content = strictjson.decode(data)
    except strictjson.JSONDecodeError as error:
        raise Damaged(path, "JSON", str(error), _RESTORE) from error
    if not isinstance(content, dict):
        raise Damaged(path, "a JSON object", type(content).__name__, _RESTORE)
    return content


def digests_in(manifests: Iterable[Manifest]) -> set[str]:
    """Collect the SHA-256 of all files that manifests name."""
    return {entry.sha256 for manifest in manifests for entry in manifest.files}
