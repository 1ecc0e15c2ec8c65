"""The files of shared memory that hold rings: their names, making and replacing them, opening those of others.

They are mapped here, and not by `multiprocessing.shared_memory`, which removes the writer's file when a reader ends.
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import stat
from pathlib import Path

from playhead import clock, disk
from playhead.errors import BadName, Damaged, Exists
from playhead.layout import check_label

FOLDER = Path("/dev/shm")  # noqa: S108 - a name in it is made exclusively
PREFIX = "mosaic.fastlane."

_DRAFT = "playhead.live"
_MOST_AGE_NS = 60 * clock.SECOND  # of a draft that somebody still works on


def path_of(run_id: str) -> Path:
    """Give the file of a run's ring.

    Raises:
        BadName: No file can be named so.
    """
    return FOLDER / (PREFIX + check_label(run_id, "run id").replace("/", "_"))


def paths() -> dict[str, Path]:
    """Find the files that are named as rings are, by the rest of their name.

    Names with characters that cannot be seen, or that would drive a terminal, are left out.
    """
    found = {}
    with contextlib.suppress(FileNotFoundError):  # a system without such a folder has none of them
        for name in sorted(os.listdir(FOLDER)):
            with contextlib.suppress(BadName):
                if name.startswith(PREFIX):
                    found[check_label(name.removeprefix(PREFIX), "run id")] = FOLDER / name
    return found


class Segment:
    """A mapped file that this process writes. Nobody finds it before it is put in its place.

    Args:
        size: Its bytes, all zeros, which are there when this returns.

    Raises:
        OSError: There is no room, and the message says how much there is.
    """

    def __init__(self, size: int) -> None:
        self._path = disk.temporary_beside(FOLDER / _DRAFT)
        self._pid = os.getpid()
        try:
            fd = disk.reserve(self._path, size)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.ENOMEM):
                raise
            free = os.statvfs(FOLDER)
            raise OSError(
                error.errno,
                f"no room for {size:,} bytes of shared memory, {free.f_bavail * free.f_frsize:,} are free. Give the "
                "container more (docker run --shm-size=256m), or publish smaller frames",
                str(FOLDER),
            ) from error
        try:
            self.mapped = mmap.mmap(fd, size)
            found = os.fstat(fd)
            self.identity = found.st_dev, found.st_ino
        except BaseException:
            disk.remove(self._path)
            raise
        finally:
            os.close(fd)

    def place(self, target: Path, *, replaced: Segment | None = None) -> None:
        """Put it in its place, complete.

        Args:
            target: Its name.
            replaced: The one of this process that has the name; None where nobody may have it.

        Raises:
            Exists: Somebody has it.
        """
        try:
            if replaced is not None and identity_of(target) == replaced.identity:
                disk.rename(self._path, target)
            else:
                disk.link_new(self._path, target)
                disk.remove(self._path)
        except FileExistsError:
            raise Exists(_taken(target)) from None
        self._path = target

    def remove(self) -> None:
        """Remove the name, where it is still this file's; a forked child leaves it to its parent."""
        if self._pid == os.getpid() and identity_of(self._path) == self.identity:
            disk.remove(self._path)


def _taken(target: Path) -> str:
    """Say what has the name of a ring; a link is not followed, wherever it leads."""
    try:
        found = os.lstat(target)
    except FileNotFoundError:
        found = None  # it went meanwhile
    if found is None or stat.S_ISREG(found.st_mode):
        return (
            f"somebody publishes as {target.name} already. End that program, publish under another run id, or "
            f"remove {target} if nobody does"
        )
    kind = "a link" if stat.S_ISLNK(found.st_mode) else "a folder" if stat.S_ISDIR(found.st_mode) else "no file"
    whose = "you" if found.st_uid == os.geteuid() else f"the user with the id {found.st_uid}"
    return (
        f"{target} is taken: it is {kind}, which {whose} made, and no shared memory of a run. It was left alone. "
        "Remove it, which its owner and root may, or record under another run id"
    )


def identity_of(path: Path) -> tuple[int, int] | None:
    """Tell which file has a name; None where none has."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def open_to_read(path: Path) -> int:
    """Open what somebody else may have put there; give its descriptor.

    Raises:
        FileNotFoundError: Nothing is there.
        Damaged: It is a link, a pipe, or anything but a file.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENXIO):
            raise
        raise Damaged(path, "shared memory", "a link or a socket") from error
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise Damaged(path, "shared memory", "something that is no file")
    return fd


def sweep_drafts() -> None:
    """Remove what processes left that ended while they made a ring."""
    with contextlib.suppress(FileNotFoundError):
        for name in os.listdir(FOLDER):
            path = FOLDER / name
            # It may go meanwhile, or belong to somebody else.
            with contextlib.suppress(FileNotFoundError, PermissionError):
                is_draft = name.startswith(f".{_DRAFT}.") and disk.is_temporary(name)
                if is_draft and clock.now_ns() - os.lstat(path).st_mtime_ns > _MOST_AGE_NS:
                    disk.remove(path)
