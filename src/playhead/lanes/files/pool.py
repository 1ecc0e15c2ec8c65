"""The pool: every content once, in a file that is named by its SHA-256.

A blob appears whole: its bytes are on the medium before it has its name, and nothing writes to it after. Those who save
hold the pool's lock together, from before they look for a blob until a version names it; who removes blobs holds it
alone. So nothing is removed between being found and being named.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from playhead import clock, disk
from playhead.errors import Damaged
from playhead.layout import PoolFolder

BLOCK = 1 << 20  # bytes read at once
READ_ONLY = 0o444
_POLL_SECONDS = 0.02

Watch = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Blob:
    """One content of the pool.

    Attributes:
        digest: Its SHA-256, in hexadecimal.
        path: Its file.
        size: Bytes.
        links: How many names the file has; one more than versions hold it, where the file system has links.
    """

    digest: str
    path: Path
    size: int
    links: int


class Pool:
    """The blobs of a store.

    Args:
        folder: Where they lie; made by the first save.
    """

    def __init__(self, folder: PoolFolder) -> None:
        self.folder = folder

    @contextlib.contextmanager
    def saving(self) -> Iterator[None]:
        """Keep every blob from being removed, beside others who do the same."""
        disk.make_folders(self.folder.path)
        with disk.locked(self.folder.lock, make=True, shared=True):
            yield

    @contextlib.contextmanager
    def removing(self, patience: float = 10.0) -> Iterator[bool]:
        """Be alone with the pool; yields False where somebody saves for longer than one is willing to wait.

        Args:
            patience: How many seconds to wait at most.
        """
        if not self.folder.path.is_dir():
            yield True
            return
        with contextlib.ExitStack() as held:
            until = clock.elapsed_ns() + int(patience * clock.SECOND)
            while not held.enter_context(disk.locked(self.folder.lock, make=True, wait=False)):
                held.close()
                if clock.elapsed_ns() >= until:
                    yield False
                    return
                clock.sleep(_POLL_SECONDS)
            yield True

    def path(self, digest: str) -> Path:
        """Name the file of a content, which need not be there.

        Raises:
            Damaged: The digest is none.
        """
        return Path(self.folder.blob(digest))

    def has(self, digest: str, size: int) -> bool:
        """Tell whether a content of this size is there; its bytes are not looked at."""
        return size_of(self.folder.blob(digest)) == size

    def blobs(self) -> Iterator[Blob]:
        """Walk over all contents, in order."""
        for shard in self.folder.shards():
            yield from self.blobs_of(shard)

    def blobs_of(self, shard: Path) -> Iterator[Blob]:
        """Walk over the contents in one of `folder.shards()`."""
        with os.scandir(shard) as entries:
            blobs = sorted(
                (entry for entry in entries if self.folder.is_blob(entry.name)), key=lambda entry: entry.name
            )
        for entry in blobs:
            with contextlib.suppress(FileNotFoundError):  # removed since
                found = entry.stat(follow_symlinks=False)
                yield Blob(entry.name, Path(entry.path), found.st_size, found.st_nlink)

    def leftovers(self) -> Iterator[Path]:
        """Walk over what crashes, and writers that are at it, have beside the blobs."""
        for shard in self.folder.shards():
            yield from (shard / name for name in sorted(os.listdir(shard)) if disk.is_temporary(name))

    def check(self, digest: str, watch: Watch | None = None) -> None:
        """Read a content and compare it with its name.

        Raises:
            Damaged: It is not there, or is another.
        """
        path = self.path(digest)
        try:
            found = digest_of(path, watch)
        except FileNotFoundError:
            raise Damaged(path, "a content that a version of an artifact holds", "no file") from None
        if found != digest:
            raise Damaged(path, f"the SHA-256 that is its name ({digest[:12]}…)", f"{found[:12]}…")

    def remove(self, digest: str) -> None:
        """Remove a content that no version names; to be called within `removing`. One that is gone is fine."""
        disk.remove(self.path(digest))


def size_of(path: str | os.PathLike[str]) -> int | None:
    """Give the bytes of a file; None where there is none, or a link, a pipe or a folder, none of which we made."""
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None


def is_whole(path: str | os.PathLike[str], digest: str, watch: Watch | None = None) -> bool:
    """Read a file, and tell whether it has a content; anything that is not a file, and a link, has none."""
    return size_of(path) is not None and digest_of(path, watch) == digest


def digest_of(path: str | os.PathLike[str], watch: Watch | None = None) -> str:
    """Read a file and give its SHA-256, in hexadecimal.

    Raises:
        Damaged: It is no file, but a pipe or a device.
    """
    digest = hashlib.sha256()
    for block in blocks_of(path, watch):
        digest.update(block)
    return digest.hexdigest()


def blocks_of(path: str | os.PathLike[str], watch: Watch | None = None) -> Iterator[memoryview]:
    """Read a file block by block; each is gone when the next is asked for. Otherwise as `digest_of`."""
    fd = disk.open_to_read(path)
    try:
        buffer = memoryview(bytearray(min(BLOCK, os.fstat(fd).st_size + 1)))
        while count := os.readv(fd, [buffer]):
            yield buffer[:count]
            if watch is not None:
                watch(count)
    finally:
        os.close(fd)
