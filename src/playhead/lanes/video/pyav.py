"""PyAV, which is an extra: everything in this lane takes it from here."""

from __future__ import annotations

from typing import Any

from playhead.errors import MissingExtra

try:
    import av
    from av.video.reformatter import Interpolation, VideoReformatter
except ImportError as error:
    raise MissingExtra("av", "video") from error

__all__ = ["Interpolation", "VideoReformatter", "av", "packet_of"]


def packet_of(data: bytes | memoryview) -> av.Packet[Any]:
    """Make a packet for a decoder, which may read a little beyond its end: a copy, with zeros behind it."""
    packet: av.Packet[Any] = av.Packet(len(data))
    packet.update(data)  # type: ignore[arg-type]
    return packet
