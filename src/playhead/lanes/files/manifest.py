"""`manifest.json`: what a version holds. Its keys and their order are those that other programs know."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from playhead import typed
from playhead.errors import BadName, Damaged
from playhead.lanes.files import entries
from playhead.lanes.files.documents import RESTORE, content_of, decoded
from playhead.lanes.files.entries import FileEntry
from playhead.layout import VersionFolder, check_member


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
        return compose(
            entries.spelled(self.files),
            sum(entry.size for entry in self.files),
            self.references,
            self.created_at,
            self.folders,
            self.executables,
        )

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
            files = tuple(map(entries.checked, content["files"]))
            references = tuple(map(_reference, content.get("references") or ()))
            folders = tuple(map(check_member, typed.texts(content.get("folders"))))
            executables = typed.texts(content.get("executables"))
            return cls(files, references, typed.moment(content.get("created_at", 0)), folders, executables)
        except (KeyError, TypeError, BadName) as error:
            raise Damaged(path, "a list of files", f"an error: {error!r}", RESTORE) from error


def compose(
    files: Sequence[bytes],
    size: int,
    references: Sequence[Reference],
    created_at: float,
    folders: Sequence[str],
    executables: Sequence[str],
) -> bytes:
    """Give the content of `manifest.json`.

    Args:
        files: The lines of its files, in order of their paths.
        size: Bytes of these.
        references: What lies elsewhere.
        created_at: When it is made.
        folders: Folders in which nothing is.
        executables: The paths of files that can be run.
    """
    rest = {
        "references": [asdict(entry) for entry in references],
        "total_size": size + sum(entry.size or 0 for entry in references),
        "total_files": len(files),
        "total_references": len(references),
        "created_at": created_at,
    }
    more = {"folders": folders, "executables": executables}  # others know neither
    return entries.joined(files, rest | {key: paths for key, paths in more.items() if paths})


def _reference(found: Any) -> Reference:
    if not isinstance(found, dict):
        raise typed.Misfit("an object for each reference", found)
    checksum, size = typed.maybe(typed.text)(found.get("checksum")), typed.maybe(typed.whole)(found.get("size"))
    return Reference(typed.text(found["uri"]), checksum, size, typed.mapping(found.get("metadata")))
