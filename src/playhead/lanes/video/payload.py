"""Encoded frames on the tape: the shape of the frames, a row for each, and their packets one behind the other."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from playhead.journal.segment import Buffer
from playhead.lanes.video.encoder import Loss, Packet
from playhead.lanes.video.pictures import Shape

_HEAD = struct.Struct("<IIII")  # rows, height, width, channels (0 where frames have no such axis)
_ROW = np.dtype([("ts_ns", "<i8"), ("size", "<u4"), ("flags", "<u4"), ("squared", "<f8"), ("largest", "<u4")])
_IS_KEY, _IS_MEASURED = 1, 2


class Sample(NamedTuple):
    """An encoded frame and its time."""

    ts_ns: int
    packet: Packet


def pack(shape: Shape, samples: Sequence[Sample]) -> list[Buffer]:
    """Give the bytes of samples, without copying their packets."""
    channels = shape[2] if len(shape) == 3 else 0
    rows = np.array([_row(sample) for sample in samples], _ROW)
    head = _HEAD.pack(len(samples), shape[0], shape[1], channels)
    return [head + rows.tobytes(), *(sample.packet.data for sample in samples)]


def _row(sample: Sample) -> tuple[int, int, int, float, int]:
    data, is_key, loss = sample.packet
    flags = _IS_KEY * is_key | _IS_MEASURED * (loss is not None)
    return (sample.ts_ns, len(data), flags, *(loss or (0.0, 0)))


def shape_of(payload: memoryview) -> Shape:
    """Give the shape of the frames."""
    _, height, width, channels = _HEAD.unpack_from(payload)
    return (height, width, channels) if channels else (height, width)


def unpack(payload: memoryview) -> Iterator[Sample]:
    """Give the samples that `pack` was given."""
    count = _HEAD.unpack_from(payload)[0]
    start = _HEAD.size + count * _ROW.itemsize
    for ts_ns, size, flags, squared, largest in np.frombuffer(payload[_HEAD.size : start], _ROW).tolist():
        loss = Loss(squared, largest) if flags & _IS_MEASURED else None
        yield Sample(ts_ns, Packet(bytes(payload[start : start + size]), bool(flags & _IS_KEY), loss))
        start += size
