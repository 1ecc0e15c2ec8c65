"""What `meta.json` of an episode says of the files that were sealed: their sizes and digests, and whose they must be.

`sealed` in `meta.json` holds `files`, the size and SHA-256 of each, and `records`, how far the tape went of which they
were made. Episodes of earlier versions and of other programs have no such note.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from playhead import disk
from playhead.episode.lanes import EPISODE, SIGNAL
from playhead.errors import Damaged
from playhead.layout import EpisodeFolder
from playhead.owner import Owner
from playhead.tape import Sealed

KEY = "sealed"
SYNCED = "synced"  # false in meta.json if the end of the episode did not wait for the medium
_EMPTY = 3  # bytes of a static.json that says nothing

REMEDY = (
    "Move it back to where it belongs, or restore the right file from a copy. If you put this one here yourself, "
    f"remove its entry from {KEY!r} in meta.json"
)


@dataclass(frozen=True, slots=True)
class Seals:
    """The files of an episode as they were sealed.

    Attributes:
        files: By name; empty if nothing was noted.
        records: The number of the record that would have been next on the tape.
    """

    files: Mapping[str, Sealed]
    records: int = 0

    @classmethod
    def among(cls, meta: Mapping[str, Any]) -> Self:
        """Read the note; what does not read as one is left out."""
        noted = meta.get(KEY)
        if not isinstance(noted, dict) or not isinstance(noted.get("files"), dict):
            return cls({})
        files = {
            name: Sealed(name, said["bytes"], said["sha256"])
            for name, said in noted["files"].items()
            if isinstance(said, dict) and isinstance(said.get("bytes"), int) and isinstance(said.get("sha256"), str)
        }
        records = noted.get("records")
        return cls(files, records if isinstance(records, int) else 0)

    @staticmethod
    def note(files: Iterable[Sealed], records: int) -> dict[str, Any]:
        """Return the note of files."""
        said = {file.name: {"bytes": file.size, "sha256": file.sha256} for file in sorted(files)}
        return {KEY: {"files": said, "records": records}}

    def is_as_noted(self, folder: EpisodeFolder, name: str) -> bool:
        """Read a file, and return whether it is the one that was sealed."""
        return digest_of(f"{folder.root}/{name}", name) == self.files[name]

    def are_as_noted(self, folder: EpisodeFolder) -> bool:
        """Read all files, and return whether each is the one that was sealed; false if nothing was noted."""
        return bool(self.files) and all(
            self.is_as_noted(folder, name) or self.is_nothing(folder, name) for name in self.files
        )

    def check_static(self, folder: EpisodeFolder) -> None:
        """Compare `static.json`, in which there is no room for an owner, with what was noted of it.

        Raises:
            Damaged: It is not the one that was sealed.
        """
        name = os.path.basename(folder.static)
        noted = self.files.get(name)
        if noted is None or (found := digest_of(folder.static, name)) == noted or self.is_nothing(folder, name):
            return
        said = "no file" if found is None else f"{found.size} bytes with SHA-256 {found.sha256[:16]}…"
        raise Damaged(folder.static, f"{noted.size} bytes with SHA-256 {noted.sha256[:16]}…", said, REMEDY)

    def is_static_as_noted(self, folder: EpisodeFolder) -> bool:
        """Return whether `static.json` is the one that was sealed."""
        name = os.path.basename(folder.static)
        return name in self.files and self.is_as_noted(folder, name)

    def is_nothing(self, folder: EpisodeFolder, name: str) -> bool:
        """Return whether a file is gone and missed by nobody: a `static.json` in which nothing was."""
        path = f"{folder.root}/{name}"
        return path == folder.static and self.files[name].size <= _EMPTY and not os.path.lexists(path)

    def owner(self, folder: EpisodeFolder, uid: str | None, signal: str, file: str) -> Owner:
        """Return whose the file of a signal must be.

        Args:
            folder: The episode.
            uid: Its identity; None if that is not known.
            signal: The name under which the signal is opened.
            file: The name of the file that says whose it is.
        """
        known = {} if uid is None else {EPISODE: uid}
        if file in self.files:
            return Owner(known | {SIGNAL: signal}, must_say=True, remedy=REMEDY)
        # A signal that somebody renamed: nothing was sealed under its new name, and its old name is free.
        suffix = file.removeprefix(signal)
        former = [name.removesuffix(suffix) for name in self.files if name.endswith(suffix)]
        free = [one for one in former if one and not os.path.lexists(f"{folder.root}/{one}{suffix}")]
        return Owner(known | {SIGNAL: signal}, also=tuple(known | {SIGNAL: one} for one in free), remedy=REMEDY)


def is_unsynced(meta: Mapping[str, Any]) -> bool:
    """Return whether `meta.json` says that the end of the episode did not wait for the medium."""
    return meta.get(SYNCED) is False


def digest_of(path: str, name: str) -> Sealed | None:
    """Read a file and return what it is; None if it is not there."""
    try:
        with open(disk.open_to_read(path), "rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
            return Sealed(name, file.tell(), found)
    except FileNotFoundError:
        return None
