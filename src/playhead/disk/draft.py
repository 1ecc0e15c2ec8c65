"""Draft: a new file for a library that writes to file objects."""

from __future__ import annotations

import hashlib
import io
import os
from pathlib import Path
from typing import Any

from playhead.disk.hook import StrPath, before, write_all
from playhead.disk.naming import discard, rename, temporary_beside
from playhead.disk.opening import open_apart
from playhead.disk.syncing import sync, sync_folder

_MOST_HELD = 1 << 20  # bytes that wait for more, so that small writes are few calls of the kernel


class Draft(io.RawIOBase):
    """A new file for a library that writes to file objects: hidden until `commit` puts it in its place whole.

    Args:
        target: Where it will be; its folder exists.
    """

    def __init__(self, target: StrPath) -> None:
        super().__init__()
        self.target = Path(target)
        self._path = temporary_beside(target)
        self._fd = -1
        self._pid = os.getpid()
        before("create", self._path)
        self._fd = open_apart(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        self._position = self._held_at = 0
        self._held = bytearray()  # bytes that follow one another, from `_held_at` on, and are not written yet

    def write(self, data: Any, /) -> int:
        """Write all of the bytes at the current position."""
        view = memoryview(data).cast("B")
        if self._position != self._held_at + len(self._held) or len(self._held) + len(view) > _MOST_HELD:
            self._write_held()
            self._held_at = self._position
        if len(view) > _MOST_HELD:
            self._put(view)
            self._held_at = self._position + len(view)
        else:
            self._held += view
        self._position += len(view)
        return len(view)

    def _write_held(self) -> None:
        if self._held:
            self._put(memoryview(bytes(self._held)))  # a copy: an error may hold on to what was written
            self._held = bytearray()

    def _put(self, data: memoryview) -> None:
        os.lseek(self._fd, self._held_at, os.SEEK_SET)
        write_all(self._fd, self._path, [data])

    def readinto(self, buffer: Any, /) -> int:
        """Read back what was written."""
        self._write_held()
        size = os.preadv(self._fd, [buffer], self._position)
        self._position += size
        return size

    def truncate(self, size: int | None = None, /) -> int:
        """Cut or extend the file."""
        size = self._position if size is None else size
        self._write_held()
        before("truncate", self._path)
        os.ftruncate(self._fd, size)
        return size

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Move the position."""
        if whence == os.SEEK_END:
            self._write_held()
            offset = os.lseek(self._fd, offset, whence)
        elif whence == os.SEEK_CUR:
            offset += self._position
        self._position = offset
        return offset

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def writable(self) -> bool:
        """Tell that it can be written."""
        return True

    def seekable(self) -> bool:
        """Tell that the position can move."""
        return True

    def digest(self) -> tuple[int, str]:
        """Return the size of what was written so far, and its SHA-256."""
        self._write_held()
        found = hashlib.sha256()
        size = 0
        while block := os.pread(self._fd, _MOST_HELD, size):
            found.update(block)
            size += len(block)
        return size, found.hexdigest()

    def commit(self, *, durable: bool = True, named: bool = True) -> None:
        """Put the file in its place, instead of one that is there.

        Args:
            durable: Also wait for the medium, file and folder.
            named: False where the caller syncs the folder itself, after more files.
        """
        try:
            self._write_held()
            if durable:
                sync(self._fd, self._path)
            self._let_go()
            rename(self._path, self.target)
        except OSError:
            self.discard()
            raise
        self._pid = 0
        if durable and named:
            sync_folder(self.target.parent)

    def discard(self) -> None:
        """Remove what was written. Discarding twice is fine."""
        self._let_go()
        discard(self._path)
        self._pid = 0

    def __del__(self) -> None:
        # A signal's exception may come before whoever made the draft could see to it.
        if getattr(self, "_pid", 0) == os.getpid():
            self.discard()

    def close(self) -> None:
        """Do nothing: libraries close what they were given, and `commit` comes after."""

    def _let_go(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
