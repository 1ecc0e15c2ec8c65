"""Every change of the disk passes here, where tests install a hook that fails, shortens or kills at the n-th one."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator, Sequence
from typing import Protocol

_MOST_BUFFERS = 1024  # what the kernel takes in one call

StrPath = str | os.PathLike[str]


class Hook(Protocol):
    """Called before each change of the disk: raise an `OSError` to fail it, or end the process."""

    def __call__(self, operation: str, path: str, size: int) -> int | None:
        """See one operation coming.

        Args:
            operation: `create`, `write`, `fsync`, `rename`, `link`, `truncate`, `unlink`, `mkdir` or `touch`.
            path: The file or folder.
            size: The bytes of a write, else 0.

        Returns:
            How many bytes a write may write before it comes up short; None for all.
        """


installed: Hook | None = None


@contextlib.contextmanager
def hooked(hook: Hook) -> Iterator[None]:
    """Let a hook see every change of the disk made by this process."""
    global installed
    earlier, installed = installed, hook
    try:
        yield
    finally:
        installed = earlier


def before(operation: str, path: StrPath, size: int = 0) -> int | None:
    """Tell the hook of a change; how many bytes of a write may be written, None for all."""
    return None if installed is None else installed(operation, os.fspath(path), size)


def with_path(error: OSError, path: StrPath) -> OSError:
    """Return an error of a descriptor with the file that it is about, which the kernel does not name."""
    return OSError(error.errno, error.strerror, os.fspath(path))


def write_all(fd: int, path: StrPath, buffers: Sequence[bytes | memoryview]) -> None:
    """Write all of some buffers."""
    pending = [memoryview(buffer).cast("B") for buffer in buffers]
    while pending:
        limit = before("write", path, sum(map(len, pending)))
        if limit is not None:
            os.write(fd, b"".join(pending)[:limit])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), os.fspath(path))
        try:
            written = os.writev(fd, pending[:_MOST_BUFFERS])
        except OSError as error:
            raise with_path(error, path) from None
        while pending and written >= len(pending[0]):
            written -= len(pending.pop(0))
        if written:
            pending[0] = pending[0][written:]
