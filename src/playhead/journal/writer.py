"""Writing a journal, and going on with one after a crash."""

from __future__ import annotations

import contextlib
import os
import secrets
import weakref
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from playhead import disk
from playhead.errors import Closed, Forked, StoreLocked, WrongShape
from playhead.journal.reader import Damage, JournalReader
from playhead.journal.segment import (
    FRAME_SIZE,
    HEADER_SIZE,
    MARK,
    MOST_BYTES,
    Buffer,
    Header,
    Position,
    identify,
    pack_frame,
    path_of,
    seed_of,
    segments_in,
)

SEGMENT_BYTES = 256 << 20
LOCK_FILE = "writer.lock"

_JOINED = 16 << 10  # below this, one copy costs less than handing several buffers to the kernel
_TRIES = 3  # to hold a journal that others take away
_MOST_UNSYNCED = 16  # segments kept open until they are synced

_writers: weakref.WeakSet[JournalWriter] = weakref.WeakSet()


class JournalWriter:
    """Appends records to a journal, made if it is missing. For one thread at a time.

    When `append` returns, the record is in the kernel: a kill of the process loses nothing. After `sync`, a power cut
    does not either. Where an append raises `OSError`, the journal is as it was and the next append may succeed.

    Opening finds the last whole record and cuts off what a crash left half-written behind it. Damage that has whole
    records behind it is left alone: the writer goes on in a new segment.

    Args:
        folder: The journal.
        segment_bytes: The size at which a new segment begins; a larger record has one to itself.
        named: False if the caller syncs the name of the folder.

    Raises:
        StoreLocked: Another writer holds the journal.

    Attributes:
        folder: The journal.
        segment: The number of the segment that is written to.
        number: The number of the next record.
        cut: What opening cut off, else None.
    """

    _file: disk.Appender
    _end: int  # of the last whole record, 0 before the header
    _seed: int
    _unsynced: list[disk.Appender]
    _is_named: bool  # the names of all segments are on the medium

    def __init__(self, folder: disk.StrPath, *, segment_bytes: int = SEGMENT_BYTES, named: bool = True) -> None:
        self.folder = Path(folder)
        self._makes_durable = named
        self.cut: Damage | None = None
        self._segment_bytes = segment_bytes
        self._is_ready = True  # neither closed nor left by an exception in the middle of an append
        self._under_way = 1  # records that an append adds
        self._ended: Closed | None = None
        with contextlib.ExitStack() as on_error:
            self._lock = self._take_lock()
            on_error.callback(self._lock.close)
            self._recover()
            self._use(self.segment, [])
            on_error.pop_all()
        _writers.add(self)

    def _take_lock(self) -> disk.Appender:
        for _ in range(_TRIES):
            disk.make_folders(self.folder, durable=self._makes_durable)
            try:
                lock = disk.Appender(self.folder / LOCK_FILE)
            except FileNotFoundError:  # whoever wrote it took it away just now
                continue
            except BlockingIOError:
                break
            if lock.is_there():
                return lock
            lock.close()
        raise StoreLocked(f"the journal {self.folder} is being written by another writer; close that one")

    def _recover(self) -> None:
        segments = segments_in(self.folder)
        self._marker = identify(self.folder) or MARK + secrets.token_bytes(4)
        self.segment = self.number = 0
        for start in reversed(segments):  # more than the newest only where that one does not know its first record yet
            with JournalReader(self.folder, start=start) as reader:
                for _ in reader.poll_positions():
                    pass
            if start == segments[-1]:
                self._mend(reader)
            if reader.number is not None:
                self.number = reader.number
                return

    def _mend(self, reader: JournalReader) -> None:
        """Cut off what the newest segment, read to its end, has behind its last whole record."""
        path = path_of(self.folder, reader.segment)
        size = path.stat().st_size
        # More than a header's bytes without a header were not left by a crash of the process: they are kept to be seen.
        is_odd = reader.offset == 0 and size > HEADER_SIZE
        if reader.offset < size and not is_odd:
            disk.truncate(path, reader.offset)
            self.cut = Damage(path, reader.offset, size, "it was written in part")
        self.segment = reader.segment + (is_odd or any(damage.path == path for damage in reader.damage))

    def append(self, *buffers: Buffer) -> Position:
        """Add one record, whose payload is the buffers joined.

        Args:
            *buffers: Contiguous bytes; an array as `memoryview(array)`.

        Raises:
            OSError: It could not be written. The journal is as it was.
            WrongShape: A record of 4 GiB or more.
            Closed: The writer is closed.
        """
        if not self._is_ready:
            self._get_ready()
        length = sum([len(buffer) if type(buffer) is bytes else memoryview(buffer).nbytes for buffer in buffers])
        if length > MOST_BYTES:
            raise WrongShape(f"a record of {length} bytes is too long: a journal holds at most {MOST_BYTES}; split it")
        self._is_ready = False
        if self._end + FRAME_SIZE + length > self._segment_bytes and self._end > HEADER_SIZE:
            self._roll()
        if not self._end:
            self._begin()
        position = Position(self.segment, self._end, self.number, length)
        head = pack_frame(self._marker, self._seed, position, buffers)
        if length < _JOINED:
            self._file.append(b"".join((head, *buffers)))
        else:
            views = [memoryview(buffer) for buffer in buffers]
            self._file.append_all([head, *(view for view in views if view.nbytes)])
        self._end, self.number, self._is_ready = self._file.size, position.number + 1, True
        return position

    def append_all(self, records: Sequence[Sequence[Buffer]]) -> list[Position]:
        """Add several records in one write; otherwise as `append`.

        Where it raises `OSError`, none of them is there, unless a new segment had to be begun among them: then each is
        written by itself. A kill in the middle may leave the first ones.
        """
        if not self._is_ready:
            self._get_ready()
        sizes = [sum(memoryview(buffer).nbytes for buffer in buffers) for buffers in records]
        total = sum(sizes) + FRAME_SIZE * len(sizes)
        if not sizes or max(sizes) > MOST_BYTES or max(self._end, HEADER_SIZE) + total > self._segment_bytes:
            return [self.append(*buffers) for buffers in records]
        self._is_ready = False
        if not self._end:
            self._begin()
        offset, positions = self._end, []
        parts: list[bytes | memoryview] = []
        for place, (length, buffers) in enumerate(zip(sizes, records, strict=True)):
            positions.append(position := Position(self.segment, offset, self.number + place, length))
            parts.append(pack_frame(self._marker, self._seed, position, buffers))
            parts += [view for buffer in buffers if (view := memoryview(buffer)).nbytes]
            offset = position.end
        self._under_way = len(records)
        self._file.append_all(parts)
        count = self.number + len(records)
        self._end, self.number, self._under_way, self._is_ready = self._file.size, count, 1, True
        return positions

    @property
    def size(self) -> int:
        """The bytes of the segment that is written to."""
        return self._end

    def roll(self) -> None:
        """Go on in a new segment, unless the one that is written to has no record yet.

        It has its header at once, so that it knows how to count on when those before it are removed.
        """
        if not self._is_ready:
            self._get_ready()
        self._is_ready = False
        if self._end > HEADER_SIZE:
            self._roll()
        if not self._end:
            self._begin()
        self._is_ready = True

    def sync(self) -> None:
        """Wait until every record appended so far is on the medium.

        Raises:
            OSError: Some may not be. They are in the kernel and survive a kill of the process all the same.
        """
        if self._ended is not None:
            raise self._ended
        while self._unsynced:
            self._sync_oldest()
        self._file.sync()
        if not self._is_named:
            disk.sync_folder(self.folder)
            self._is_named = True

    def remove_before(self, segment: int) -> None:
        """Remove the segments below `segment`, whose records are kept elsewhere by now; the one written to stays."""
        self._get_ready()
        if not self._end:
            self._is_ready = False
            self._begin()
        self.sync()  # the segment that stays is the one that knows how to count on
        for number in segments_in(self.folder):
            if number < min(segment, self.segment):
                disk.remove(path_of(self.folder, number))

    def close(self) -> None:
        """Give the journal back; what was appended stays. Closing twice is fine."""
        self._end_with(Closed(f"the writer of the journal {self.folder} is closed"))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _end_with(self, reason: Closed) -> None:
        self._ended, self._is_ready = self._ended or reason, False
        for file in (*self._unsynced, self._file, self._lock):
            file.close()

    def _get_ready(self) -> None:
        """Find out what came of an append that raised, and go on from there.

        After an `OSError` nothing of it is there. The exception of a signal handler may have come behind a step that
        was done: a whole record or header stays, since a reader may have seen it, and a new segment is used (rule 2).
        """
        if self._ended is not None:
            raise self._ended
        self._file.settle()
        if self._file.size > self._end:
            count = self.number + (self._under_way if self._end else 0)  # at 0 it was the header
            self._end, self.number = self._file.size, count
        self._under_way = 1
        if path_of(self.folder, self.segment + 1).exists():
            self._roll()
        self._is_ready = True

    def _roll(self) -> None:
        while len(self._unsynced) >= _MOST_UNSYNCED:
            self._sync_oldest()
        self._use(self.segment + 1, [*self._unsynced, self._file])

    def _use(self, segment: int, unsynced: list[disk.Appender]) -> None:
        file, seed = disk.Appender(path_of(self.folder, segment)), seed_of(self._marker, segment)
        # One statement without a call: a signal's exception comes before or after it.
        self.segment, self._file, self._end, self._seed, self._unsynced = segment, file, file.size, seed, unsynced
        self._is_named = False

    def _begin(self) -> None:
        self._file.append(Header(self.segment, self.number, self._marker).pack())
        self._end = self._file.size

    def _sync_oldest(self) -> None:
        self._unsynced[0].sync()
        self._unsynced.pop(0).close()


def _disown_in_child() -> None:
    # The child lets go of the files at once: it must not write, nor hold the lock when the parent has gone.
    for writer in _writers:
        writer._end_with(Forked(f"the journal {writer.folder} is written by the parent of this process; open your own"))


os.register_at_fork(after_in_child=_disown_in_child)
