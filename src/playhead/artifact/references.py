"""What an artifact holds that lies elsewhere, and whether it still is what it was."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

from playhead.errors import BadRef, Damaged, NotFound, WrongType
from playhead.lanes.files import sources
from playhead.lanes.files.entries import ALGORITHM
from playhead.lanes.files.manifest import Reference
from playhead.lanes.files.pool import digest_of
from playhead.layout import Layout

TREE = "tree-sha256:"  # of every file's path, size and content
OUTLINE = "manifest-sha256:"  # of every file's path and size, and of the content of small ones
_OUTLINED = 1 << 16  # bytes
_DATABASE = ".db"


def check_uri(uri: str) -> str:
    """Check that a text says where something is.

    Raises:
        BadRef: It does not.
    """
    try:
        is_place = isinstance(uri, str) and urlsplit(uri).scheme and not any(char.isspace() for char in uri)
    except ValueError:  # such as a bracket that is not closed
        is_place = False
    if not is_place:
        raise BadRef(f"{uri!r} is no reference; write 's3://bucket/key', 'file:///path' or 'playhead://tables/pong'")
    return uri


def completed(reference: Reference, layout: Layout) -> Reference:
    """Add the checksum and the size of what can be looked at from here.

    Raises:
        NotFound: It, or a part of it, is not there.
        WrongType: It is a pipe, a socket or a device.
        Damaged: It has another checksum than was said.
    """
    paths = _paths(reference.uri, layout)
    if paths is None:
        return reference
    problem = problem_of(reference, layout)
    if problem is not None:
        raise problem
    size = sum(_size_of(path) for path, _ in _files(paths))
    checksum = reference.checksum or _checksum(reference.uri, paths)
    return Reference(reference.uri, checksum, size if reference.size is None else reference.size, reference.metadata)


def problem_of(reference: Reference, layout: Layout) -> Damaged | None:
    """Compare what a reference leads to with its checksum; None where it fits, or cannot be looked at from here."""
    paths = _paths(reference.uri, layout)
    if paths is None:
        return None
    if not paths:
        raise NotFound(f"there is nothing at {reference.uri}, which an artifact refers to")
    if reference.checksum is None:
        return None
    found = _checksum(reference.uri, paths)
    expected = reference.checksum if ":" in reference.checksum else ALGORITHM + reference.checksum
    if found == expected:
        return None
    return Damaged(
        reference.uri,
        f"what it was when the artifact was saved ({expected[:28]}…)",
        f"{found[:28]}…",
        "It has changed since: save a new version of the artifact, or bring back what it was",
    )


def _paths(uri: str, layout: Layout) -> list[Path] | None:
    """Give the files or folders that a reference leads to; None where they are not of this machine."""
    parts = urlsplit(check_uri(uri))
    if parts.scheme == "file" and parts.netloc in ("", "localhost"):
        path = Path(unquote(parts.path))
        return [path] if path.exists() else []
    if parts.scheme == "playhead":
        return layout.named(parts.netloc, unquote(parts.path.removeprefix("/")))
    return None


def _checksum(uri: str, paths: list[Path]) -> str:
    if urlsplit(uri).scheme == "playhead":
        return OUTLINE + _digest(paths, _OUTLINED)
    if paths[0].is_dir():
        return TREE + _digest(paths, None)
    _size_of(paths[0])
    return ALGORITHM + digest_of(paths[0])


def _size_of(path: Path) -> int:
    """Look at one file of what a reference leads to; links are followed.

    Raises:
        NotFound: There is none.
        WrongType: It is something else.
    """
    try:
        found = os.stat(path)
    except FileNotFoundError:
        why = f"it is a link to {os.readlink(path)}, where nothing is" if path.is_symlink() else "it is gone"
        raise NotFound(f"{path} is a part of what an artifact refers to, and {why}") from None
    if not stat.S_ISREG(found.st_mode):
        raise WrongType(f"{path} cannot be a part of what an artifact refers to: it is {sources.kind_of(found)}")
    return found.st_size


def _digest(paths: list[Path], most: int | None) -> str:
    """Hash the paths and sizes of files, and the contents of those that have at most so many bytes.

    An outline leaves out databases, which change when they are tidied up: a manifest beside each says the same.
    """
    digest = hashlib.sha256()
    for path, name in _files(paths):
        if most is not None and _DATABASE in path.suffix:
            continue
        size = _size_of(path)
        content = digest_of(path) if most is None or size <= most else ""
        digest.update(f"{name}\0{size}\0{content}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _files(paths: list[Path]) -> Iterator[tuple[Path, str]]:
    """Walk over files with their names, in order; hidden ones come and go."""
    for path in paths:
        if not path.is_dir():
            yield path, path.name
            continue
        for folder, folders, names in os.walk(path):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(name for name in names if not name.startswith(".")):
                found = Path(folder) / name
                yield found, found.relative_to(path).as_posix()
