"""Locks that the kernel gives back when the process ends."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

try:
    import fcntl
except ModuleNotFoundError as error:
    raise ImportError(
        "Playhead needs a system that locks files and renames over open ones, which Windows does not; "
        "use it in the Windows Subsystem for Linux"
    ) from error

from playhead.disk.hook import StrPath
from playhead.disk.opening import open_to_write


@contextlib.contextmanager
def locked(path: StrPath, *, wait: bool = True, make: bool = False, shared: bool = False) -> Iterator[bool]:
    """Hold a lock on a file, given back by the kernel when the process ends.

    Args:
        path: A file or folder that exists.
        wait: Wait for the lock; else yield False at once where somebody holds it.
        make: Make the file where it is missing; its folder exists.
        shared: Hold it together with others who share it, instead of alone.
    """
    if make:
        fd = open_to_write(path, os.O_RDONLY | os.O_CREAT)
    else:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        yield flock(fd, wait=wait, shared=shared)
    finally:
        os.close(fd)


def flock(fd: int, *, wait: bool, shared: bool = False) -> bool:
    """Take a lock on an open file; tell whether it is ours."""
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        fcntl.flock(fd, kind if wait else kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
