"""The header of a ring: magic, sizes, the number of the newest frame, and figures about the run. Little-endian."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import NamedTuple

from playhead.errors import Damaged

MAGIC, VERSION = b"FLAN", 1
INVALIDATED = 1  # among the flags: this ring is over, and another may have taken its name

HEADER = struct.Struct("<4s9I2Q3d")
SLOT = struct.Struct("<Q2I")
FLAGS_AT, HEAD_AT, FIGURES_AT = 8, 40, 56
FLAGS, HEAD, FIGURES = 2, 10, 12  # places among the values of a header

_LINE = 64  # bytes of memory that a processor moves together
_FORMATS = {1: "L", 3: "RGB", 4: "RGBA"}
_MOST_SLOTS = 1 << 16
_MOST_FRAME = 1 << 28  # bytes


class Figures(NamedTuple):
    """The numbers beside a frame."""

    reward: float = 0.0
    rolling_return: float = 0.0
    step_rate: float = 0.0


@dataclass(frozen=True, slots=True)
class Form:
    """The sizes of a ring.

    Attributes:
        width: Of a frame, in pixels.
        height: Of a frame, in pixels.
        channels: Bytes of a pixel.
        capacity: How many slots there are.
        payload: Bytes of a slot that hold a frame and its metadata.
        slot: Bytes of a slot.
    """

    width: int
    height: int
    channels: int
    capacity: int
    payload: int
    slot: int

    @classmethod
    def fitting(cls, shape: tuple[int, ...], capacity: int, room: int) -> Form:
        """Give the sizes of a ring for frames of a shape.

        Args:
            shape: Height, width and channels.
            capacity: How many slots.
            room: For metadata, at least; so much more that each slot begins where its number is stored in one go.
        """
        height, width, channels = shape
        payload = height * width * channels + room
        payload += -(SLOT.size + payload) % _LINE
        return cls(width, height, channels, capacity, payload, SLOT.size + payload)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Height, width and channels of a frame."""
        return self.height, self.width, self.channels

    @property
    def frame(self) -> int:
        """Bytes of a frame."""
        return self.width * self.height * self.channels

    @property
    def room(self) -> int:
        """Bytes for metadata behind a frame."""
        return self.payload - self.frame

    @property
    def size(self) -> int:
        """Bytes of the whole ring."""
        return HEADER.size + self.capacity * self.slot

    def slot_at(self, number: int) -> int:
        """Give where the slot of a frame begins; the first frame is 1."""
        return HEADER.size + (number - 1) % self.capacity * self.slot

    def pack(self, kind: str = "") -> bytes:
        """Write the header of an empty ring.

        Args:
            kind: The name of the pixel format; by default that of so many channels.
        """
        format_crc = zlib.crc32((kind or _FORMATS[self.channels]).encode())
        sizes = self.capacity, self.slot, self.payload, self.width, self.height, self.channels
        return HEADER.pack(MAGIC, VERSION, 0, *sizes, format_crc, 0, 0, 0.0, 0.0, 0.0)

    @classmethod
    def unpack(cls, header: bytes | bytearray, size: int, path: str) -> Form:
        """Read a header that anybody may have written.

        Args:
            header: Its bytes.
            size: Of the file: no size in the header may lead past it.
            path: The file, for messages.

        Raises:
            Damaged: It is not that of a ring, or its sizes cannot be true.
        """
        magic, version, _, capacity, slot, payload, width, height, channels, *_ = HEADER.unpack(header)
        if magic != MAGIC or version != VERSION:
            raise Damaged(path, f"a ring, {MAGIC!r} version {VERSION}", f"{bytes(magic)!r} version {version}")
        form = cls(width, height, channels, capacity, payload, slot)
        is_true = (
            1 <= capacity <= _MOST_SLOTS
            and channels in _FORMATS
            and 0 < form.frame <= min(payload, _MOST_FRAME)
            and payload + SLOT.size <= slot
            and form.size <= size
        )
        if not is_true:
            raise Damaged(path, f"sizes that fit into {size} bytes", str(form))
        return form
