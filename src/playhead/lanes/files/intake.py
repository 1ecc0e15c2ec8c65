"""Taking files into the pool: each is read once, hashed while it is copied, and synced before it has a name there.

A file is written under its name in the folder of a version that nobody sees yet; the pool gets a second name of it.
Thousands of small files are synced by one call for the file system, few ones each by itself.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from playhead import clock, disk
from playhead.catalog.known_files import Stamp
from playhead.errors import Damaged
from playhead.lanes.files import parallel
from playhead.lanes.files.entries import ALGORITHM, FileEntry
from playhead.lanes.files.pool import BLOCK, READ_ONLY, Pool, Watch, blocks_of, is_whole
from playhead.lanes.files.sources import Source, gone, stamp_of

_FEW = 8  # files that are synced each by itself
_TICK_NS, _COARSE_NS = 20_000_000, 2 * clock.SECOND

Entries = dict[str, FileEntry]  # by the place in the artifact


class Intake:
    """Brings files into a pool and into the folder of a version.

    Args:
        pool: The pool; the caller holds it by `saving`.
        files: Where the files of the version go: a folder that is there and that nobody reads yet.
        known: SHA-256 of files that were read before.
        watch: Is told of bytes as they are done.
    """

    def __init__(self, pool: Pool, files: Path, known: Mapping[Stamp, str], watch: Watch | None = None) -> None:
        self._pool = pool
        self._files = files
        self._known = known
        self._watch = watch
        self._shards: set[str] = set()
        self._ours: set[str] = set()
        self.learned: list[tuple[Stamp, str]] = []
        self.unsure: set[str] = set()  # files that may look the same after they are written again
        self.executables: list[str] = []

    def take(self, sources: Sequence[Source], folders: Iterable[str] = ()) -> list[FileEntry]:
        """Bring in files, and make folders in which nothing is.

        Raises:
            Damaged: A file changed while it was read, twice.
        """
        made = self._make_folders(sources, folders)
        entries: Entries = {}
        new = [source for source in sources if not self._link_known(source, entries)]
        is_many = len(new) > _FEW
        entries |= self._copy_all(new, durable=not is_many)
        if is_many:
            disk.sync_file_system(self._files)
        for source in new:
            self._give_to_pool(source, entries[source.member].sha256)
        self._sync_names(made)
        return [entries[source.member] for source in sources]

    def _make_folders(self, sources: Sequence[Source], folders: Iterable[str]) -> list[Path]:
        wanted = {source.member.rpartition("/")[0] for source in sources}
        made = [self._files / folder for folder in sorted({*wanted, *folders} - {""})]
        for folder in made:
            disk.make_folders(folder, durable=False)
        return [self._files, *made]

    # -- files that were read before --------------------------------------------------------------------------------

    def _link_known(self, source: Source, entries: Entries) -> bool:
        digest = self._known.get(source.stamp)
        if digest is None or not self._pool.has(digest, source.stamp.size):
            return False
        try:
            mode = os.stat(source.path).st_mode
        except FileNotFoundError:
            raise gone(source.path) from None
        try:
            disk.link_new(self._pool.folder.blob(digest), self._target(source))
        except OSError as error:
            if not disk.cannot_link(error):
                raise
            return False  # the copy of the file has its own place
        self._note_mode(source, mode)
        entries[source.member] = _entry(source.member, source.stamp, digest)
        return True

    def _note_mode(self, source: Source, mode: int) -> None:
        if mode & stat.S_IXUSR:
            self.executables.append(source.member)

    # -- files that are read now ------------------------------------------------------------------------------------

    def _copy_all(self, sources: Sequence[Source], *, durable: bool) -> Entries:
        copied = parallel.each(sources, lambda source: source.stamp.size, lambda source: self._copy(source, durable))
        return {entry.path: entry for entry in copied}

    def _copy(self, source: Source, durable: bool) -> FileEntry:
        for _ in range(2):
            found = self._copy_once(source, durable)
            if found is not None:
                return found
            disk.remove(self._target(source))
        raise Damaged(
            source.path,
            "a file that stays as it is while it is saved",
            "one that was written to, twice",
            "Save it when nothing writes to it, or save a copy",
        )

    def _copy_once(self, source: Source, durable: bool) -> FileEntry | None:
        """Copy and hash a file; None where it changed meanwhile."""
        try:
            fd = disk.open_to_read(source.path)
        except FileNotFoundError:
            raise gone(source.path) from None
        try:
            now = clock.now_ns()
            before = os.fstat(fd)
            reader = _Reader(fd, before.st_size)
            disk.write_blocks(self._target(source), reader.blocks(), mode=READ_ONLY, durable=durable)
            after = os.fstat(fd)
        finally:
            os.close(fd)
        if not reader.count == before.st_size == after.st_size or before.st_mtime_ns != after.st_mtime_ns:
            return None
        if self._watch is not None:
            self._watch(reader.count)
        self._note_mode(source, after.st_mode)
        stamp, digest = stamp_of(after), reader.digest.hexdigest()
        is_settled = _is_settled(stamp, now)
        if is_settled:
            self.learned.append((stamp, digest))
        if not is_settled or stamp != source.stamp:
            self.unsure.add(source.member)
        return _entry(source.member, stamp, digest)

    # -- the pool ---------------------------------------------------------------------------------------------------

    def _give_to_pool(self, source: Source, digest: str) -> None:
        blob, target = self._pool.folder.blob(digest), self._target(source)
        shard = os.path.dirname(blob)
        if shard not in self._shards:
            disk.make_folders(shard, durable=False)
            self._shards.add(shard)
        try:
            disk.link_new(target, blob)
        except FileExistsError:
            self._share(digest, target, blob)
        except OSError as error:
            if not disk.cannot_link(error):
                raise
            _place(target, blob)
        self._ours.add(digest)

    def _share(self, digest: str, target: str, blob: str) -> None:
        """Let a file be the blob that is there; one that is damaged is replaced by the file."""
        if digest not in self._ours and not is_whole(blob, digest):
            _place(target, blob)
        else:
            _place(blob, target)

    def _sync_names(self, made: Sequence[Path]) -> None:
        folders = sorted(self._shards) + [str(path) for path in made]
        if len(folders) > _FEW:
            disk.sync_file_system(self._files)
            return
        if self._shards:
            disk.sync_folder(self._pool.folder.path)
        for folder in folders:
            disk.sync_folder(folder)

    def _target(self, source: Source) -> str:
        return f"{self._files}/{source.member}"


class _Reader:
    """Reads a file once, hashing what it gives."""

    def __init__(self, fd: int, size: int) -> None:
        self._fd = fd
        self._size = size
        self.count = 0
        self.digest = hashlib.sha256()

    def blocks(self) -> Iterator[bytes | memoryview]:
        """Give the content block by block; each is gone when the next is asked for."""
        if self._size < BLOCK:  # one more than there is: a file that grows is noticed
            block = os.read(self._fd, self._size + 1)
            self.count = len(block)
            self.digest.update(block)
            yield block
            return
        buffer = memoryview(bytearray(BLOCK))
        while count := os.readv(self._fd, [buffer]):
            self.count += count
            self.digest.update(buffer[:count])
            yield buffer[:count]


def _place(source: os.PathLike[str] | str, target: os.PathLike[str] | str) -> None:
    """Give the file at `source` the name `target`, instead of what has it; where there are no links, a copy."""
    temporary = disk.temporary_beside(target)
    try:
        disk.link_new(source, temporary)
    except OSError as error:
        if not disk.cannot_link(error):
            raise
        disk.write_blocks(temporary, blocks_of(source), mode=READ_ONLY, durable=True)
    disk.rename(temporary, target)


def _entry(member: str, stamp: Stamp, digest: str) -> FileEntry:
    return FileEntry(member, stamp.size, ALGORITHM + digest, stamp.mtime_ns / 1e9)


def _is_settled(stamp: Stamp, now: int) -> bool:
    """Tell whether a file was last written so long ago that a later write gives it another time."""
    is_coarse = stamp.ctime_ns % 1_000_000 == 0
    return now - max(stamp.ctime_ns, stamp.mtime_ns) > (_COARSE_NS if is_coarse else _TICK_NS)
