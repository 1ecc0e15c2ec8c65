"""A log of records in segments, checked by CRC: what a lane writes while it records.

A journal is a folder of files `000000.seg`, `000001.seg`, …, each a header and then frames back to back. Numbers are
little-endian, every CRC is CRC-32.

    header, 32 bytes
     0  8 bytes  magic          Why: tells a segment from any other file.
     8  u32      version        Why: a later form is refused by name. Magic, version, size and CRC stay where they are.
    12  u32      segment        Why: a file under the name of another is noticed.
    16  u64      first record   Why: an empty segment knows how to count on; a loss at the end of the one before shows.
    24  4 bytes  salt           Why: random, one for each journal; bytes of another journal never pass.
    28  u32      CRC            of the 28 bytes before.

    frame, 24 bytes and the payload
     0  4 bytes  mark           Why: where a frame is broken, the next one is found by searching for mark and salt.
     4  4 bytes  salt           Why: the same as in the header, so that frames can be read when the header cannot.
     8  u32      CRC            of length, number and payload, begun with a seed made of salt, segment and offset.
                                Why the seed: a whole frame in another place (a stale block, a swapped file) never passes.
    12  u32      length         of the payload.
    16  u64      record number  Why: counts up through all segments, so that what is missing can be told.
    24  payload

Readers follow a writer in another process without a lock between them. Four rules of the writer make that sound:

1. It appends, and it cuts off only bytes behind the last whole record: of an append that failed, or that a crash tore.
   So what lies before the end of any whole record never changes again. A frame that cannot be read is *damage* once a
   whole record is found behind it and a second look still fails; until then it is a record still being written.
2. It never touches a segment again once it has made the next. So a segment that was seen to have a successor *before*
   its end was looked for has its last record, and bytes left over there are damage.
3. Segments are made in ascending order. So a missing one below an existing one did exist; one look at the folder, which
   may miss a name that was made meanwhile, is never enough to call it lost.
4. Segments are removed in ascending order. So a missing one above an existing one is lost, and others were removed.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import struct
import weakref
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self
from zlib import crc32

from playhead import disk
from playhead.errors import Closed, Damaged, NotFound, StoreLocked, StoreTooNew, WrongShape

VERSION = 1
SEGMENT_BYTES = 256 << 20
LOCK_FILE = "writer.lock"

_MAGIC = b"\x89PHJRNL\n"
_MARK = b"\xf5\x9bPr"
_HEADER = struct.Struct("<8sIIQ4sI")
_FRAME = struct.Struct("<8sIIQ")
_CHECKED = struct.Struct("<IQ")  # the fields of a frame behind its CRC
_CHECKED_AT = _FRAME.size - _CHECKED.size
_MOST_BYTES = 0xFFFFFFFF

_BLOCK = 256 << 10  # read at once where every byte is checked
_HOP = 16 << 10  # read at once where only frames are looked at
_JOINED = 16 << 10  # below this, one copy costs less than handing several buffers to the kernel
_MOST_UNSYNCED = 16  # segments kept open until they are synced

Buffer = bytes | bytearray | memoryview


class Position(NamedTuple):
    """Where a record lies."""

    segment: int
    offset: int
    number: int
    length: int

    @property
    def end(self) -> int:
        """The offset behind the record."""
        return self.offset + _FRAME.size + self.length


class Record(NamedTuple):
    """A record and where it lies."""

    position: Position
    payload: bytes


class Damage(NamedTuple):
    """Bytes of a segment that cannot be read as records; `start == stop` where records are missing between two."""

    path: Path
    start: int
    stop: int
    reason: str


class _Header(NamedTuple):
    segment: int
    first: int
    marker: bytes

    def pack(self) -> bytes:
        head = _HEADER.pack(_MAGIC, VERSION, self.segment, self.first, self.marker[len(_MARK) :], 0)[:-4]
        return head + crc32(head).to_bytes(4, "little")

    @classmethod
    def unpack(cls, data: bytes, path: Path) -> _Header | None:
        """Give None where the bytes are not a whole header."""
        if len(data) < _HEADER.size or data[:8] != _MAGIC or crc32(data[:-4]).to_bytes(4, "little") != data[-4:]:
            return None
        _, version, segment, first, salt, _ = _HEADER.unpack(data)
        if version != VERSION:
            raise StoreTooNew(
                f"{path} has journal format {version}; this Playhead reads {VERSION}. Install a later one"
            )
        return cls(segment, first, _MARK + salt)


def _path(folder: Path, segment: int) -> Path:
    return folder / f"{segment:06}.seg"


def _segments(folder: Path) -> list[int]:
    try:
        names = os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFound(f"no journal at {folder}: there is no such folder") from error
    return sorted(int(name[:-4]) for name in names if name.endswith(".seg") and name[:-4].isdecimal())


def _seed(marker: bytes, segment: int) -> int:
    return crc32(segment.to_bytes(4, "little"), crc32(marker))


class _Segment:
    """One segment, open for reading."""

    def __init__(self, folder: Path, number: int) -> None:
        self.number = number
        self.path = _path(folder, number)
        self.fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)

    def close(self) -> None:
        os.close(self.fd)
        self.fd = -1

    def size(self) -> int:
        return os.fstat(self.fd).st_size

    def header(self) -> _Header | None:
        return _Header.unpack(os.pread(self.fd, _HEADER.size, 0), self.path)

    def frames(self, offset: int, marker: bytes, *, verify: bool = True) -> Iterator[tuple[Position, memoryview]]:
        """Walk over frames that follow one another, up to the first that is not whole.

        Without `verify` only the heads of frames are looked at, and no payloads are given.
        """
        seed, head_size, number = _seed(marker, self.number), _FRAME.size, -1
        block, base, size, need = memoryview(b""), offset, 0, head_size
        while True:
            if offset + need > base + len(block):
                # The size bounds what is read: the length of a broken frame may say anything.
                if offset + need > size and offset + need > (size := self.size()):
                    return
                block, base = memoryview(os.pread(self.fd, max(need, _BLOCK if verify else _HOP), offset)), offset
                if len(block) < need:
                    return
            at = offset - base
            mark, crc, length, found = _FRAME.unpack_from(block, at)
            stop = at + head_size + length
            if mark != marker:
                return
            if not verify:
                if (number not in (-1, found - 1)) or (base + stop > size and base + stop > (size := self.size())):
                    return
                yield Position(self.number, offset, found, length), block[:0]
            elif stop > len(block):
                need = head_size + length  # head and payload are read again, together
                continue
            else:
                if crc32(block[at + _CHECKED_AT : stop], (seed + offset) & 0xFFFFFFFF) != crc:
                    return
                yield Position(self.number, offset, found, length), block[at + head_size : stop]
            offset, need, number = base + stop, head_size, found

    def is_whole(self, offset: int, marker: bytes) -> bool:
        return any(True for _ in self.frames(offset, marker))

    def find(self, start: int, marker: bytes | None) -> int | None:
        """Find the first whole frame at or after `start`; without a marker, one of any journal."""
        needle = marker or _MARK
        while len(block := os.pread(self.fd, _BLOCK, start)) >= _FRAME.size:
            at = block.find(needle)
            while at >= 0:
                if self.is_whole(start + at, marker or os.pread(self.fd, 8, start + at)):
                    return start + at
                at = block.find(needle, at + 1)
            start += len(block) - len(needle) + 1  # the needle may lie across two blocks
        return None


def _identify(folder: Path) -> bytes | None:
    """Give the marker of a journal: that of most segments, since one of another journal may have strayed in."""
    markers: list[bytes] = []
    salvaged: list[bytes] = []
    for number in reversed(_segments(folder)):
        with contextlib.suppress(FileNotFoundError), contextlib.closing(_Segment(folder, number)) as segment:
            if header := segment.header():
                markers.append(header.marker)
            elif not markers and (found := segment.find(0, None)) is not None:
                salvaged.append(os.pread(segment.fd, 8, found))
    return max(markers or salvaged, key=(markers or salvaged).count, default=None)


class JournalReader:
    """Reads a journal from its start, and follows it while another process writes. For one thread at a time.

    Args:
        folder: The journal.
        start: The first segment to read. Segments before the first existing one are taken to be removed on purpose.
        strict: Raise `Damaged` where `damage` would note something, there and at every later poll.

    Raises:
        NotFound: There is no such folder.

    Attributes:
        damage: What could not be read; reading goes on behind it.
    """

    def __init__(self, folder: disk.StrPath, *, start: int = 0, strict: bool = False) -> None:
        self.folder = Path(folder)
        self.damage: list[Damage] = []
        self._strict = strict
        self._closed = False
        self._marker: bytes | None = None
        self._number = start  # the segment to read, once it is there
        self._segment: _Segment | None = None
        self._offset = 0  # behind the last whole record; 0 before the header
        self._next: int | None = None
        self._searched = -1  # the size of the segment when nothing whole was found behind `_offset`
        self._aside: _Segment | None = None  # for `read`: not the one that a poll under way reads from
        _segments(self.folder)

    def poll(self) -> Iterator[Record]:
        """Give the records that became whole since the last poll, one after the other.

        Those not taken from the iterator come again with the next poll. Finish or drop one before the next begins.
        """
        for position, payload in self._advance(verify=True):
            yield Record(position, bytes(payload))

    def poll_positions(self, *, verify: bool = True) -> Iterator[Position]:
        """As `poll`, without the payloads.

        Args:
            verify: Check every record. Else only heads of frames are read and damage within payloads shows at `read`.
        """
        for position, _ in self._advance(verify=verify):
            yield position

    def read(self, position: Position) -> bytes:
        """Give the payload of one record.

        Raises:
            Damaged: It is not there as it was written.
            NotFound: Its segment was removed.
        """
        segment = self._open_aside(position.segment)
        frame = os.pread(segment.fd, _FRAME.size + position.length, position.offset)
        asked = f"record {position.number} of {position.length} bytes at offset {position.offset}"
        if len(frame) < _FRAME.size + position.length:
            raise Damaged(segment.path, asked, f"the end of the file at {segment.size()}")
        mark, crc, length, number = _FRAME.unpack_from(frame)
        if mark != self._marker or (length, number) != (position.length, position.number):
            raise Damaged(segment.path, asked, "something else")
        seed = (_seed(mark, segment.number) + position.offset) & 0xFFFFFFFF
        if (found := crc32(memoryview(frame)[_CHECKED_AT:], seed)) != crc:
            raise Damaged(segment.path, f"{asked} with CRC {crc:08x}", f"CRC {found:08x}")
        return frame[_FRAME.size :]

    def close(self) -> None:
        """Give the files back. Closing twice is fine."""
        self._closed = True
        for segment in (self._segment, self._aside):
            if segment is not None:
                segment.close()
        self._segment = self._aside = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _open_aside(self, number: int) -> _Segment:
        self._check_open()
        if self._marker is None:
            self._marker = _identify(self.folder)
        if self._aside is None or self._aside.number != number:
            try:
                opened = _Segment(self.folder, number)
            except FileNotFoundError as error:
                raise NotFound.among("segment", number, _segments(self.folder), hint="It was removed.") from error
            if self._aside is not None:
                self._aside.close()
            self._aside = opened
        return self._aside

    def _check_open(self) -> None:
        if self._closed:
            raise Closed(f"the reader of the journal {self.folder} is closed")

    def _advance(self, *, verify: bool) -> Iterator[tuple[Position, memoryview]]:
        self._check_open()
        while (segment := self._open_segment()) is not None:
            sealed = self._has_successor()  # asked before the end is looked for: rule 2
            self._marker = self._marker or _identify(self.folder)
            while True:
                for position, payload in self._run(segment, verify=verify):
                    self._expect(position.number, segment.path, position.offset)
                    self._offset, self._next = position.end, position.number + 1
                    yield position, payload
                    self._check_open()
                if not self._skip(segment, sealed=sealed):
                    break
            if not sealed:
                return
            segment.close()
            self._segment, self._offset, self._number = None, 0, self._number + 1

    def _open_segment(self) -> _Segment | None:
        while self._segment is None:
            path = _path(self.folder, self._number)
            try:
                self._segment = _Segment(self.folder, self._number)
            except FileNotFoundError:
                if not self._has_successor():
                    return None
                if path.exists():  # made between the two looks: rule 3
                    continue
                if min(_segments(self.folder), default=self._number) < self._number:  # rule 4
                    self._report(Damage(path, 0, 0, "the segment is missing"))
                self._number += 1
        return self._segment

    def _has_successor(self) -> bool:
        return _path(self.folder, self._number + 1).exists() or max(_segments(self.folder), default=0) > self._number

    def _run(self, segment: _Segment, *, verify: bool) -> Iterable[tuple[Position, memoryview]]:
        if self._marker is None or (self._offset == 0 and not self._read_header(segment, self._marker)):
            return ()
        if verify:
            return segment.frames(self._offset, self._marker)
        found = list(segment.frames(self._offset, self._marker, verify=False))
        # A whole record vouches that those before it stay where they are (rule 1); without one, the last may be cut off.
        while found and not segment.is_whole(found[-1][0].offset, self._marker):
            found.pop()
        return found

    def _read_header(self, segment: _Segment, marker: bytes) -> bool:
        header = segment.header()
        if header is None:
            return False
        if header.marker == marker and header.segment == segment.number:
            self._expect(header.first, segment.path, 0)
            self._offset, self._next = _HEADER.size, header.first
            return True
        what = f"segment {header.segment}" if header.marker == marker else "a segment of another journal"
        size = segment.size()
        self._report(Damage(segment.path, 0, size, f"it is {what}"))
        self._offset = size
        return False

    def _expect(self, number: int, path: Path, offset: int) -> None:
        if self._next is not None and number != self._next:
            lost = f"records {self._next} to {number - 1} are missing"
            again = f"record {number} comes after record {self._next - 1}"
            self._report(Damage(path, offset, offset, lost if number > self._next else again))

    def _skip(self, segment: _Segment, *, sealed: bool) -> bool:
        """Step over damage; give False where there is nothing more to read yet."""
        start, size = self._offset, segment.size()
        if start >= size:
            return False
        here = (segment.number, start, size)
        found = None if here == self._searched and not sealed else segment.find(start + 1, self._marker)
        if found is None:
            self._searched = here  # an idle poll must not search the same bytes again
            if sealed:
                self._report(Damage(segment.path, start, size, "no record can be read up to the end"))
                self._offset = size
            return False
        if not self._is_readable(segment, start):  # the second look of rule 1
            self._report(Damage(segment.path, start, found, "no record can be read"))
            self._offset = found
        return True

    def _is_readable(self, segment: _Segment, offset: int) -> bool:
        if offset == 0:
            return segment.header() is not None
        return self._marker is not None and segment.is_whole(offset, self._marker)

    def _report(self, damage: Damage) -> None:
        if self._strict:
            raise Damaged(damage.path, f"records throughout, also from byte {damage.start} on", damage.reason)
        self.damage.append(damage)


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

    Raises:
        StoreLocked: Another writer holds the journal.

    Attributes:
        folder: The journal.
        segment: The number of the segment that is written to.
        number: The number of the next record.
        cut: What opening cut off, else None.
    """

    def __init__(self, folder: disk.StrPath, *, segment_bytes: int = SEGMENT_BYTES) -> None:
        self.folder = Path(folder)
        self.cut: Damage | None = None
        self._segment_bytes = segment_bytes
        self._unsynced: list[disk.Appender] = []
        self._is_named = False  # the names of all segments are on the medium
        self._is_settled = True  # no append raised since the state below was true
        self._ended: Closed | None = None
        disk.make_folders(self.folder)
        with contextlib.ExitStack() as on_error:
            try:
                self._lock = disk.Appender(self.folder / LOCK_FILE)
            except BlockingIOError as error:
                raise StoreLocked(
                    f"the journal {self.folder} is being written by another writer; close that one"
                ) from error
            on_error.callback(self._lock.close)
            self._recover()
            self._file = disk.Appender(_path(self.folder, self.segment))
            on_error.pop_all()
        self._end = self._file.size
        _writers.add(self)

    def _recover(self) -> None:
        self.segment = self.number = 0
        self._marker = _identify(self.folder) or _MARK + secrets.token_bytes(4)
        segments = _segments(self.folder)
        for start in reversed(segments):  # the newest may not know its first record yet
            with JournalReader(self.folder, start=start) as reader:
                for _ in reader.poll_positions():
                    pass
            if reader._next is not None:
                self.number = reader._next
                break
        if not segments:
            return
        self.segment = segments[-1]
        path = _path(self.folder, self.segment)
        size = os.stat(path).st_size
        if reader._offset < size:
            disk.truncate(path, reader._offset)
            self.cut = Damage(path, reader._offset, size, "a record was written in part")
        if any(damage.path == path for damage in reader.damage):
            self.segment += 1

    def append(self, *buffers: Buffer) -> Position:
        """Add one record, whose payload is the buffers joined.

        Args:
            *buffers: Contiguous bytes; an array as `memoryview(array)`.

        Raises:
            OSError: It could not be written. The journal is as it was.
            WrongShape: A record of 4 GiB or more.
            Closed: The writer is closed.
        """
        if self._ended is not None:
            raise self._ended
        if not self._is_settled:
            self._settle()
        views = [memoryview(buffer) for buffer in buffers]
        length = sum([view.nbytes for view in views])
        if length > _MOST_BYTES:
            raise WrongShape(f"a record of {length} bytes is too long: a journal holds at most {_MOST_BYTES}; split it")
        self._is_settled = False
        if self._end + _FRAME.size + length > self._segment_bytes and self._end > _HEADER.size:
            self._roll()
        if not self._end:
            self._end += self._begin()
        offset, number = self._end, self.number
        crc = crc32(_CHECKED.pack(length, number), (_seed(self._marker, self.segment) + offset) & 0xFFFFFFFF)
        for view in views:
            crc = crc32(view, crc)
        head = _FRAME.pack(self._marker, crc, length, number)
        if length < _JOINED:
            self._file.append(b"".join((head, *views)))
        else:
            self._file.append_all([head, *(view for view in views if view.nbytes)])
        self._end, self.number, self._is_settled = offset + _FRAME.size + length, number + 1, True
        return Position(self.segment, offset, number, length)

    def sync(self) -> None:
        """Wait until every record appended so far is on the medium.

        Raises:
            OSError: Some may not be. They are in the kernel and survive a kill of the process all the same.
        """
        self._check_open()
        while self._unsynced:
            self._sync_oldest()
        self._file.sync()
        if not self._is_named:
            disk.sync_folder(self.folder)
            self._is_named = True

    def remove_before(self, segment: int) -> None:
        """Remove the segments below `segment`, whose records are kept elsewhere by now; the one written to stays."""
        self._check_open()
        if not self._end:
            self._end = self._begin()
        self.sync()  # the segment that stays is the one that knows how to count on
        for number in _segments(self.folder):
            if number < min(segment, self.segment):
                disk.remove(_path(self.folder, number))

    def close(self) -> None:
        """Give the journal back; what was appended stays. Closing twice is fine."""
        self._end_with(Closed(f"the writer of the journal {self.folder} is closed"))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _check_open(self) -> None:
        if self._ended is not None:
            raise self._ended
        if not self._is_settled:
            self._settle()

    def _end_with(self, reason: Closed) -> None:
        self._ended = self._ended or reason
        for file in (*self._unsynced, self._file, self._lock):
            file.close()

    def _settle(self) -> None:
        """Find out what came of an append that raised.

        An `OSError` left nothing. An exception from a signal handler may have come just behind a step that was done: a
        record or header that is whole stays, since a reader may have seen it, and a segment that was made is used (rule 2).
        """
        self._file.settle()
        if self._file.size > self._end:
            self.number += self._end > 0  # at 0 it was the header
            self._end = self._file.size
        if _path(self.folder, self.segment + 1).exists():
            self._roll()
        self._is_settled = True

    def _roll(self) -> None:
        while len(self._unsynced) >= _MOST_UNSYNCED:
            self._sync_oldest()
        file = disk.Appender(_path(self.folder, self.segment + 1))
        self._unsynced.append(self._file)
        self._file, self._end, self._is_named = file, file.size, False
        self.segment += 1

    def _begin(self) -> int:
        header = _Header(self.segment, self.number, self._marker).pack()
        self._file.append(header)
        return len(header)

    def _sync_oldest(self) -> None:
        self._unsynced[0].sync()
        self._unsynced.pop(0).close()


def _disown_in_child() -> None:
    # The child lets go of the files at once: it must not write, nor hold the lock when the parent has gone.
    for writer in _writers:
        writer._end_with(Forked(f"the journal {writer.folder} is written by the parent of this process; open your own"))


os.register_at_fork(after_in_child=_disown_in_child)
