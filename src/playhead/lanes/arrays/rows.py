"""The steps themselves: what is known of each besides its arrays, and what is noted of episodes.

A block of steps in the journal is `first row (u64), steps (u32), bytes of infos (u32), bytes of notes (u32)`, then, as
one Zstandard frame, the rows in `ROW`, the length of each info (u32), the infos (JSON each, nothing where there is
none) and the notes (a JSON list). Notes say that an episode began or ended; they lie in the block with its steps.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from playhead import strictjson
from playhead.lanes.arrays import codec

TERMINATED, TRUNCATED = 1, 2

# `agent` is the place in the list of agents, `has` a bit for each group of arrays that has a row here.
ROW = np.dtype(
    [
        ("ts_ns", "<i8"),
        ("reward", "<f8"),
        ("step", "<i8"),
        ("episode", "<u4"),
        ("agent", "<u2"),
        ("has", "<u2"),
        ("flags", "u1"),
    ]
)

HEAD = struct.Struct("<QIII")
STEP = struct.Struct("<qdqIHHB")  # the fields of `ROW`, in order
_LEVEL = 1

# A step that waits: what `STEP` packs, with its info as JSON behind it; or, where packing it would hold up the caller,
# the fields of `ROW`, and its info, as JSON or as a dict of numbers that nobody else has.
Step = bytes | tuple[Any, ...]


class Block(NamedTuple):
    """Steps that follow one another."""

    first: int
    rows: NDArray[Any]
    infos: list[bytes]
    notes: list[dict[str, Any]]


def pack(first: int, steps: Sequence[Step], notes: list[dict[str, Any]]) -> tuple[bytes, bytes]:
    """Give the bytes of a block."""
    parts = [
        (step[: STEP.size], step[STEP.size :])
        if isinstance(step, bytes)
        else (STEP.pack(*step[:-1]), _json_of(step[-1]))
        for step in steps
    ]
    rows = b"".join([row for row, _ in parts])
    infos = [info for _, info in parts]
    lengths = np.fromiter(map(len, infos), "<u4", len(infos)).tobytes()
    text = b"".join(infos)
    noted = strictjson.encode(notes) if notes else b""
    head = HEAD.pack(first, len(steps), len(text), len(noted))
    return head, codec.compress(b"".join((rows, lengths, text, noted)), _LEVEL)


def _json_of(info: Any) -> bytes:
    if type(info) is bytes:
        return info
    return orjson.dumps(info, option=orjson.OPT_SERIALIZE_NUMPY) if info else b""


def unpack(payload: Any) -> Block:
    """Read what `pack` gave.

    Raises:
        codec.Malformed: It is something else.
    """
    view = memoryview(payload)
    first, count, text_size, noted_size = HEAD.unpack_from(view)
    data = bytearray(count * (ROW.itemsize + 4) + text_size + noted_size)
    if data:
        codec.expand(view[HEAD.size :], memoryview(data))
    at = count * ROW.itemsize
    rows = np.frombuffer(data, ROW, count)
    lengths = np.frombuffer(data, "<u4", count, at).tolist()
    at += 4 * count
    infos = []
    for length in lengths:
        infos.append(bytes(data[at : at + length]))
        at += length
    noted = bytes(data[at : at + noted_size])
    notes = strictjson.decode(noted) if noted else []
    if not are_notes(notes):
        raise codec.Malformed(f"{repr(notes)[:200]} are no notes of episodes")
    return Block(first, rows, infos, notes)


# -- what may be noted ------------------------------------------------------------------------------------------------

_MOST = 1 << 62
_KINDS = ("begin", "end", "keyframe")
_RARE = ("finals", "prefixes", "keyframes")


def is_count(value: Any) -> bool:
    """Tell whether a value is a whole number from 0 on that positions can be counted with."""
    return type(value) is int and 0 <= value < _MOST


def is_text_list(value: Any) -> bool:
    """Tell whether a value is a list of texts."""
    return type(value) is list and all(type(item) is str for item in value)


def are_notes(value: Any) -> bool:
    """Tell whether a value can be the notes of a reel; kinds of notes that are not known here are no reason against."""
    return type(value) is list and all(map(_is_note, value))


def _is_note(note: Any) -> bool:
    if type(note) is not dict:
        return False
    kind = next((kind for kind in _KINDS if kind in note), None)
    if kind is None:
        return all(type(note[name]) is str for name in ("agent", "group") if name in note)
    has_rare = any(axis in note for axis in _RARE)
    return (
        is_count(note[kind])
        and is_count(note.get("row"))
        and all(is_count(note[axis]) for axis in _RARE if axis in note)
        and (not has_rare or is_text_list(note.get("arrays")))
        and (kind != "keyframe" or "keyframes" in note)
        and (kind != "end" or type(note.get("how")) is str)
        and (note.get("ns") is None or (type(note["ns"]) is int and -_MOST * 2 <= note["ns"] < _MOST * 2))
        and type(note.get("facts", {})) is dict
    )
