"""Rows of 2048: one per move, as training tables keep them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead.errors import Damaged, WrongType

Rows = NDArray[Any]
Known = dict[str, Any]

STEP: np.dtype[Any] = np.dtype(
    [
        ("board", "<u8"),
        ("move", "u1"),
        ("ev_legal", "u1"),
        ("ev_values", "<f4", (4,)),
        ("run_id", "<u4"),
        ("step_index", "<u2"),
    ]
)
_WIDENED: np.dtype[Any] = np.dtype([*STEP.descr[:-1], ("step_index", "<u4")])
REQUIRE, COMPUTE = "require", "compute"
NO_BRANCHES = 0xFF  # in `ev_legal`, until `settle` has seen it
MOVES = 4

_MOST = (1 << 63) - 1  # that SQLite keeps
_REMEDY = "Copy it again from where it was made; or leave it out, as errors='skip' does"
_EVERY = np.uint64(0x1111_1111_1111_1111)  # the lowest bit of each tile
_NOT_RIGHTMOST = np.uint64(0x1110_1110_1110_1110)
_NOT_LOWEST = np.uint64(0x1111_1111_1111_0000)


def step_dtype(*, widen: bool = False) -> np.dtype[Any]:
    """Give the type of a row: 32 bytes, or 34 where `step_index` is widened for games of more than 65,536 moves."""
    return _WIDENED if widen else STEP


@dataclass(frozen=True, slots=True)
class Place:
    """Where the bytes of a run come from, for errors to name.

    Attributes:
        path: The file.
        first: Where in the file they begin.
        run: The number of the run, where a file holds several.
    """

    path: Path
    first: int = 0
    run: int | None = None

    def damaged(self, expected: str, found: str, at: int | None = None) -> Damaged:
        """Make the error that says what is wrong, at how many bytes from the first."""
        of = "" if self.run is None else f" in run {self.run:,}"
        where = "" if at is None else f" at offset {self.first + at:,}"
        return Damaged(self.path, f"{expected}{of}", f"{found}{where}", _REMEDY)

    def check_kind(self, found: tuple[bytes, int], due: tuple[bytes, int], *, at: int) -> None:
        """See that a file begins as its kind does, and is of the version that is known, which it says at an offset.

        Raises:
            Damaged: It is not.
        """
        if found[0] != due[0]:
            raise self.damaged(f"a file that begins with {due[0]!r}", repr(found[0]), 0)
        if found[1] != due[1]:
            raise self.damaged(f"version {due[1]}", str(found[1]), at)

    def __str__(self) -> str:
        return f"{self.path}" if self.run is None else f"{self.path}, run {self.run:,}"


def check(dtype: np.dtype[Any], branches: str) -> None:
    """See that rows of a type can be made as asked.

    Raises:
        WrongType: They cannot.
    """
    if dtype not in (STEP, _WIDENED):
        raise WrongType(f"rows of 2048 are of the type that step_dtype() gives, not {dtype}")
    if branches not in (REQUIRE, COMPUTE):
        raise WrongType(f"branches are {REQUIRE!r}d or {COMPUTE!r}d, not {branches!r}")


def empty(count: int, dtype: np.dtype[Any], place: Place) -> Rows:
    """Make room for the moves of one game, numbered.

    Raises:
        WrongType: There are more than can be numbered.
    """
    if count > 1 << 8 * dtype["step_index"].itemsize:
        raise WrongType(
            f"{place}: a game of {count:,} moves, which step_index ({dtype['step_index']}) cannot number. "
            "Pass widen=True, for a column of 32 bits"
        )
    rows = np.zeros(count, dtype)
    rows["step_index"] = np.arange(count, dtype=dtype["step_index"])
    return rows


def settle(rows: Rows, place: Place, branches: str) -> NDArray[np.int64]:
    """Complete the rows of a game that have no branches, or refuse them.

    Args:
        rows: With `ev_legal` of `NO_BRANCHES` where there are none.
        place: Where they come from.
        branches: `require` or `compute`.

    Returns:
        The steps that have none.

    Raises:
        WrongType: There are some, and branches are required.
    """
    without = np.flatnonzero(rows["ev_legal"] == NO_BRANCHES)
    if not len(without):
        return without
    if branches == REQUIRE:
        raise WrongType(
            f"{place}: step {without[0]:,} has no branches, the values of the four moves. Pass branches='compute' to "
            "keep such games, with the legal moves of each board and 1 for the chosen one; or leave the file out"
        )
    legal = legal_moves(rows["board"][without])
    chosen = rows["move"][without]
    rows["ev_legal"][without] = legal
    values = np.zeros((len(without), MOVES), np.float32)
    values[np.arange(len(without)), chosen] = (legal >> chosen) & 1
    rows["ev_values"][without] = values
    return without


def legal_moves(boards: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Tell for each board which moves change it: bit 0 for up, 1 down, 2 left, 3 right."""
    boards = np.ascontiguousarray(boards, np.uint64)
    up, down = _towards(boards, 16, _NOT_LOWEST)
    left, right = _towards(boards, 4, _NOT_RIGHTMOST)
    legal: NDArray[np.uint8] = up | down << np.uint8(1) | left << np.uint8(2) | right << np.uint8(3)
    return legal


def _towards(boards: NDArray[np.uint64], bits: int, where: np.uint64) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Tell whether tiles can move towards their neighbour so many bits before, and behind."""
    behind = boards << np.uint64(bits)
    has, next_has = _tiles(boards), _tiles(behind)
    merges = has & ~_tiles(boards ^ behind)
    before = (((next_has & ~has) | merges) & where) != 0
    after = (((has & ~next_has) | merges) & where) != 0
    return before.view(np.uint8), after.view(np.uint8)


def _tiles(boards: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Set the lowest bit of each place that is not empty."""
    halves = boards | boards >> np.uint64(2)
    found: NDArray[np.uint64] = (halves | halves >> np.uint64(1)) & _EVERY
    return found


def known(
    place: Place,
    *,
    num_steps: int,
    max_score: int,
    highest_tile: int,
    engine: str,
    start_time: int,
    elapsed_s: float,
    final_board: str | None,
    original: bytes,
) -> Known:
    """Put together what is known of a game.

    Raises:
        Damaged: A number is larger than a database keeps.
    """
    for name, value in (("max_score", max_score), ("start_unix_s", start_time)):
        if value > _MOST:
            raise place.damaged(f"{name} below 2^63", str(value))
    return {
        "num_steps": num_steps,
        "max_score": max_score,
        "highest_tile": highest_tile,
        "engine": engine,
        "start_time": start_time,
        "elapsed_s": None if math.isnan(elapsed_s) else elapsed_s,
        "final_board": final_board,
        "original": original,
    }


def text(data: bytes, place: Place, at: int) -> str:
    """Read the name of an engine.

    Raises:
        Damaged: It is not UTF-8.
    """
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        found = f"byte {data[error.start]:#04x}"
        raise place.damaged("the name of an engine as UTF-8", found, at + error.start) from error
