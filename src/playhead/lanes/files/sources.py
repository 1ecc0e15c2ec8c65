"""Which files of a folder are saved, and what is refused: links that lead out, devices, sockets, pipes."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from playhead.catalog.known_files import Stamp
from playhead.errors import Damaged, NotFound, WrongType
from playhead.layout import check_member, check_names

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

    def listed(self) -> tuple[str, Listing]:
        """Give the folder of the artifact that it goes to, and itself as a list of one."""
        folder, _, name = self.member.rpartition("/")
        return folder, Listing([name], [self.path], [*self.stamp])


@dataclass(slots=True)
class Listing:
    """The files that go to one folder of an artifact, in order of their names.

    Attributes:
        names: What they are called there.
        paths: Where they are.
        numbers: What the file system says of them: of each the five numbers of a `Stamp`, one after the other. There
            are many, and objects take longer to make than the kernel takes to tell.
    """

    names: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)

    def rows(self) -> Iterator[tuple[str, str, Stamp]]:
        """Walk over name, path and stamp of each."""
        each = iter(self.numbers)
        return zip(self.names, self.paths, map(Stamp, each, each, each, each, each), strict=True)


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
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise NotFound(f"there is no file {path} to save, since the link leads to itself") from None
    if not stat.S_ISREG(found.st_mode):
        raise WrongType(f"{path} cannot be saved as a file: it is {kind_of(found)}")
    return Source(path, check_member(member if member is not None else os.path.basename(path)), stamp_of(found))


def walk(
    folder: str | os.PathLike[str], prefix: str = "", exclude: Sequence[str] = ()
) -> Iterator[tuple[str, Listing]]:
    """Walk over a folder and those in it, each with the place to which its files go; one may have none.

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


def _walk(root: str, folder: str, place: str, exclude: Sequence[str]) -> Iterator[tuple[str, Listing]]:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)  # its files are looked at by their names alone
    try:
        listing, inner = _list(root, folder, fd, exclude)
    finally:
        os.close(fd)
    check_names(place, listing.names)
    yield place, listing
    for name in inner:
        yield from _walk(root, f"{folder}/{name}", f"{place}/{name}" if place else name, exclude)


def _list(root: str, folder: str, fd: int, exclude: Sequence[str]) -> tuple[Listing, list[str]]:
    """List the files and folders in a folder."""
    listed = sorted(os.listdir(fd))
    if exclude:
        base = os.path.relpath(folder, root)
        listed = [name for name in listed if not _is_excluded(os.path.normpath(f"{base}/{name}"), name, exclude)]
    names: list[str] = []
    numbers: list[int] = []
    inner: list[str] = []
    for name in listed:  # there are many: no call that can be spared
        try:
            found = os.stat(name, dir_fd=fd, follow_symlinks=False)
            if not stat.S_ISREG(found.st_mode):
                if stat.S_ISDIR(found.st_mode):
                    inner.append(name)
                    continue
                found = _behind_link(root, f"{folder}/{name}", found)
        except FileNotFoundError:
            raise gone(f"{folder}/{name}") from None
        names.append(name)
        numbers += (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    return Listing(names, [f"{folder}/{name}" for name in names], numbers), inner


def _behind_link(root: str, path: str, found: os.stat_result) -> os.stat_result:
    """Look at the file to which a link leads, within the folder that is saved; nothing else is followed."""
    if not stat.S_ISLNK(found.st_mode):
        raise WrongType(f"{path} cannot be saved: it is {kind_of(found)}. Leave it out with exclude=")
    target = os.path.realpath(path)
    if os.path.commonpath([target, os.path.realpath(root)]) != os.path.realpath(root):
        raise WrongType(
            f"{path} is a link that leads out of the folder, to {target}. Save that as a file of its own, "
            "add it as a reference, or leave it out with exclude="
        )
    try:
        found = os.stat(target)
    except FileNotFoundError:
        raise WrongType(f"{path} is a link to {target}, where nothing is. Leave it out with exclude=") from None
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise WrongType(f"{path} is a link that leads to itself. Leave it out with exclude=") from None
    if not stat.S_ISREG(found.st_mode):
        raise WrongType(
            f"{path} is a link to {target}, {kind_of(found)}; only links to files are followed. "
            "Leave it out with exclude="
        )
    return found


def _is_excluded(path: str, name: str, exclude: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) or fnmatchcase(path, pattern.rstrip("/")) for pattern in exclude)


def kind_of(found: os.stat_result) -> str:
    """Say what it is that is not a file."""
    return _KINDS.get(stat.S_IFMT(found.st_mode), "something that is not a file")


def gone(path: str) -> Damaged:
    """Say that a file went away while it was saved."""
    return Damaged(path, "a file that stays while it is saved", "none any more", "Save it when nothing changes it")
