"""`.a2run2`: one game with the values of its moves, as the postcard format writes it; no magic, no checksum."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from playhead import disk
from playhead.errors import WrongShape, WrongType
from playhead.paths import GivenPath, as_path
from playhead.table.games import originals, postcard, steps
from playhead.table.games.rows import NO_BRANCHES, STEP, Known, Place, Rows, empty, known, settle


def decode(data: bytes, place: Place, dtype: np.dtype[Any], branches: str) -> tuple[Rows, Known]:
    """Decode one game.

    Raises:
        Damaged: The bytes are not one whole game.
        WrongType: It has no branches or too many moves for what was asked.
    """
    cursor = postcard.Cursor(data, place)
    said = cursor.integer(32, "the number of steps")
    start_time, elapsed = cursor.integer(64, "start_unix_s"), cursor.bytes(4, "elapsed_s")
    max_score, highest_tile = cursor.integer(64, "max_score"), cursor.integer(32, "highest_tile")
    engine = cursor.optional_text("the name of an engine")
    at = cursor.at
    count = cursor.integer(64, "the length of the steps")
    if count * steps.LEAST_BYTES > cursor.left:
        raise place.damaged(f"at most {cursor.left // steps.LEAST_BYTES:,} steps, as there are bytes", f"{count:,}", at)
    if count != said:
        raise place.damaged(f"{said:,} steps, as its beginning says", f"{count:,}", at)
    rows, chosen, first = empty(count, dtype, place), np.zeros(count, np.uint32), cursor.at
    why, step, cursor.at, odd = steps.decode(data, first, rows, chosen)
    if why == steps.ENDS:
        raise place.damaged(f"{count:,} steps", f"the end in step {step:,}", cursor.at)
    if why != steps.FINE:
        found = "NaN" if why == steps.VALUE else str(data[cursor.at])
        raise place.damaged(f"{steps.EXPECTED[why]}, in step {step:,}", found, cursor.at)
    final_board = cursor.integer(64, "the final board")
    if cursor.left:
        raise place.damaged("the end behind the final board", f"{cursor.left:,} more bytes", cursor.at)
    without = settle(rows, place, branches)
    is_one = count > 0 and not len(without) and bool((chosen == chosen[0]).all())
    original = originals.packed(
        place,
        "a2run2",
        without,
        None if is_one else chosen,
        chosen=int(chosen[0]) if is_one else None,
        odd=steps.odd(data, first, count) if odd else None,
        is_unnamed=True if engine is None else None,
        elapsed=originals.bits_of(elapsed),
    )
    return rows, known(
        place,
        num_steps=count,
        max_score=max_score,
        highest_tile=highest_tile,
        engine=engine or "",
        start_time=start_time,
        elapsed_s=struct.unpack("<f", elapsed)[0],
        final_board=originals.spelled(final_board),
        original=original,
    )


class About(NamedTuple):
    """What the beginning of a file says of its game; `elapsed` as its four bytes."""

    start_time: int
    elapsed: bytes
    max_score: int
    highest_tile: int
    engine: str | None


def write_a2run2(
    path: GivenPath,
    rows: Rows,
    final_board: int,
    *,
    max_score: int,
    highest_tile: int,
    engine: str | None = None,
    start_time: int = 0,
    elapsed_s: float = 0.0,
) -> None:
    """Write one game as the programs of 2048 do.

    Args:
        path: The file; one that is there is replaced.
        rows: The moves: `board`, `move`, `ev_legal` and `ev_values` are written; where `ev_legal` is 255, no branches.
        final_board: The board behind the last move.
        max_score: The score of the game.
        highest_tile: The largest tile.
        engine: Who played.
        start_time: When it began, in seconds since 1970.
        elapsed_s: How long it took.
    """
    about = About(start_time, struct.pack("<f", elapsed_s), max_score, highest_tile, engine)
    disk.save(as_path(path), encode(rows, final_board, about), durable=False)


def encode(rows: Rows, final_board: int, about: About) -> bytes:
    """Return the bytes of a file; see `write_a2run2`."""
    begun = [
        postcard.integer(len(rows)),
        postcard.integer(about.start_time),
        about.elapsed,
        postcard.integer(about.max_score),
        postcard.integer(about.highest_tile),
    ]
    if about.engine is None:
        begun.append(b"\0")
    else:
        named = about.engine.encode()
        begun += [b"\1", postcard.integer(len(named)), named]
    return b"".join([*begun, postcard.integer(len(rows)), *_steps(rows), postcard.integer(final_board)])


def _steps(rows: Rows) -> Sequence[bytes]:
    missing = [name for name in STEP.names[:4] if name not in (rows.dtype.names or ())] if STEP.names else []
    if missing:
        raise WrongShape(
            f"rows of 2048 have the columns {', '.join(STEP.names or ())}; {', '.join(missing)} is missing"
        )
    if len(rows) and int(rows["move"].max()) > 3:
        raise WrongType("a move is 0 (up), 1 (down), 2 (left) or 3 (right)")
    boards, moves = rows["board"].tolist(), rows["move"].tolist()
    legals, values = rows["ev_legal"].tolist(), np.ascontiguousarray(rows["ev_values"], "<f4").tobytes()
    encoded = []
    for number, (board, move, legal) in enumerate(zip(boards, moves, legals, strict=True)):
        encoded.append(postcard.integer(board))
        if legal == NO_BRANCHES:
            encoded.append(bytes((move, 0)))
            continue
        encoded.append(bytes((move, 1)))
        for direction in range(4):
            at = number * 16 + direction * 4
            encoded.append(b"\0" + values[at : at + 4] if legal >> direction & 1 else b"\1")
    return encoded
