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

_BLOCK = 256 << 10  # read at once where every byte is checked
_HOP = 16 << 10  # read at once where only frames are looked at
_NOTHING = memoryview(b"")


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


def seed_of(marker: bytes, segment: int) -> int:
    """Give the seed of a segment; the CRC of a frame begins with the seed plus its offset."""
    return crc32(segment.to_bytes(4, "little"), crc32(marker))


def pack_frame(marker: bytes, seed: int, offset: int, number: int, length: int, payload: Iterable[memoryview]) -> bytes:
    """Give the bytes that go before a payload at one place."""
    crc = crc32(_CHECKED.pack(length, number), (seed + offset) & 0xFFFFFFFF)
    for view in payload:
        crc = crc32(view, crc)
    return _FRAME.pack(marker, crc, length, number)


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

    def __init__(self, folder: Path, number: int) -> None:
        self.number = number
        self.path = path_of(folder, number)
        self._fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)

    def close(self) -> None:
        """Give the file back."""
        os.close(self._fd)
        self._fd = -1

    def size(self) -> int:
        """Give the bytes there are now."""
        return os.fstat(self._fd).st_size

    def header(self) -> Header | None:
        """Read the header; None where it is not whole."""
        return Header.unpack(os.pread(self._fd, HEADER_SIZE, 0), self.path)

    def frames(self, offset: int, marker: bytes, *, verify: bool = True) -> Iterator[tuple[Position, memoryview]]:
        """Walk over frames that follow one another, with their payloads, up to the first that is not whole.

        Without `verify` only heads are looked at: their numbers must follow one another, and payloads are not given.
        """
        seed, number = seed_of(marker, self.number), -1
        block, base, size, need = _NOTHING, offset, 0, FRAME_SIZE
        while True:
            # The size bounds what is read, since the length of a broken frame may say anything.
            if offset + need > size and offset + need > (size := self.size()):
                return
            if offset + need > base + len(block):
                block, base = memoryview(os.pread(self._fd, max(need, _BLOCK if verify else _HOP), offset)), offset
                if len(block) < need:  # cut off since the size was asked for
                    return
            at = offset - base
            mark, crc, length, found = _FRAME.unpack_from(block, at)
            if mark != marker:
                return
            if need != FRAME_SIZE + length:
                need = FRAME_SIZE + length
                ...
