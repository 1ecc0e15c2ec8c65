"""The moves of an `.a2run2` file: a compiled decoder where Numba is installed, and one of plain Python.

Both give the same rows, and stop at the same byte with the same reason.
"""

from __future__ import annotations

import functools
import importlib
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead.table.games.rows import NO_BRANCHES, Rows

FINE, ENDS, BOARD, MOVE, OPTION, BRANCH, VALUE = range(7)
EXPECTED = {
    BOARD: "a board of 64 bits",
    MOVE: "a move, 0 to 3",
    OPTION: "0 or 1: whether there are branches",
    BRANCH: "0 or 1: whether a move is legal",
    VALUE: "the value of a move",
}
LEAST_BYTES = 3  # of a step: board, move, and that there are no branches

_SOON = 1 << 19  # bytes, which plain Python decodes before Numba would be imported
_ONE, _INFINITY, _SIGN = 0x3F80_0000, 0x7F80_0000, 0x8000_0000  # bits of a float

Ended = tuple[int, int, int, int]  # why, in which step, at which byte, and how many values were clamped
Decoder = Callable[[bytes, int, Rows, NDArray[np.uint32]], Ended]
Odd = list[tuple[int, int, int]]  # step, direction, and the value as the bits of a float

_seen = 0


def decode(data: bytes, at: int, rows: Rows, chosen: NDArray[np.uint32]) -> Ended:
    """Decode the steps from a place on, into rows, with the quicker of the decoders.

    Args:
        data: The file.
        at: Where its steps begin.
        rows: One for each step; the values of moves are clamped, that of the chosen move is 1.
        chosen: For each step, the value of the chosen move as it was, as the bits of a float; 0 if it has none.

    Returns:
        Why it ended (`FINE`, or a key of `EXPECTED`, or `ENDS`), at which step and which byte, and how many values of
        moves that were not chosen had to be clamped: `odd` lists them.
    """
    global _seen
    _seen += len(data)
    return (plain if _seen < _SOON else best())(data, at, rows, chosen)


def odd(data: bytes, at: int, count: int) -> Odd:
    """List the values of moves that were not chosen and are not between 0 and 1, of steps that `decode` found fine."""
    found: Odd = []
    _plainly(data, at, count, [], bytearray(), bytearray(), [], [], found)
    return found


@functools.cache
def best() -> Decoder:
    """Give the compiled decoder, or the plain one where Numba is missing."""
    try:
        return compiled()
    except ImportError:
        return plain


def plain(data: bytes, at: int, rows: Rows, chosen: NDArray[np.uint32]) -> Ended:
    """Decode steps in plain Python."""
    boards: list[int] = []
    moves, legals = bytearray(), bytearray()
    values: list[int] = []
    originals: list[int] = []
    odd: Odd = []
    why, at = _plainly(data, at, len(rows), boards, moves, legals, values, originals, odd)
    count = len(boards)
    if why == FINE:
        rows["board"] = np.array(boards, np.uint64)
        rows["move"] = np.frombuffer(moves, np.uint8)
        rows["ev_legal"] = np.frombuffer(legals, np.uint8)
        rows["ev_values"] = np.array(values, np.uint32).reshape(-1, 4).view(np.float32)
        chosen[:] = np.array(originals, np.uint32)
    return why, count, at, len(odd)


def _plainly(
    data: bytes,
    at: int,
    count: int,
    boards: list[int],
    moves: bytearray,
    legals: bytearray,
    values: list[int],
    chosen: list[int],
    odd: Odd,
) -> tuple[int, int]:
    bits_at = struct.Struct("<I").unpack_from
    try:
        for step in range(count):
            board = data[at]
            at += 1
            if board > 0x7F:
                board &= 0x7F
                shift = 7
                while (byte := data[at]) > 0x7F and shift < 63:
                    board |= (byte & 0x7F) << shift
                    shift += 7
                    at += 1
                if shift == 63 and byte > 1:
                    return BOARD, at
                board |= byte << shift
                at += 1
            move, has_branches = data[at], data[at + 1]
            if move > 3:
                return MOVE, at
            if has_branches > 1:
                return OPTION, at + 1
            at += 2
            legal, four, original = NO_BRANCHES, [0, 0, 0, 0], 0
            if has_branches:
                legal = 0
                for direction in range(4):
                    is_illegal = data[at]
                    if is_illegal > 1:
                        return BRANCH, at
                    at += 1
                    if is_illegal:
                        continue
                    (bits,) = bits_at(data, at)
                    if bits & 0x7FFF_FFFF > _INFINITY:
                        return VALUE, at
                    if direction == move:
                        original = bits
                    elif bits > _ONE:  # as are those with a sign
                        odd.append((step, direction, bits))
                    four[direction] = 0 if bits & _SIGN else min(bits, _ONE)
                    legal |= 1 << direction
                    at += 4
                if legal >> move & 1:
                    four[move] = _ONE
            chosen.append(original)
            moves.append(move)
            legals.append(legal)
            values += four
            boards.append(board)
    except (IndexError, struct.error):
        return ENDS, len(data)
    return FINE, at


