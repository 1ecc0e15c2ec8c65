"""`manifest.json`: what a version holds. Its keys and their order are those that other programs know."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from playhead import strictjson
from playhead.errors import BadName, Damaged
from playhead.lanes.files import typed
from playhead.lanes.files.documents import RESTORE, content_of, decoded
from playhead.layout import VersionFolder, check_member

ALGORITHM = "sha256:"


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
            raise Damaged(path, f"the digest in {folder.metadata.name}", "another", RESTORE)
        return cls.decode(folder, data)

    @classmethod
    def decode(cls, folder: VersionFolder, data: bytes) -> Manifest:
        """Understand the manifest of a version; otherwise as `load`."""
        path = folder.manifest
        content = decoded(path, data)
        try:
            files = tuple(map(_file_entry, content["files"]))
            references = tuple(map(_reference, content.get("references") or ()))
            folders = tuple(map(check_member, typed.texts(content.get("folders"))))
            executables = typed.texts(content.get("executables"))
            return cls(files, references, typed.moment(content.get("created_at", 0)), folders, executables)
        except (KeyError, TypeError, BadName) as error:
            raise Damaged(path, "a list of files", f"an error: {error!r}", RESTORE) from error


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
