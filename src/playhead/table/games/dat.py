"""`.dat`: the moves of many games in records of 32 bytes, then what is known of each game, then a checksum."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from playhead.table.games import originals
from playhead.table.games.checksum import crc32c
from playhead.table.games.rows import MOVES, NO_BRANCHES, Known, Place, Rows, empty, known, settle, text

MAGIC = b"2048"
_VERSION = 1
_HEAD = struct.Struct("<4sIIQQ")
_RECORD: np.dtype[Any] = np.dtype(
    [
        ("board", "<u8"),
        ("run_id", "<u4"),
        ("index", "<u4"),
        ("move", "u1"),
        ("mask", "u1"),
        ("values", "<u2", (4,)),
        ("pad", "V6"),
    ]
)
_RUN = struct.Struct("<IIIQIH")  # then the name of the engine, then:
_TIMES = struct.Struct("<Qf")
_SUM = 4  # bytes, at the end
MOST_VALUE = 65535
_MOST_FIRST = (1 << 32) - 1  # a first step beyond does not fit its field
_CHUNK = 1 << 24
_AT_ONCE = 1 << 18  # rows


def read(path: Path, dtype: np.dtype[Any], branches: str) -> Iterator[tuple[Rows, list[Known]]]:
    """Give the games of a pack, many at a time; see `playhead.table.games.read`."""
    with open(path, "rb") as file, open(path, "rb") as about:
        place = Place(path)
        runs, steps, end = _head(file, place)
        about.seek(_HEAD.size + steps * _RECORD.itemsize)
        rows: list[Rows] = []
        known_runs: list[Known] = []
        count = first = 0
        for number in range(runs):
            run = _run(about, Place(path, about.tell(), number), first, end)
            at = _HEAD.size + first * _RECORD.itemsize
            first += run["num_steps"]
            if first > steps:
                raise place.damaged(f"{steps:,} steps in all", f"runs up to {number:,} have {first:,}")
            more, run["original"] = _rows(file, Place(path, at, number), run, dtype, branches)
            if known_runs and count + len(more) > _AT_ONCE:
                yield np.concatenate(rows), known_runs
                rows, known_runs, count = [], [], 0
            rows.append(more)
            known_runs.append(run)
            count += len(more)
        if first != steps or about.tell() != end:
            left = end - about.tell()
            expected = f"{steps:,} steps and nothing behind the last run"
            raise place.damaged(expected, f"{first:,} steps and {left:,} bytes", about.tell())
        if known_runs:
            yield np.concatenate(rows), known_runs


def _head(file: BinaryIO, place: Place) -> tuple[int, int, int]:
    """Check the whole file by its checksum; give the number of runs, of steps, and where the runs end."""
    end = file.seek(0, 2) - _SUM
    if end < _HEAD.size:
        raise place.damaged(f"at least {_HEAD.size + _SUM} bytes", f"the end at {end + _SUM}")
    file.seek(0)
    head = file.read(_HEAD.size)
    magic, version, runs, steps, runs_at = _HEAD.unpack(head)
    place.check_kind((magic, version), (MAGIC, _VERSION), at=4)
    found, left = crc32c(head), end - len(head)
    while left:
        chunk = file.read(min(_CHUNK, left))
        if not chunk:
            raise place.damaged(f"{end + _SUM:,} bytes", "the end", file.tell())
        found, left = crc32c(chunk, found), left - len(chunk)
    due = int.from_bytes(file.read(_SUM), "little")
    if due != found:
        raise place.damaged(f"bytes with the CRC32C {due:08x}", f"{found:08x}; the checksum is", end)
    if runs_at != _HEAD.size + steps * _RECORD.itemsize or runs_at > end:
        expected = f"runs behind {steps:,} steps, within {end:,} bytes"
        raise place.damaged(expected, f"them at {runs_at:,}; this is said", 20)
    file.seek(_HEAD.size)
    return runs, steps, end


def _run(file: BinaryIO, place: Place, first: int, end: int) -> Known:
    """Read what is known of the next game."""
    room = end - place.first
    if room < _RUN.size + _TIMES.size:
        raise place.damaged("what is known of it", f"the end ({room} bytes are left)", 0)
    number, said_first, count, max_score, highest_tile, length = _RUN.unpack(file.read(_RUN.size))
    if number != place.run or said_first != min(first, _MOST_FIRST):
        raise place.damaged(f"run {place.run} from step {first:,} on", f"run {number} from {said_first:,} on", 0)
    if room < _RUN.size + length + _TIMES.size:
        raise place.damaged(f"a name of {length:,} bytes", f"the end ({room} bytes are left)", 0)
    engine = text(file.read(length), place, _RUN.size)
    times = file.read(_TIMES.size)
    start_time, elapsed_s = _TIMES.unpack(times)
    return known(
        place,
        num_steps=count,
        max_score=max_score,
        highest_tile=highest_tile,
        engine=engine,
        start_time=start_time,
        elapsed_s=elapsed_s,
        final_board=None,  # which these files do not have
        original=times[-4:],  # until its rows were read
    )


def _rows(file: BinaryIO, place: Place, run: Known, dtype: np.dtype[Any], branches: str) -> tuple[Rows, bytes]:
    """Read the moves of the next game; return them, and what they do not say of the file."""
    count = run["num_steps"]
    rows = empty(count, dtype, place)
    found = np.frombuffer(file.read(count * _RECORD.itemsize), _RECORD)
    moves, mask = found["move"], found["mask"]
    checks = (
        (found["run_id"] == place.run, "run_id", f"{place.run}"),
        (found["index"] == np.arange(count), "index", "its place in the game"),
        (moves < MOVES, "move", "0 to 3"),
        (mask < 1 << MOVES, "mask", "4 bits"),
    )
    for is_right, name, expected in checks:
        if not is_right.all():
            step = int(np.argmin(is_right))
            raise place.damaged(f"{name}: {expected}, in step {step:,}", f"{found[name][step]}", step * 32)
    rows["board"], rows["move"] = found["board"], moves
    rows["ev_legal"] = np.where(mask == 0, NO_BRANCHES, mask)
    rows["ev_values"] = _values(found["values"], mask, moves)
    is_said = (mask[:, None] >> np.arange(MOVES, dtype=np.uint8)) & 1 != 0
    unsaid = np.where(is_said, np.uint16(0), found["values"]).astype("<u2")
    steps = np.arange(count)
    chosen = np.rint(rows["ev_values"][steps, moves] * MOST_VALUE).astype("<u2")
    unsaid[steps, moves] = found["values"][steps, moves] - chosen
    without = settle(rows, place, branches)
    return rows, originals.packed(place, "dat", without, unsaid, elapsed=originals.bits_of(run["original"]))


def encode(rows: Rows, mask: NDArray[np.uint8], values: NDArray[np.uint16], run: Known, elapsed: bytes) -> bytes:
    """Return the bytes of a pack of one game.

    Args:
        rows: The boards and moves.
        mask: Which moves are legal; 0 for a step without branches.
        values: Of the four moves of each step.
        run: What is known of the game.
        elapsed: How long it took, as the four bytes of a float.
    """
    records = np.zeros(len(rows), _RECORD)
    records["board"], records["move"], records["mask"], records["values"] = rows["board"], rows["move"], mask, values
    records["index"] = np.arange(len(rows))
    engine: bytes = run["engine"].encode()
    about = _RUN.pack(0, 0, len(rows), run["max_score"], run["highest_tile"], len(engine)) + engine
    about += run["start_time"].to_bytes(8, "little") + elapsed
    head = _HEAD.pack(MAGIC, _VERSION, 1, len(rows), _HEAD.size + records.nbytes)
    data: bytes = head + records.tobytes() + about
    return data + crc32c(data).to_bytes(_SUM, "little")


def _values(written: NDArray[np.uint16], mask: NDArray[np.uint8], moves: NDArray[np.uint8]) -> NDArray[np.float32]:
    is_legal = (mask[:, None] >> np.arange(MOVES, dtype=np.uint8)) & 1 != 0
    values = np.where(is_legal, written / np.float32(MOST_VALUE), np.float32(0)).astype(np.float32)
    is_chosen = np.arange(MOVES) == moves[:, None]
    values[is_chosen & is_legal] = 1
    return values
