"""Opening files that may be something else: a store can come from a stranger."""

from __future__ import annotations

import errno
import fcntl
import io
import os
import stat
import weakref
from typing import Any

from playhead.disk.hook import StrPath
from playhead.errors import Damaged

_SMALL = 1 << 16  # bytes; room for more is asked of the system anew each time
_NO_FILE = "a folder, pipe, socket or device"
_STANDARD_ERROR = 2
_LOOK: int = getattr(os, "O_PATH", os.O_RDONLY)  # which on Linux needs no right to read


def open_to_read(path: StrPath) -> int:
    """Open a file to read; a pipe or a device, which could keep us waiting for ever, is refused.

    Raises:
        Damaged: It is no file.
    """
    return _open_file(path, os.O_RDONLY)


def read_file(path: StrPath) -> bytes:
    """Read a small file: half the time that a file object needs.

    Raises:
        Damaged: It is no file.
    """
    fd = open_to_read(path)
    try:
        data = os.read(fd, _SMALL)
        while more := os.read(fd, _SMALL):
            data += more
        return data
    finally:
        os.close(fd)


class OpenFile(io.RawIOBase):
    """A file for a library that reads file objects: such a library takes no path that is not UTF-8, or waits for pipes.

    It is given back when nothing holds it any more; a library that closes it early closes it for good.

    Args:
        path: The file.

    Raises:
        Damaged: It is no file.
    """

    def __init__(self, path: StrPath) -> None:
        super().__init__()
        self._fd = -1
        self._position = 0
        self._fd = open_to_read(path)

    @property
    def size(self) -> int:
        """The bytes of the file, as it is now."""
        return os.fstat(self._fd).st_size

    def read(self, size: int | None = -1, /) -> bytes:
        """Read bytes from the current position on; fewer at the end of the file."""
        if size is None or size < 0:
            size = max(0, self.size - self._position)
        found = os.pread(self._fd, size, self._position)
        while 0 < len(found) < size and (more := os.pread(self._fd, size - len(found), self._position + len(found))):
            found += more  # the kernel gives at most 2 GiB at once
        self._position += len(found)
        return found

    def readinto(self, buffer: Any, /) -> int:
        """Read bytes into a buffer."""
        count = os.preadv(self._fd, [buffer], self._position)
        self._position += count
        return count

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Move the position."""
        if whence == os.SEEK_END:
            offset += self.size
        elif whence == os.SEEK_CUR:
            offset += self._position
        if offset < 0:
            raise ValueError(f"{offset} is before the first byte")
        self._position = offset
        return offset

    def tell(self) -> int:
        """Return the position."""
        return self._position

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def seekable(self) -> bool:
        """Return that the position can move."""
        return True

    def close(self) -> None:
        """Give the file back. Closing twice is fine."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        super().close()


def check_plain(path: StrPath, remedy: str = "Put the file itself in its place") -> None:
    """See that a path is that of a file, or of nothing, before a library opens it that follows links and waits.

    Args:
        path: The file.
        remedy: What to do where it is none.

    Raises:
        Damaged: It is a link, which may lead out of a store of a stranger, or a folder, pipe, socket or device.
    """
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if stat.S_ISLNK(mode):
        raise Damaged(path, "a file", f"a link to {os.readlink(path)}", remedy)
    if not stat.S_ISREG(mode):
        raise Damaged(path, "a file", _NO_FILE, remedy)


class HeldFolder:
    """A folder that is held, so that none that takes its place gets its inode: the next one made often does.

    Args:
        path: The folder.

    Raises:
        FileNotFoundError: There is none.
    """

    def __init__(self, path: StrPath) -> None:
        self._path = path
        self._fd = os.open(path, _LOOK | os.O_DIRECTORY | os.O_CLOEXEC)
        self._let_go = weakref.finalize(self, os.close, self._fd)

    def is_there(self) -> bool:
        """Tell whether it still has its name, and no other has."""
        try:
            return os.path.samestat(os.stat(self._path), os.fstat(self._fd))
        except FileNotFoundError:
            return False

    def close(self) -> None:
        """Let go of it. Closing twice is fine."""
        self._let_go()


def open_to_write(path: StrPath, flags: int) -> int:
    """Open a file to write to it or to cut it; a link is refused, since it may lead out of a store of a stranger.

    Only the last part of the path counts: the store itself may lie behind a link.
    """
    try:
        return _open_file(path, flags | os.O_NOFOLLOW)
    except OSError as error:
        if error.errno == errno.ELOOP and os.path.islink(path):
            found = f"a link to {os.readlink(path)}"
            raise Damaged(path, "a file to write to", found, "Put the file itself in its place") from None
        raise


def open_apart(path: StrPath, flags: int, mode: int = 0o666) -> int:
    """Open a file, but never as standard input, output or error.

    In a program that was started without these, the next file gets their number, and whatever is printed goes into it.
    """
    fd = os.open(path, flags | os.O_CLOEXEC, mode)
    if fd > _STANDARD_ERROR:
        return fd
    try:
        return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _STANDARD_ERROR + 1)
    finally:
        os.close(fd)


def _open_file(path: StrPath, flags: int) -> int:
    try:
        fd = open_apart(path, flags | os.O_NONBLOCK)
    except OSError as error:
        if error.errno in (errno.ENXIO, errno.ENODEV, errno.EISDIR):  # a pipe nobody reads, a socket, a folder
            raise _no_file(path) from None
        raise
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    raise _no_file(path)


def _no_file(path: StrPath) -> Damaged:
    return Damaged(path, "a file", _NO_FILE, "Move it away, and restore the file from a copy")
