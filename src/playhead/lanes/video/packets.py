"""Where the packets of a video lie, and from which of them a frame can be decoded."""

from __future__ import annotations

import os
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead import disk
from playhead.errors import Damaged
from playhead.lanes.video import mp4
from playhead.lanes.video.index import Facts
from playhead.lanes.video.pyav import av
from playhead.lanes.video.sealer import BLOCK, SETUP_BOX

Integers = NDArray[np.int64]

_DISCARDED = -1


@dataclass(frozen=True, eq=False)
class Packets:
    """The packets of one video, in order of decoding.

    A position is the place of a frame in the order in which frames are shown; a GOP is what can be decoded beginning
    with one keyframe.

    Attributes:
        path: The video.
        codec: The name of the decoder.
        setup: What the decoder must know first.
        height: Of a picture.
        width: Of a picture.
        offsets: Of each packet in the file.
        sizes: Of each packet.
        positions: Of the frame that each packet holds; negative where it is not shown.
        carriers: For each position the packet that holds it.
        keys: The packet that each GOP begins with.
        firsts: The position of that packet's frame.
        checks: CRC-32 of the packets of each GOP; None where they are not known.
    """

    path: Path
    codec: str
    setup: bytes | None
    height: int
    width: int
    offsets: Integers
    sizes: Integers
    positions: Integers
    carriers: Integers
    keys: Integers
    firsts: Integers
    checks: list[int] | None
    _is_checked: bytearray = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_is_checked", bytearray(len(self.keys)))

    def gops_of(self, positions: Integers) -> Integers:
        """Give the GOP in which each position is decoded."""
        return np.maximum(np.searchsorted(self.firsts, positions, "right") - 1, 0)

    def open(self) -> PacketFile:
        """Open the video to read packets."""
        return PacketFile(self)

    def check(self, gop: int, fd: int) -> None:
        """Compare the packets of a GOP with their checksum, once.

        All of the GOP is read, also where only its first frames are wanted: that is a few reads of a file, and one
        checksum a GOP keeps the index small.

        Raises:
            Damaged: They differ.
        """
        if self.checks is None or self._is_checked[gop]:
            return
        first = int(self.keys[gop])
        last = int(self.keys[gop + 1] if gop + 1 < len(self.keys) else len(self.sizes)) - 1
        found = crc_of(fd, self.path, int(self.offsets[first]), int(self.offsets[last] + self.sizes[last]))
        if found != self.checks[gop]:
            raise Damaged(
                self.path,
                f"frames {first} to {last} with checksum {self.checks[gop]:08x}",
                f"{found:08x}",
                "The other frames can still be read",
            )
        self._is_checked[gop] = True


class PacketFile:
    """An open video; a context manager."""

    def __init__(self, packets: Packets) -> None:
        self._packets = packets
        self.fd = disk.open_to_read(packets.path)

    def read(self, first: int, last: int) -> list[memoryview]:
        """Read packets that follow one another, as many as a block holds, and at least one."""
        packets = self._packets
        start = stop = int(packets.offsets[first])
        pieces: list[slice] = []
        offsets, sizes = packets.offsets[first : last + 1].tolist(), packets.sizes[first : last + 1].tolist()
        for offset, size in zip(offsets, sizes, strict=True):
            if pieces and (offset != stop or offset + size - start > BLOCK):
                break
            stop = offset + size
            pieces.append(slice(offset - start, stop - start))
        data = memoryview(read_exactly(self.fd, packets.path, start, stop))
        return [data[piece] for piece in pieces]

    def __enter__(self) -> PacketFile:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.fd)


def read_exactly(fd: int, path: Path, start: int, stop: int) -> bytes:
    """Read a part of a file.

    Raises:
        Damaged: It is not there.
    """
    data = os.pread(fd, stop - start, start)
    while len(data) < stop - start:
        more = os.pread(fd, stop - start - len(data), start + len(data))
        if not more:
            raise Damaged(path, f"bytes up to {stop}", f"an end at {start + len(data)}")
        data += more
    return data


def crc_of(fd: int, path: Path, start: int, stop: int, check: int = 0) -> int:
    """Give the CRC-32 of a part of a file, going on from `check`."""
    for block in range(start, stop, BLOCK):
        check = zlib.crc32(read_exactly(fd, path, block, min(block + BLOCK, stop)), check)
    return check


