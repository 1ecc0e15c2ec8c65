"""The files of artifacts, and the pool that their content lies in."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from playhead.errors import BadName, Damaged
from playhead.layout.names import UNSAFE, WINDOWS_NAMES, check_encodable, check_label

_DIGEST, _SHARD_OF_POOL = re.compile(r"[0-9a-f]{64}"), re.compile(r"[0-9a-f]{2}")
_VERSION = re.compile(r"v[1-9]\d{0,9}")
_LINK = re.compile(r"(?:\.\./)+(v[1-9]\d{0,9})/files(?:/.+)?", re.DOTALL)
_VERSIONS, _FILES = "versions.json", "files"
_MEMBER = re.compile(r"(?!\.{1,2}(/|$))[^/\0]+(?:/(?!\.{1,2}(/|$))[^/\0]+)*")
_DEEPEST = 250  # folders in each other that every walk through a version gets to the end of
_WINDOWS_PATH = 259  # characters of a whole path, without the byte that ends it
_UNSAFE_THERE = re.compile(r'[\\:*?"<>|\x00-\x1f]|[. ]$')


def check_artifact_name(name: str) -> str:
    """Check the name of an artifact, which is that of its folder; otherwise as `check_label`.

    Raises:
        BadName: No folder could be named so everywhere.
    """
    name = check_label(name, "artifact name")
    if UNSAFE.search(name) or WINDOWS_NAMES.fullmatch(name):
        raise BadName(
            f'{name!r} cannot be the name of an artifact, since it names its folder: leave out / \\ : * ? " < > | % '
            "and a dot at either end"
        )
    return check_encodable(name)


def check_alias(alias: str) -> str:
    """Check a word that names a version of an artifact.

    Raises:
        BadName: It could be taken for something else.
    """
    alias = check_label(alias, "alias")
    if UNSAFE.search(alias) or re.fullmatch(r"v?[0-9]+", alias):
        raise BadName(f"{alias!r} cannot be an alias: use a word such as 'best', not 'v3', without / \\ : or %")
    return alias


def check_member(path: str) -> str:
    """Check the path of a file within an artifact, or in what somebody says is one.

    Raises:
        BadName: It leads out, or no file system could have it.
    """
    if not _MEMBER.fullmatch(path):
        raise BadName(f"{path!r} cannot be a file of an artifact: it is a relative path such as 'a/b.txt'")
    if path.isascii() and len(path) < 256:  # nearly all
        return path
    if path.count("/") > _DEEPEST:
        raise BadName(f"{path[:60]}… lies in {path.count('/')} folders; an artifact takes at most {_DEEPEST}")
    try:
        size = max(len(part.encode()) for part in path.split("/"))
    except UnicodeEncodeError:
        raise BadName(f"the file name {path!r} is not UTF-8; rename the file") from None
    if size > 255:
        raise BadName(f"a name in {path[:60]!r}… has {size} bytes; file systems take at most 255")
    return path


def check_names(folder: str, names: Sequence[str]) -> None:
    """Check names that a file system has given, in a folder of an artifact; as `check_member`, all at once.

    Raises:
        BadName: One of them cannot be kept.
    """
    if folder:
        check_member(folder)
    if not "".join(names).isascii():
        for name in names:
            check_member(f"{folder}/{name}" if folder else name)


def windows_problems(paths: Iterable[str]) -> Iterator[str]:
    """Say what Windows, and disks made for it, would refuse of some relative paths."""
    seen: dict[str, str] = {}
    for path in paths:
        parts = path.split("/")
        if len(path) > _WINDOWS_PATH:
            yield f"{path[:60]}… has {len(path)} characters; Windows takes {_WINDOWS_PATH} in all"
        bad = next((part for part in parts if _UNSAFE_THERE.search(part) or WINDOWS_NAMES.fullmatch(part)), None)
        if bad is not None:
            yield f"{path}: {bad!r} cannot be a name on Windows"
        for end in range(1, len(parts) + 1):
            part = "/".join(parts[:end])
            other = seen.setdefault(part.casefold(), part)
            if other != part:
                yield f"{path} and {other} differ only in case, and are one file on Windows"
                break


@dataclass(frozen=True, slots=True)
class PoolFolder:
    """The contents of all artifacts, each once, named by its SHA-256."""

    path: Path

    @property
    def lock(self) -> Path:
        """Held together by those who save, and alone by who removes."""
        return self.path / ".lock"

    def blob(self, digest: str) -> str:
        """Name the file of a content, as text: there are many, and paths are slow to make.

        Raises:
            Damaged: The digest is none; it was read from a file.
        """
        if not _DIGEST.fullmatch(digest):
            raise Damaged(self.path, "a SHA-256 as 64 hexadecimal digits", repr(digest), "Restore it from a copy")
        return f"{self.path}/{digest[:2]}/{digest}"

    def shards(self) -> list[Path]:
        """List the folders that hold blobs."""
        return [self.path / name for name in _folders_in(self.path) if _SHARD_OF_POOL.fullmatch(name)]

    def is_blob(self, name: str) -> bool:
        """Tell whether a file of the pool is named as a blob is."""
        return _DIGEST.fullmatch(name) is not None


@dataclass(frozen=True, slots=True)
class VersionFolder:
    """The files of one version of an artifact."""

    path: Path

    @property
    def metadata(self) -> Path:
        """What it is, who made it, and the digest of its manifest."""
        return self.path / "metadata.json"

    @property
    def manifest(self) -> Path:
        """Every file with its digest, and every reference."""
        return self.path / "manifest.json"

    @property
    def files(self) -> Path:
        """The files: links to the pool; or a link to the same folder of another version."""
        return self.path / _FILES

    def folder(self, place: str) -> Path:
        """Name a folder of its files; the empty text is all of them."""
        return self.files / place if place else self.files

    def link_to(self, place: str) -> str:
        """Spell the link by which another version of the same artifact has, at the same place, what is here."""
        parts = [_FILES, *place.split("/")] if place else [_FILES]
        return "/".join([*[".."] * len(parts), self.path.name, *parts])

    def linked(self, place: str, link: str) -> VersionFolder | None:
        """Give the version to which a link at a place of this one leads; None for one that leads anywhere else."""
        found = _LINK.fullmatch(link)
        other = None if found is None else VersionFolder(self.path.with_name(found[1]))
        return other if other is not None and other.path != self.path and other.link_to(place) == link else None

    @property
    def deleted(self) -> Path:
        """Present while the version is deleted and can be restored."""
        return self.path / ".deleted"


@dataclass(frozen=True, slots=True)
class ArtifactFolder:
    """The versions of one artifact."""

    path: Path

    @property
    def type(self) -> str:
        """The kind of artifact."""
        return self.path.parent.name

    @property
    def name(self) -> str:
        """Its name."""
        return self.path.name

    @property
    def lock(self) -> Path:
        """Held by who changes what versions there are; other programs hold the same."""
        return self.path / ".lock"

    @property
    def versions(self) -> Path:
        """Which versions there are, and which words name them."""
        return self.path / _VERSIONS

    def is_beside(self, type: str, name: str) -> bool:
        """Return whether the store has an artifact of this type and name; of names that none can have, it may."""
        if "/" in type or "/" in name or "\0" in type + name:
            return True
        return ArtifactFolder(self.path.parent.parent / type / name).versions.exists()

    def version(self, number: int) -> VersionFolder:
        """Name the folder of a version."""
        return VersionFolder(self.path / f"v{number}")

    def number_of(self, folder: Path) -> int:
        """Give the number of the version that has a folder."""
        return int(folder.name[1:])

    def numbers(self, *, taken: bool = False) -> list[int]:
        """List the numbers of the folders that are there, also of versions that do not count.

        Args:
            taken: Also those of files and links, which are no versions and could not be replaced by one.
        """
        names = os.listdir(self.path) if taken else _folders_in(self.path)
        return sorted(int(name[1:]) for name in names if _VERSION.fullmatch(name))


@dataclass(frozen=True, slots=True)
class ArtifactsFolder:
    """The artifacts of a store, by type and name, and the pool of their contents."""

    path: Path

    @property
    def pool(self) -> PoolFolder:
        """Where the bytes are."""
        return PoolFolder(self.path / ".dedup")

    def artifact(self, type: str, name: str) -> ArtifactFolder:
        """Name the folder of an artifact.

        Raises:
            BadName: There can be none of this type or name.
        """
        return ArtifactFolder(self.path / check_artifact_name(type) / check_artifact_name(name))

    def at(self, type: str, name: str) -> ArtifactFolder:
        """Give a folder that was found there, whatever it is called."""
        return ArtifactFolder(self.path / type / name)

    def place_of(self, path: Path) -> tuple[VersionFolder, str]:
        """Tell of which version a folder of files is, and which of them; the other way of `VersionFolder.folder`."""
        type, name, version, _files, *place = path.relative_to(self.path).parts
        return VersionFolder(self.at(type, name).path / version), "/".join(place)

    def types(self) -> list[str]:
        """List the types that have a folder."""
        return _folders_in(self.path)

    def walk(self) -> Iterator[ArtifactFolder]:
        """Walk over the folders of all artifacts."""
        for type, name, _ in self.lists():
            yield self.at(type, name)

    def lists(self) -> Iterator[tuple[str, str, str]]:
        """Walk over type and name of all artifacts, each with its list of versions as text: there are many."""
        for type in self.types():
            for name in _folders_in(self.path / type):
                yield type, name, f"{self.path}/{type}/{name}/{_VERSIONS}"


def _folders_in(path: Path) -> list[str]:
    """List the folders in a folder by the names that they have there; hidden ones and links are none."""
    try:
        with os.scandir(path) as found:
            return sorted(entry.name for entry in found if entry.name[0] != "." and entry.is_dir(follow_symlinks=False))
    except (FileNotFoundError, NotADirectoryError):
        return []
