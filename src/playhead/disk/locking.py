"""Locks that the kernel gives back when the process ends."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator

try:
    import fcntl
except ModuleNotFoundError as error:
    raise ImportError(
        "Playhead needs a system that locks files and renames over open ones, which Windows does not; "
        "use it in the Windows Subsystem for Linux"
    ) from error

from playhead import clock
from playhead.disk.hook import StrPath
from playhead.disk.opening import open_to_write

PATIENCE = 30
_BETWEEN_SECONDS = 0.01


@contextlib.contextmanager
def locked(
    path: StrPath, *, wait: bool = True, make: bool = False, shared: bool = False, patience: int = 0
) -> Iterator[bool]:
    """Hold a lock on a file, given back by the kernel when the process ends.

    A child that another thread forks meanwhile has the file open, too, and a lock goes with the last who closes it. So
    it is given back by name.

    Args:
        path: A file or folder that exists.
        wait: Wait for the lock; else yield False at once where somebody holds it.
        make: Make the file where it is missing; its folder exists.
        shared: Hold it together with others who share it, instead of alone.
        patience: How often to try again before somebody counts as holding it: who only looks, holds it for a moment.
    """
    if make:
        fd = open_to_write(path, os.O_RDONLY | os.O_CREAT)
    else:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    process = os.getpid()
    try:
        try:
            mine = flock(fd, wait=wait, shared=shared, patience=patience)
        except OSError as error:
            if error.errno != errno.EBADF:
                raise
            # NFS gives a lock for one alone only to those who may write the file.
            writable = open_to_write(path, os.O_RDWR)
            os.close(fd)
            fd = writable
            mine = flock(fd, wait=wait, shared=shared, patience=patience)
        yield mine
    finally:
        try:
            if os.getpid() == process:
                _unlock(fd)
        finally:
            os.close(fd)


def _unlock(fd: int) -> None:
    with contextlib.suppress(OSError):  # closing it is then all that can be done
        fcntl.flock(fd, fcntl.LOCK_UN)


def is_held(path: StrPath) -> bool | None:
    """Tell whether somebody holds a file or folder alone.

    Returns:
        None if that cannot be tried: the file system has no locks, or the file is not to be read.
    """
    try:
        with locked(path, wait=False, shared=True) as free:
            return not free
    except FileNotFoundError:
        return False
    except OSError:
        return None


def flock(fd: int, *, wait: bool, shared: bool = False, patience: int = 0) -> bool:
    """Take a lock on an open file; tell whether it is ours."""
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    while True:
        try:
            fcntl.flock(fd, kind if wait else kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if not patience:
                return False
            patience -= 1
            clock.sleep(_BETWEEN_SECONDS)
        else:
            return True
