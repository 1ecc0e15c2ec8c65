"""Appender: a file that only grows."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Sequence

from playhead.disk import hook
from playhead.disk.hook import StrPath, before, with_path, write_all
from playhead.disk.locking import flock
from playhead.disk.opening import open_to_write
from playhead.disk.syncing import sync


class Appender:
    """A file that only grows.

    When `append` returns, the bytes are in the kernel: a kill of the process loses nothing. After `sync`, a power cut
    does not either.

    Args:
        path: The file; made if it is missing.
        exclusive: Be its one writer: refuse with `BlockingIOError` while another holds the file. Writers that share a
            file cannot take a part of an append back, since bytes of others may lie behind it.
        patience: How often to try again before another counts as holding it; see `locked`.
    """

    # `_end` is where the append under way will end. It differs from `size` only during one, and after one that raised.
    __slots__ = ("_end", "_exclusive", "_fd", "path", "size")

    def __init__(self, path: StrPath, *, exclusive: bool = True, patience: int = 0) -> None:
        self.path = os.fspath(path)
        self._exclusive = exclusive
        before("create", path)
        self._fd = open_to_write(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        if exclusive and not flock(self._fd, wait=False, patience=patience):
            self.close()
            raise BlockingIOError(errno.EWOULDBLOCK, "another writer holds this file", self.path)
        self.size = self._end = os.fstat(self._fd).st_size

    def append(self, data: bytes) -> int:
        """Add bytes at the end; all of them or none.

        Returns:
            The offset of the first one.

        Raises:
            OSError: Nothing was added.
        """
        start = self.size
        if hook.installed is not None or self._end != start:
            return self.append_all([data])
        # The quick way: one call to the kernel, taken by nearly every append.
        self._end = end = start + len(data)
        try:
            written = os.write(self._fd, data)
        except OSError as error:
            raise with_path(error, self.path) from None
        if written != len(data):
            self._write([memoryview(data)[written:]])
        self.size = end
        return start

    def append_all(self, buffers: Sequence[bytes | memoryview]) -> int:
        """Add several buffers as one; otherwise as `append`."""
        self.settle()
        start = self.size
        self._end = end = start + sum(memoryview(buffer).nbytes for buffer in buffers)
        self._write(buffers)
        self.size = end
        return start

    def _write(self, buffers: Sequence[bytes | memoryview]) -> None:
        try:
            write_all(self._fd, self.path, buffers)
        except OSError:
            self._end = -1
            # The first error is the one to report; where the cut fails too, the next append tries it again.
            with contextlib.suppress(OSError):
                self.settle()
            raise

    def settle(self) -> None:
        """Bring `size` and the file together after an append that raised; each append begins with it.

        A part of an append is cut off. Where a signal's exception came just after the last byte, the append stays and
        `size` says so: somebody may have read it.
        """
        if self._end == self.size:
            return
        found = os.fstat(self._fd).st_size
        if self._exclusive and self.size < found != self._end:
            before("truncate", self.path)
            os.ftruncate(self._fd, self.size)
            found = self.size
        self.size = self._end = found

    def is_there(self) -> bool:
        """Tell whether the file still has its name; what is appended to one that was deleted is lost at the end."""
        try:
            return os.path.samestat(os.stat(self.path), os.fstat(self._fd))
        except FileNotFoundError:
            return False

    def sync(self) -> None:
        """Wait until everything appended is on the medium."""
        sync(self._fd, self.path)

    def close(self) -> None:
        """Give the file back; what was appended stays. Closing twice is fine."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        # One that an exception left behind must not keep the lock; it may not even have a descriptor yet.
        with contextlib.suppress(AttributeError):
            self.close()
