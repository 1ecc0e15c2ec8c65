"""Which files of a folder are saved, and what is refused: links that lead out, devices, sockets, pipes."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from playhead.catalog.known_files import Stamp
from playhead.errors import Damaged, NotFound, WrongType
from playhead.layout import check_member

_KINDS = {
    stat.S_IFIFO: "a pipe, which ends only when its writer does",
    stat.S_IFSOCK: "a socket, which has no content",
    stat.S_IFCHR: "a device, which has no content of its own",
    stat.S_IFBLK: "a device, which has no content of its own",
    stat.S_IFDIR: "a folder",
}


@dataclass(frozen=True, slots=True)
class Source:
    """A file to save.

    Attributes:
        path: Where it is.
        member: Its place in the artifact.
        stamp: What the file system says of it.
    """

    path: str
    member: str
    stamp: Stamp


def stamp_of(found: os.stat_result) -> Stamp:
    """Give what a file system says of a file."""
    return Stamp(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def file(path: str | os.PathLike[str], member: str | None = None) -> Source:
    """Look at a file; a link that a person names is followed.

    Raises:
        NotFound: There is none.
        WrongType: It is something else.
        BadName: It could not be stored under this name.
    """
    path = os.path.abspath(path)
    try:
        found = os.stat(path)
    except FileNotFoundError:
        hint = f", since the link leads to {os.readlink(path)}, which is not there" if os.path.islink(path) else ""
        raise NotFound(f"there is no file {path} to save{hint}") from None
    if not stat.S_ISREG(found.st_mode):
        raise WrongType(f"{path} cannot be saved as a file: it is {_kind(found.st_mode)}")
    return Source(path, check_member(member if member is not None else os.path.basename(path)), stamp_of(found))


def walk(folder: str | os.PathLike[str], prefix: str = "", exclude: Sequence[str] = ()) -> Iterator[Source | str]:
    """Walk over the files of a folder, and over the folders in which nothing is, as texts.

    A link to a file within the folder is taken for the file: it costs no space, since contents are kept once.

    Args:
        folder: The folder.
        prefix: Where its files go in the artifact.
        exclude: Patterns such as `*.tmp`, `__pycache__` or `logs/*`, of names or of paths within the folder.

    Raises:
        WrongType: There is something that cannot be saved; the message says why, and what to do.
    """
    root = os.path.abspath(folder)
    if not os.path.isdir(root):
        raise NotFound(f"there is no folder {root} to save")
    yield from _walk(root, root, prefix, exclude)


def _walk(root: str, folder: str, prefix: str, exclude: Sequence[str]) -> Iterator[Source | str]:
    with os.scandir(folder) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    is_empty = True
    for entry in entries:
        if exclude and _is_excluded(os.path.relpath(entry.path, root), entry.name, exclude):
            continue
        is_empty = False
        member = f"{prefix}/{entry.name}" if prefix else entry.name
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(root, entry.path, member, exclude)
        else:
            yield Source(entry.path, check_member(member), stamp_of(_stat(root, entry)))
    if is_empty and prefix:
        yield check_member(prefix)


def _stat(root: str, entry: os.DirEntry[str]) -> os.stat_result:
    try:
        if entry.is_symlink():
            return _behind_link(root, entry)
        found = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        raise gone(entry.path) from None
    if not stat.S_ISREG(found.st_mode):
        raise WrongType(f"{entry.path} cannot be saved: it is {_kind(found.st_mode)}. Leave it out with exclude=")
    return found


def _behind_link(root: str, entry: os.DirEntry[str]) -> os.stat_result:
    target = os.path.realpath(entry.path)
    if os.path.commonpath([target, os.path.realpath(root)]) != os.path.realpath(root):
        raise WrongType(
            f"{entry.path} is a link that leads out of the folder, to {target}. Save that as a file of its own, "
            "add it as a reference, or leave it out with exclude="
        )
    try:
        found = os.stat(target)
    except FileNotFoundError:
        raise WrongType(f"{entry.path} is a link to {target}, where nothing is. Leave it out with exclude=") from None
    if not stat.S_ISREG(found.st_mode):
        raise WrongType(
            f"{entry.path} is a link to {target}, {_kind(found.st_mode)}; only links to files are followed. "
            "Leave it out with exclude="
        )
    return found


def _is_excluded(path: str, name: str, exclude: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) or fnmatchcase(path, pattern.rstrip("/")) for pattern in exclude)


def _kind(mode: int) -> str:
    return _KINDS.get(stat.S_IFMT(mode), "something that is not a file")


def gone(path: str) -> Damaged:
    """Say that a file went away while it was saved."""
    return Damaged(path, "a file that stays while it is saved", "none any more", "Save it when nothing changes it")
