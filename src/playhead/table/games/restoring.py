"""The file of a game written again from a table, with every field that it had."""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from playhead import disk
from playhead.errors import Damaged, NotFound, WrongType
from playhead.paths import GivenPath, as_path
from playhead.signal import keys
from playhead.table.games import a2run, a2run2, dat
from playhead.table.games.originals import Original, unpacked
from playhead.table.games.rows import NO_BRANCHES, STEP, Rows

if TYPE_CHECKING:
    from playhead.table.table import Table


def restore(table: Table, run: int, path: GivenPath) -> None:
    """Write the file that a game of a table came from, with the values that it had.

    A game of an `.a2pack` becomes a file of its own, in the form that it has in the pack; one of a `.dat` becomes a
    `.dat` of one game. A file in the spelling that the programs use comes back byte for byte.

    Args:
        table: The table; all steps of the game are in it.
        run: The id of the game.
        path: Where to write; a file that is there is replaced. It ends in `.a2run2`, `.a2run` or `.dat`, as the
            form is.

    Raises:
        BadKey: If the id is not a whole number.
        NotFound: If there is no such run, or nothing was kept of its file.
        Damaged: If what was kept is not what was written.
        WrongType: If the table has not all of its rows and columns, or the path has another ending.
    """
    run = keys.as_integer(run, "the id of a run")
    places = np.flatnonzero(table.runs.ids == run)
    kept = table.runs.original(run) if len(places) else None
    if kept is None:
        raise NotFound(
            f"{table.path} does not hold the file of run {run}: it is the id of a game that build or append read "
            "from a run file, with Playhead 0.12 or later"
        )
    known = table.runs[int(places[0])]
    rows = table.filter(runs=[run])[:]
    missing = [name for name in STEP.names or () if name not in (rows.dtype.names or ())]
    if missing or len(rows) != known["num_steps"]:
        lacks = f"the columns {', '.join(missing)}" if missing else f"{known['num_steps'] - len(rows):,} of its steps"
        raise WrongType(f"{table.path} lacks {lacks} of run {run}; a whole game is needed to write its file")
    target = as_path(path)
    try:
        original = unpacked(kept, len(rows))
        suffix = f".{original.form}"
        if suffix in _WRITERS and target.suffix != suffix:
            raise WrongType(f"run {run} is of the form {original.form}: write it to a path that ends in {suffix}")
        data = _WRITERS[suffix](rows, known, original)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, struct.error) as error:
        if isinstance(error, WrongType):
            raise
        remedy = "Build the table again from its sources"
        raise Damaged(table.path / "metadata.db", f"the original of run {run}", str(error), remedy) from error
    disk.save(target, data, durable=False)


def _a2run2(rows: Rows, known: dict[str, Any], original: Original) -> bytes:
    bits = rows["ev_values"].view(np.uint32).copy()
    steps = np.arange(len(rows))
    if original.values:
        chosen = np.frombuffer(original.values, "<u4")
        is_legal = rows["ev_legal"] >> rows["move"] & 1 != 0
        bits[steps[is_legal], rows["move"][is_legal]] = chosen[is_legal]
    elif "chosen" in original.said:
        is_legal = rows["ev_legal"] >> rows["move"] & 1 != 0
        bits[steps[is_legal], rows["move"][is_legal]] = original.said["chosen"]
    for step, direction, value in original.said.get("odd", ()):
        bits[step, direction] = value
    rows["ev_values"] = bits.view(np.float32)
    rows["ev_legal"][original.steps("without", len(rows))] = NO_BRANCHES
    about = a2run2.About(
        start_time=known["start_time"],
        elapsed=_elapsed(known, original),
        max_score=known["max_score"],
        highest_tile=known["highest_tile"],
        engine=None if original.said.get("is_unnamed") else known["engine"],
    )
    return a2run2.encode(rows, int(known["final_board"], 16), about)


def _a2run(rows: Rows, known: dict[str, Any], original: Original) -> bytes:
    return a2run.encode(rows, int(known["final_board"], 16), known, _elapsed(known, original))


def _dat(rows: Rows, known: dict[str, Any], original: Original) -> bytes:
    is_bare = original.steps("without", len(rows))
    values = np.rint(rows["ev_values"] * np.float64(dat.MOST_VALUE)).astype("<u2")
    values[is_bare] = 0
    if original.values:
        values += np.frombuffer(original.values, "<u2").reshape(-1, 4)
    mask: NDArray[np.uint8] = np.where(is_bare, 0, rows["ev_legal"]).astype(np.uint8)
    return dat.encode(rows, mask, values, known, _elapsed(known, original))


def _elapsed(known: dict[str, Any], original: Original) -> bytes:
    """Return how long a game took, as the four bytes of the file."""
    if known["elapsed_s"] is None:
        return int(original.said.get("elapsed", _NAN)).to_bytes(4, "little")
    return struct.pack("<f", known["elapsed_s"])


_NAN = int.from_bytes(struct.pack("<f", math.nan), "little")
_WRITERS = {".a2run2": _a2run2, ".a2run": _a2run, ".dat": _dat}
