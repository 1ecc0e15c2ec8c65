"""`.a2run` of version 1: one game of boards and moves, without the values of the moves."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from playhead.table.games import originals
from playhead.table.games.checksum import crc32c
from playhead.table.games.rows import MOVES, NO_BRANCHES, Known, Place, Rows, empty, known, settle, text

MAGIC = b"A2T1"
_VERSION, _LITTLE = 1, 0
_HEAD = struct.Struct("<4sBBIQfQIH")
_ELAPSED = 18  # the offset of elapsed_s
_SUM = 4  # bytes, at the end
BEGINNING = MAGIC + bytes((_VERSION, _LITTLE))


def decode(data: bytes, place: Place, dtype: np.dtype[Any], branches: str) -> tuple[Rows, Known]:
    """Decode one game.

    Raises:
        Damaged: The bytes are not one whole game.
        WrongType: It has no branches, and they are required, or too many moves.
    """
    end = len(data) - _SUM
    if end < _HEAD.size:
        raise place.damaged(f"at least {_HEAD.size + _SUM} bytes", f"the end at {len(data)}")
    due, found = int.from_bytes(data[end:], "little"), crc32c(data[:end])
    if due != found:
        raise place.damaged(f"bytes with the CRC32C {due:08x}", f"{found:08x}; the checksum is", end)
    magic, version, order, count, start_time, elapsed_s, max_score, highest_tile, length = _HEAD.unpack_from(data)
    place.check_kind((magic, version), (MAGIC, _VERSION), at=4)
    if order != _LITTLE:
        raise place.damaged(f"{_LITTLE}, for little-endian", str(order), 5)
    size = _HEAD.size + length + 8 * (count + 1) + count
    if size != end:
        raise place.damaged(f"{size + _SUM:,} bytes for {count:,} steps", f"{len(data):,} bytes", 6)
    engine = text(data[_HEAD.size : _HEAD.size + length], place, _HEAD.size)
    rows = empty(count, dtype, place)
    first = _HEAD.size + length
    moves = np.frombuffer(data, np.uint8, count, first + 8 * (count + 1))
    if count and moves.max() >= MOVES:
        step = int(np.argmax(moves >= MOVES))
        raise place.damaged(f"a move, 0 to 3, in step {step:,}", str(moves[step]), first + 8 * (count + 1) + step)
    rows["board"] = np.frombuffer(data, "<u8", count, first)
    rows["move"] = moves
    rows["ev_legal"] = NO_BRANCHES
    without = settle(rows, place, branches)
    final_board = int.from_bytes(data[first + 8 * count : first + 8 * (count + 1)], "little")
    elapsed = originals.bits_of(data[_ELAPSED : _ELAPSED + 4])
    about = known(
        place,
        num_steps=count,
        max_score=max_score,
        highest_tile=highest_tile,
        engine=engine,
        start_time=start_time,
        elapsed_s=elapsed_s,
        final_board=originals.spelled(final_board),
        original=originals.packed(place, "a2run", without, None, elapsed=elapsed),
    )
    return rows, about


def encode(rows: Rows, final_board: int, run: Known, elapsed: bytes) -> bytes:
    """Return the bytes of a file.

    Args:
        rows: The boards and moves.
        final_board: The board behind the last move.
        run: What is known of the game.
        elapsed: How long it took, as the four bytes of a float.
    """
    engine: bytes = run["engine"].encode()
    numbers = run["max_score"], run["highest_tile"], len(engine)
    head = bytearray(_HEAD.pack(MAGIC, _VERSION, _LITTLE, len(rows), run["start_time"], 0, *numbers))
    head[_ELAPSED : _ELAPSED + 4] = elapsed
    boards = np.append(rows["board"], np.uint64(final_board)).astype("<u8")
    data = bytes(head) + engine + boards.tobytes() + rows["move"].tobytes()
    return data + crc32c(data).to_bytes(_SUM, "little")
