"""Files that are changed where they are."""

from __future__ import annotations

import errno
import os

from playhead.disk.hook import StrPath, before
from playhead.disk.opening import open_to_write
from playhead.disk.syncing import sync


def truncate(path: StrPath, size: int) -> None:
    """Cut a file to its first `size` bytes, and wait for the medium."""
    fd = open_to_write(path, os.O_WRONLY)
    try:
        before("truncate", path)
        os.ftruncate(fd, size)
        sync(fd, path)
    finally:
        os.close(fd)


def patch(path: StrPath, offset: int, data: bytes) -> None:
    """Write over bytes of a file where they are: for the few that may be lost, since others tell the same."""
    fd = open_to_write(path, os.O_WRONLY)
    try:
        limit = before("write", path, len(data))
        if os.pwrite(fd, data if limit is None else data[:limit], offset) != len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), os.fspath(path))
        sync(fd, path)
    finally:
        os.close(fd)