def our_packets(path: Path, facts: Facts, rows: int) -> Packets:
    """Find the packets of a video that Playhead made.

    Raises:
        Damaged: The file is not the one that the index describes.
    """
    expected = facts.video
    try:
        fd = disk.open_to_read(path)
    except FileNotFoundError:
        raise Damaged(path, f"a video of {rows} frames", "no file") from None
    try:
        size = os.fstat(fd).st_size
        if size != expected.size:
            raise Damaged(path, f"{expected.size} bytes", f"{size}")
        start, stop = expected.packets
        tail = read_exactly(fd, path, stop, size)
        found = zlib.crc32(tail, crc_of(fd, path, 0, start))
    finally:
        os.close(fd)
    if found != expected.rest:
        raise Damaged(path, f"tables with checksum {expected.rest:08x}", f"{found:08x}")
    codec = facts.encoding.codec
    moov = next(box for box in mp4.boxes_within(tail) if box.kind == b"moov")
    samples = mp4.samples_of(tail[moov.start : moov.stop], SETUP_BOX[codec])
    count = len(samples.sizes)
    if count != rows:
        raise _unequal(path, count, rows)
    order = np.arange(count)
    firsts = np.array([first for first, _ in expected.gops])
    return Packets(
        path=path, codec=codec, setup=samples.setup, height=0, width=0,
        offsets=start + np.concatenate([[0], np.cumsum(samples.sizes)[:-1]]), sizes=samples.sizes,
        positions=order, carriers=order, keys=firsts, firsts=firsts, checks=[check for _, check in expected.gops],
    )  # fmt: skip


def foreign_packets(path: Path, rows: int) -> Packets:
    """Find the packets of a video that another program made, by going through it once.

    Raises:
        Damaged: It cannot be read, or its frames are not as many as the rows of the index.
    """
    if not path.exists():
        raise Damaged(path, f"a video of {rows} frames", "no file")
    try:
        with open(path, "rb") as file, av.open(file, "r") as container:
            if not container.streams.video:
                raise Damaged(path, "a video", "a file without one")
            track = container.streams.video[0]
            context = track.codec_context
            found = [_row(packet) for packet in container.demux(track) if packet.size]
            codec, setup, height, width = context.name, context.extradata, context.height, context.width
    except (av.error.FFmpegError, OSError, ValueError) as error:
        raise Damaged(path, "a video", f"{type(error).__name__}: {error}") from error
    table = np.array(found, np.int64).reshape(-1, 5)
    positions = _shown_order(table[:, 2], table[:, 4] != 0)
    if (count := int((positions >= 0).sum())) != rows:
        raise _unequal(path, count, rows)
    keys = np.flatnonzero((table[:, 3] != 0) & (positions >= 0))
    if not len(keys) or keys[0] != 0:
        keys = np.concatenate([[0], keys])
    carriers = np.empty(count, np.int64)
    carriers[positions[positions >= 0]] = np.flatnonzero(positions >= 0)
    # A keyframe that is shown before one that is decoded earlier is no place to begin from.
    firsts = positions[keys]
    kept = firsts >= np.maximum.accumulate(firsts)
    return Packets(
        path=path, codec=codec, setup=setup, height=height, width=width, offsets=table[:, 0], sizes=table[:, 1],
        positions=positions, carriers=carriers, keys=keys[kept], firsts=firsts[kept], checks=None,
    )  # fmt: skip


def _row(packet: Any) -> tuple[int, int, int, bool, bool]:
    shown = packet.pts if packet.pts is not None else packet.dts
    if packet.pos is None or packet.pos < 0 or shown is None:
        raise ValueError("a packet without a place or a time")
    return packet.pos, packet.size, shown, packet.is_keyframe, packet.is_discard


def _shown_order(times: Integers, is_discarded: NDArray[np.bool_]) -> Integers:
    positions = np.full(len(times), _DISCARDED, np.int64)
    shown = np.flatnonzero(~is_discarded)
    positions[shown[np.argsort(times[shown], kind="stable")]] = np.arange(len(shown))
    return positions


def _unequal(path: Path, frames: int, rows: int) -> Damaged:
    more = "The video has more" if frames > rows else "The index has more"
    return Damaged(path, f"{rows} frames, as many as the rows of its index", f"{frames}", more)
