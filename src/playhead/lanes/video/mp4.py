"""What a video of ours needs to know of its MP4: where the boxes are, how long the samples, how the codec is set up.

An MP4 is a row of boxes (a length, four letters, content), some of which hold boxes. `mdat` has the packets; ours lie
in it one behind the other, in order. `moov` says the rest.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

_HEAD = struct.Struct(">I4s")
_LONG = struct.Struct(">Q")
_TABLES = (b"moov", b"trak", b"mdia", b"minf", b"stbl")
_SAMPLE_ENTRY = 78  # bytes of a visual sample entry before the boxes in it


class Box(NamedTuple):
    """Where the content of a box is."""

    kind: bytes
    start: int
    stop: int


def boxes_of(file: BinaryIO, size: int) -> Iterator[Box]:
    """List the outermost boxes of a file.

    Raises:
        ValueError: They do not fill it.
    """
    position = 0
    while position < size:
        file.seek(position)
        box = _box(file.read(16), 0, size - position)
        yield Box(box.kind, box.start + position, box.stop + position)
        position += box.stop


def boxes_within(data: bytes) -> Iterator[Box]:
    """List the outermost boxes of some bytes.

    Raises:
        ValueError: They do not fill them.
    """
    return boxes_of(io.BytesIO(data), len(data))


def _box(data: bytes, start: int, stop: int) -> Box:
    if len(data) < start + _HEAD.size:
        raise ValueError("a box is cut off")
    length, kind = _HEAD.unpack_from(data, start)
    head = _HEAD.size
    if length == 1 and len(data) >= start + 16:
        length, head = _LONG.unpack_from(data, start + 8)[0], 16
    elif length == 0:
        length = stop - start
    if not head <= length <= stop - start:
        raise ValueError(f"the box {kind!r} is longer than what it lies in")
    return Box(kind, start + head, start + length)


def _inner(data: bytes, start: int, stop: int, kind: bytes) -> Box:
    while start < stop:
        box = _box(data, start, stop)
        if box.kind == kind:
            return box
        start = box.stop
    raise ValueError(f"the box {kind!r} is missing")


class Samples(NamedTuple):
    """What `moov` says of the one track.

    Attributes:
        sizes: Of each packet, in order of decoding.
        setup: What a decoder must know before the first packet.
    """

    sizes: NDArray[np.int64]
    setup: bytes


def samples_of(moov: bytes, setup_kind: bytes) -> Samples:
    """Read the tables of a video with one track.

    Args:
        moov: The content of that box.
        setup_kind: The box in which the codec is set up, such as `avcC`.

    Raises:
        ValueError: It is not the `moov` of such a video.
    """
    tables = Box(b"", 0, len(moov))
    for kind in _TABLES[1:]:
        tables = _inner(moov, tables.start, tables.stop, kind)
    sizes = _inner(moov, tables.start, tables.stop, b"stsz")
    same, count = struct.unpack_from(">II", moov, sizes.start + 4)
    found = np.full(count, same) if same else np.frombuffer(moov, ">u4", count, sizes.start + 12)
    descriptions = _inner(moov, tables.start, tables.stop, b"stsd")
    entry = _box(moov, descriptions.start + 8, descriptions.stop)
    setup = _inner(moov, entry.start + _SAMPLE_ENTRY, entry.stop, setup_kind)
    return Samples(found.astype(np.int64), moov[setup.start : setup.stop])
