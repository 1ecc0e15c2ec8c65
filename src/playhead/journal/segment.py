"""The bytes of one segment: a header, then frames back to back. Numbers are little-endian, every CRC is CRC-32.

header, 32 bytes
 0  8 bytes  magic          Why: tells a segment from any other file.
 8  u32      version        Why: a later form is refused by name. Magic, version, size and CRC stay where they are.
12  u32      segment        Why: a file under the name of another is noticed.
16  u64      first record   Why: an empty segment knows how to count on; a loss at the end of the one before shows.
24  4 bytes  salt           Why: random, one for each journal; bytes of another journal never pass.
28  u32      CRC            of the 28 bytes before.

frame, 24 bytes and the payload
 0  4 bytes  mark           Why: behind a broken frame the next one is found by searching for mark and salt.
 4  4 bytes  salt           Why: the same as in the header, so that frames can be read when the header cannot.
 8  u32      CRC            of length, number and payload, begun with a seed made of salt, segment and offset.
                            Why the seed: a whole frame in another place (stale block, swapped file) never passes.
12  u32      length         of the payload.
16  u64      record number  Why: counts up through all segments, so that what is missing can be told.
24  payload
"""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from playhead import disk
from playhead.errors import Damaged, NotFound, StoreTooNew

VERSION = 1
MARK = b"\xf5\x9bPr"
MOST_BYTES = 0xFFFFFFFF

_MAGIC = b"\x89PHJRNL\n"
_HEADER = struct.Struct("<8sIIQ4sI")
_FRAME = struct.Struct("<8sIIQ")
_CHECKED = struct.Struct("<IQ")  # the fields of a frame behind its CRC
_CHECKED_AT = _FRAME.size - _CHECKED.size
HEADER_SIZE = _HEADER.size
FRAME_SIZE = _FRAME.size
_MARKER_SIZE = 8

Buffer = bytes | bytearray | memoryview

_BLOCK = 256 << 10  # read at once where every byte is checked
_HOP = 16 << 10  # read at once where only frames are looked at
_HELD, _LONG = 5 << 10, 256 << 10  # bytes of which the CRC is made in one go, and in pieces


class Position(NamedTuple):
    """Where a record lies: the offset is that of its frame, the length that of its payload."""

    segment: int
    offset: int
    number: int
    length: int

    @property
    def end(self) -> int:
        """The offset behind the record."""
        return self.offset + FRAME_SIZE + self.length


class Header(NamedTuple):
    """The head of a segment. `marker` is mark and salt: what every frame of the journal begins with."""

    segment: int
    first: int
    marker: bytes

    def pack(self) -> bytes:
        """Give its bytes."""
        head = _HEADER.pack(_MAGIC, VERSION, self.segment, self.first, self.marker[len(MARK) :], 0)[:-4]
        return head + crc32(head).to_bytes(4, "little")

    @classmethod
    def unpack(cls, data: bytes, path: Path) -> Header | None:
        """Read what `pack` gave; None where the bytes are not a whole header.

        Raises:
            StoreTooNew: It is whole, and of another version.
        """
        if len(data) < HEADER_SIZE or data[:8] != _MAGIC or crc32(data[:-4]).to_bytes(4, "little") != data[-4:]:
            return None
        _, version, segment, first, salt, _ = _HEADER.unpack(data)
        if version != VERSION:
            raise StoreTooNew(
                f"{path} has journal format {version}; this Playhead knows {VERSION}. Install a later one"
            )
        return cls(segment, first, MARK + salt)


def _crc_of(data: Buffer, crc: int) -> int:
    """Go on with a CRC.

    Python lets go of the interpreter over more than 5 KiB, and taking it back from a busy thread takes much longer.
    """
    view = memoryview(data)
    if not _HELD < view.nbytes <= _LONG or view.ndim != 1 or view.itemsize != 1:
        return crc32(data, crc)
    for start in range(0, len(view), _HELD):
        crc = crc32(view[start : start + _HELD], crc)
    return crc


def seed_of(marker: bytes, segment: int) -> int:
    """Give the seed of a segment; the CRC of a frame begins with the seed plus its offset."""
    return crc32(segment.to_bytes(4, "little"), crc32(marker))


def pack_frame(marker: bytes, seed: int, position: Position, payload: Iterable[Buffer]) -> bytes:
    """Give the bytes that go before a payload."""
    _, offset, number, length = position
    crc = crc32(_CHECKED.pack(length, number), (seed + offset) & 0xFFFFFFFF)
    for buffer in payload:
        crc = _crc_of(buffer, crc)
    return _FRAME.pack(marker, crc, length, number)


def length_of(data: bytes, offset: int) -> int:
    """Return the length that the frame at an offset says its payload has."""
    return int(_FRAME.unpack_from(data, offset)[2])


def path_of(folder: Path, segment: int) -> Path:
    """Name the file of a segment."""
    return folder / f"{segment:06}.seg"


def segments_in(folder: Path) -> list[int]:
    """List the segments of a journal in order.

    Raises:
        NotFound: There is no such folder.
    """
    try:
        names = os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFound(f"no journal at {folder}: there is no such folder") from error
    return sorted(int(name[:-4]) for name in names if name.endswith(".seg") and name[:-4].isdecimal())


