"""A ring as the contract describes it, in plain struct code that shares nothing with the package."""

from __future__ import annotations

import mmap
import os
import struct
import zlib
from pathlib import Path

HEADER = struct.Struct("<4sIIIIIIIIIQQddd")
SLOT = struct.Struct("<QII")


class ForeignWriter:
    """Writes as the MOSAIC program does: the whole header anew at each change, slots without alignment."""

    def __init__(
        self, name: str, height: int, width: int, channels: int = 3, capacity: int = 128, room: int = 0
    ) -> None:
        assert (HEADER.size, SLOT.size) == (80, 16)
        self.path = Path("/dev/shm") / ("mosaic.fastlane." + name.replace("/", "_"))
        self.frame, self.room = height * width * channels, room
        self.payload = self.frame + room
        self.slot, self.capacity = 16 + self.payload, capacity
        fd = os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        os.ftruncate(fd, 80 + capacity * self.slot)
        self.memory = mmap.mmap(fd, 0)
        os.close(fd)
        kind = zlib.crc32({3: b"RGB", 4: b"RGBA"}[channels])
        sizes = capacity, self.slot, self.payload, width, height, channels
        HEADER.pack_into(self.memory, 0, b"FLAN", 1, 0, *sizes, kind, 0, 0, 0.0, 0.0, 0.0)

    def change(self, **values: float) -> None:
        header = list(HEADER.unpack_from(self.memory, 0))
        places = {"flags": 2, "head": 10, "reward": 12, "rolling": 13, "rate": 14}
        for name, value in values.items():
            header[places[name]] = value
        HEADER.pack_into(self.memory, 0, *header)

    def publish(
        self, frame: bytes, figures: tuple[float, float, float] = (0.0, 0.0, 0.0), metadata: bytes = b""
    ) -> int:
        self.change(reward=figures[0], rolling=figures[1], rate=figures[2])
        number = HEADER.unpack_from(self.memory, 0)[10] + 1
        at = 80 + (number - 1) % self.capacity * self.slot
        metadata = metadata[: self.room]
        SLOT.pack_into(self.memory, at, 2 * number + 1, len(frame), len(metadata))
        payload = frame + metadata
        self.memory[at + 16 : at + 16 + len(payload)] = payload
        SLOT.pack_into(self.memory, at, 2 * number + 2, len(frame), len(metadata))
        self.change(head=number)
        return int(number)

    def remove(self) -> None:
        self.memory.close()
        self.path.unlink(missing_ok=True)


def newest(path: Path) -> tuple[int, tuple[int, int, int], bytes, bytes, tuple[float, float, float]]:
    """Read the newest frame as the contract says: number, height, width and channels, frame, metadata, figures."""
    data = path.read_bytes()
    magic, version, _, capacity, slot, payload, width, height, channels, kind, head, _, *figures = HEADER.unpack(
        data[:80]
    )
    assert (magic, version) == (b"FLAN", 1)
    assert kind == zlib.crc32({3: b"RGB", 4: b"RGBA"}[channels])
    assert slot == payload + 16
    assert len(data) >= 80 + capacity * slot  # more may stand behind the slots
    for number in range(head, max(0, head - capacity), -1):
        at = 80 + (number - 1) % capacity * slot
        sequence, length, about = SLOT.unpack(data[at : at + 16])
        if sequence % 2 == 0:
            assert sequence == 2 * number + 2
            frame = data[at + 16 : at + 16 + length]
            behind = data[at + 16 + length : at + 16 + length + about]
            return number, (height, width, channels), frame, behind, tuple(figures)  # type: ignore[return-value]
    raise AssertionError("no frame is stable")
