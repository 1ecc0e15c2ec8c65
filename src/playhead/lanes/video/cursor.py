"""A decoder and how far it has come; and the few that are kept between two reads, for all videos together."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import Any

from playhead.errors import Damaged
from playhead.lanes.video.packets import PacketFile, Packets
from playhead.lanes.video.pictures import Pictures
from playhead.lanes.video.pyav import av, packet_of

Show = Callable[[int, "av.VideoFrame"], None]

_KEPT_BYTES = 256 << 20  # of pictures in decoders that nobody uses now
_PICTURES = 8  # that a decoder holds, about
_NOWHERE = -1


class Cursor:
    """Decodes the frames of one video. For one thread at a time.

    It has one thread: frames come out as soon as their packet is in, random access pays for no pipeline, and readers
    in many processes do not fight over the cores.

    Attributes:
        packets: The video.
        pictures: What turns its pictures into frames.
    """

    def __init__(self, packets: Packets, pictures: Pictures) -> None:
        self.packets = packets
        self.pictures = pictures
        self.weight = pictures.height * pictures.width * 3 * _PICTURES
        context = av.CodecContext.create(packets.codec, "r")
        if not isinstance(context, av.VideoCodecContext):
            raise Damaged(packets.path, "a video", f"something that {packets.codec} encodes")
        context.thread_count = 1
        if packets.setup:
            context.extradata = packets.setup
        if packets.width:
            context.width, context.height = packets.width, packets.height
        self._context = context
        self._next = _NOWHERE  # packet to decode
        self._shown = _NOWHERE  # last position that came out

    def can_go_on(self, gop: int, position: int) -> bool:
        """Tell whether a position can be reached without going back or beginning anew."""
        return self._next != _NOWHERE and self.packets.keys[gop] <= self._next and self._shown < position

    def read(self, file: PacketFile, gop: int, wanted: Sequence[int], show: Show) -> None:
        """Decode the positions wanted of one GOP, in ascending order, and show each.

        Raises:
            Damaged: They cannot be decoded.
        """
        packets = self.packets
        packets.check(gop, file.fd)
        if not self.can_go_on(gop, wanted[0]):
            self._context.flush_buffers()
            self._next, self._shown = int(packets.keys[gop]), _NOWHERE
        left, last = set(wanted), int(packets.carriers[wanted[0] : wanted[-1] + 1].max())
        while left:
            if self._next == len(packets.sizes):
                self._next = _NOWHERE
                self._decode(None, left, show)
                break
            for data in file.read(self._next, max(last, self._next)):
                packet = packet_of(data)
                packet.pts = int(packets.positions[self._next])
                self._next += 1
                self._decode(packet, left, show)
                if not left:
                    break
        if left:
            raise Damaged(packets.path, f"frame {min(left)}", "nothing where it should be")

    def _decode(self, packet: av.Packet[Any] | None, left: set[int], show: Show) -> None:
        for picture in self._context.decode(packet):
            position = _NOWHERE if picture.pts is None else picture.pts
            self._shown = max(self._shown, position)
            if position in left:
                if picture.is_corrupt:
                    raise Damaged(self.packets.path, f"frame {position}", "one that could be decoded only in part")
                left.remove(position)
                show(position, picture)


# Taken again by the thread that has it, where garbage is collected meanwhile and `forget` is called for it.
_turn = threading.RLock()
_idle: list[Cursor] = []
_left_behind: list[object] = []


def borrow(packets: Packets, gop: int, position: int) -> Cursor | None:
    """Take a decoder of a video that nobody uses, best one that can go on to a position; None where there is none."""
    with _turn:
        own = [cursor for cursor in _idle if cursor.packets is packets]
        if not own:
            return None
        found = next((cursor for cursor in own if cursor.can_go_on(gop, position)), own[-1])
        _idle.remove(found)
        return found


def give_back(cursor: Cursor) -> None:
    """Keep a decoder for the next read; those that were not used for longest go."""
    with _turn:
        _idle.append(cursor)
        while len(_idle) > 1 and sum(kept.weight for kept in _idle) > _KEPT_BYTES:
            _idle.pop(0)


def forget(packets: Packets) -> None:
    """Let go of the decoders of a video."""
    with _turn:
        _idle[:] = [cursor for cursor in _idle if cursor.packets is not packets]


def _begin_anew_in_child() -> None:
    # A decoder may have been at work in another thread of the parent: its copy here is neither used nor freed.
    global _turn, _idle
    _left_behind.append(_idle)
    _turn, _idle = threading.RLock(), []


os.register_at_fork(after_in_child=_begin_anew_in_child)