class Segment:
    """One segment, open for reading.

    Raises:
        FileNotFoundError: It is not there.
    """

    _fd = -1

    def __init__(self, folder: Path, number: int) -> None:
        self.number = number
        self.path = path_of(folder, number)
        self._fd = disk.open_to_read(self.path)

    def close(self) -> None:
        """Give the file back. Closing twice is fine."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __del__(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)

    def size(self) -> int:
        """Give the bytes there are now."""
        return os.fstat(self._fd).st_size

    def header(self) -> Header | None:
        """Read the header; None where it is not whole."""
        return Header.unpack(os.pread(self._fd, HEADER_SIZE, 0), self.path)

    def frames(self, offset: int, marker: bytes) -> Iterator[tuple[Position, bytes | memoryview]]:
        """Walk over frames that follow one another, with their payloads, up to the first that is not whole."""
        seed = seed_of(marker, self.number)
        block, at = memoryview(b""), 0
        while True:
            if at + FRAME_SIZE > len(block):
                block, at = memoryview(os.pread(self._fd, _BLOCK, offset)), 0
                if len(block) < FRAME_SIZE:
                    return
            mark, crc, length, number = _FRAME.unpack_from(block, at)
            start, stop = at + FRAME_SIZE, at + FRAME_SIZE + length
            payload: bytes | memoryview = block[start:stop]
            if stop > len(block):
                if length > self.size() - offset - FRAME_SIZE:  # the length of a broken frame may say anything
                    return
                payload = os.pread(self._fd, length, offset + FRAME_SIZE)
            checked = crc32(block[at + _CHECKED_AT : start], (seed + offset) & 0xFFFFFFFF)
            if mark != marker or _crc_of(payload, checked) != crc:
                return
            yield Position(self.number, offset, number, length), payload
            offset, at = offset + FRAME_SIZE + length, stop

    def hops(self, offset: int, marker: bytes) -> Iterator[Position]:
        """Walk over frames by their heads alone, while these follow one another; the last may not be whole."""
        size, before = self.size(), None
        block, base = b"", offset
        while offset + FRAME_SIZE <= size:
            if offset + FRAME_SIZE > base + len(block):
                block, base = os.pread(self._fd, _HOP, offset), offset
                if len(block) < FRAME_SIZE:
                    return
            mark, _, length, number = _FRAME.unpack_from(block, offset - base)
            position = Position(self.number, offset, number, length)
            if mark != marker or before not in (None, number - 1):
                return
            yield position
            offset, before = position.end, number

    def is_whole(self, offset: int, marker: bytes) -> bool:
        """Tell whether a whole frame lies at an offset."""
        return any(True for _ in self.frames(offset, marker))

    def find(self, start: int, marker: bytes | None) -> int | None:
        """Find the first whole frame at or after `start`; without a marker, one of any journal."""
        needle = marker or MARK
        while len(block := os.pread(self._fd, _BLOCK, start)) >= FRAME_SIZE:
            at = block.find(needle)
            while at >= 0:
                if self.is_whole(start + at, marker or self.marker_at(start + at)):
                    return start + at
                at = block.find(needle, at + 1)
            start += len(block) - len(needle) + 1  # the needle may lie across two blocks
        return None

    def marker_at(self, offset: int) -> bytes:
        """Read the marker of the frame at an offset."""
        return os.pread(self._fd, _MARKER_SIZE, offset)

    def read(self, position: Position, marker: bytes | None) -> bytes:
        """Read the payload at a position.

        Raises:
            Damaged: It is not there as it was written.
        """
        head = os.pread(self._fd, FRAME_SIZE, position.offset)
        payload = os.pread(self._fd, position.length, position.offset + FRAME_SIZE)
        asked = f"record {position.number} of {position.length} bytes at offset {position.offset}"
        if len(head) < FRAME_SIZE or len(payload) < position.length:
            raise Damaged(self.path, asked, f"the end of the file at {self.size()}")
        mark, crc, length, number = _FRAME.unpack(head)
        if mark != marker or (length, number) != (position.length, position.number):
            raise Damaged(self.path, asked, "the head of something else")
        seed = seed_of(mark, self.number) + position.offset
        if (found := crc32(payload, crc32(head[_CHECKED_AT:], seed & 0xFFFFFFFF))) != crc:
            raise Damaged(self.path, f"{asked} with CRC {crc:08x}", f"CRC {found:08x}")
        return payload


def identify(folder: Path) -> bytes | None:
    """Give the marker of a journal: that of most segments, since one of another journal may have strayed in.

    Where no header can be read, frames tell.
    """
    named: list[bytes] = []
    salvaged: list[bytes] = []
    for number in reversed(segments_in(folder)):
        with contextlib.suppress(FileNotFoundError), contextlib.closing(Segment(folder, number)) as segment:
            if header := segment.header():
                named.append(header.marker)
            elif not named and (found := segment.find(0, None)) is not None:
                salvaged.append(segment.marker_at(found))
    markers = named or salvaged
    return max(markers, key=markers.count, default=None)