@functools.cache
def compiled() -> Decoder:
    """Compile the decoder, once for all processes where Numba can keep it.

    Raises:
        ImportError: Numba is not installed.
    """
    numba: Any = importlib.import_module("numba")
    kinds = numba.types
    count = kinds.int64
    signature = kinds.UniTuple(count, 4)(
        kinds.Array(kinds.uint8, 1, "C", readonly=True),
        count,
        kinds.Array(kinds.uint64, 1, "A", aligned=False),
        kinds.Array(kinds.uint8, 1, "A"),
        kinds.Array(kinds.uint8, 1, "A"),
        kinds.Array(kinds.uint32, 2, "A", aligned=False),
        kinds.Array(kinds.uint32, 1, "C"),
    )
    make = functools.partial(numba.njit, signature, nogil=True)
    try:
        function = make(cache=True)(_to_compile)
    except (RuntimeError, OSError):  # nowhere to keep it
        function = make()(_to_compile)

    def decoder(data: bytes, at: int, rows: Rows, chosen: NDArray[np.uint32]) -> Ended:
        """Decode steps with the compiled function."""
        bits, buffer = rows["ev_values"].view(np.uint32), np.frombuffer(data, np.uint8)
        why, step, end, odd = function(buffer, at, rows["board"], rows["move"], rows["ev_legal"], bits, chosen)
        return why, step, end, odd

    return decoder


def _to_compile(
    data: NDArray[np.uint8],
    at: int,
    boards: NDArray[np.uint64],
    moves: NDArray[np.uint8],
    legals: NDArray[np.uint8],
    values: NDArray[Any],
    chosen: NDArray[np.uint32],
) -> Ended:
    size, odd = len(data), 0
    for step in range(len(boards)):
        board, shift = np.uint64(0), 0
        while True:
            if at >= size:
                return ENDS, step, size, odd
            byte = data[at]
            if shift == 63 and byte > 1:
                return BOARD, step, at, odd
            at += 1
            board |= np.uint64(byte & 0x7F) << np.uint64(shift)
            if byte < 0x80:
                break
            shift += 7
        if at + 2 > size:
            return ENDS, step, size, odd
        move, has_branches = data[at], data[at + 1]
        if move > 3:
            return MOVE, step, at, odd
        if has_branches > 1:
            return OPTION, step, at + 1, odd
        at += 2
        legal, original = NO_BRANCHES, np.uint32(0)
        if has_branches:
            legal = 0
            for direction in range(4):
                if at >= size:
                    return ENDS, step, size, odd
                is_illegal = data[at]
                if is_illegal > 1:
                    return BRANCH, step, at, odd
                at += 1
                if is_illegal:
                    continue
                if at + 4 > size:
                    return ENDS, step, size, odd
                bits = data[at] | data[at + 1] << 8 | data[at + 2] << 16 | data[at + 3] << 24
                if bits & 0x7FFF_FFFF > _INFINITY:
                    return VALUE, step, at, odd
                if direction == move:
                    original = np.uint32(bits)
                elif bits > _ONE:
                    odd += 1
                values[step, direction] = 0 if bits & _SIGN else min(bits, _ONE)
                legal |= 1 << direction
                at += 4
            if legal >> move & 1:
                values[step, move] = _ONE
        boards[step], moves[step], legals[step], chosen[step] = board, move, legal, original
    return FINE, len(boards), at, odd
