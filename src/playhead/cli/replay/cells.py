"""Pictures as cells of a terminal: two pixels a cell in colour, else a letter for each brightness."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int32]

TRUE, INDEXED, PLAIN = "24-bit", "256", "none"

_TRUE_COLOUR = ("truecolor", "24bit")
_LEVELS = np.array([0, 95, 135, 175, 215, 255], np.int32)  # of red, green and blue in the 256 colours
_GREYS = np.arange(8, 248, 10, dtype=np.int32)
_LETTERS = np.array(list(" .:-=+*#%@"))
_RESET = "\x1b[0m"


def depth_of(variables: Mapping[str, str]) -> str:
    """Tell how many colours a terminal has, by the variables that describe it.

    Args:
        variables: Those of the process.
    """
    kind = variables.get("TERM", "")
    if variables.get("NO_COLOR") or kind in ("", "dumb"):
        return PLAIN
    if variables.get("COLORTERM", "").lower() in _TRUE_COLOUR or kind.endswith("-direct"):
        return TRUE
    return INDEXED if "256" in kind else PLAIN


def fitted(shape: tuple[int, ...], rows: int, columns: int) -> tuple[int, int]:
    """Give the rows and columns of cells that a picture takes in a window, its aspect kept.

    Args:
        shape: Height and width of the picture.
        rows: Of the window.
        columns: Of the window; a cell is half as wide as it is high.
    """
    height, width = shape[:2]
    scale = min(columns / width, 2 * rows / height)
    return max(1, min(rows, round(height * scale / 2))), max(1, min(columns, round(width * scale)))


def encoded(picture: NDArray[np.uint8], rows: int, columns: int, depth: str) -> Codes:
    """Give a picture as codes, two for each cell: the colours of its upper and its lower half.

    Args:
        picture: Height, width and three colours.
        rows: Of cells.
        columns: Of cells.
        depth: How many colours there are.
    """
    from PIL import Image

    tall = rows if depth == PLAIN else 2 * rows
    image = Image.fromarray(picture)
    # The mean of all pixels below a cell: a ball of two pixels must not come and go.
    small = np.asarray(image.resize((columns, tall), Image.Resampling.BOX), np.int32)
    if depth == PLAIN:
        letters: Codes = small @ np.array([299, 587, 114], np.int32) // 1000 * len(_LETTERS) // 256
        return np.repeat(letters[..., None], 2, axis=-1)
    codes: Codes = small @ np.array([1 << 16, 1 << 8, 1], np.int32) if depth == TRUE else _indexed(small)
    return np.stack([codes[0::2], codes[1::2]], axis=-1)


def _indexed(colours: Codes) -> Codes:
    """Give the nearest of the 240 colours that are alike in all terminals: a cube and a row of greys."""
    cube = np.abs(colours[..., None] - _LEVELS).argmin(axis=-1)
    of_cube = np.square(_LEVELS[cube] - colours).sum(axis=-1)
    grey = np.clip((colours.mean(axis=-1) - 3) // 10, 0, len(_GREYS) - 1).astype(np.int32)
    of_grey = np.square(_GREYS[grey][..., None] - colours).sum(axis=-1)
    codes = 16 + 36 * cube[..., 0] + 6 * cube[..., 1] + cube[..., 2]
    nearest: Codes = np.where(of_grey < of_cube, 232 + grey, codes).astype(np.int32)
    return nearest


def lines(codes: Codes, depth: str) -> list[str]:
    """Write codes as lines of text."""
    if depth == PLAIN:
        return ["".join(_LETTERS[row]).rstrip() for row in codes[..., 0]]
    return ["".join(_runs(row, np.ones(len(row), np.bool_), depth, None)) + _RESET for row in codes]


def changes(codes: Codes, before: Codes | None, top: int, left: int, depth: str) -> str:
    """Write what brings a screen from one picture to the next: only cells that differ.

    Args:
        codes: What is to be seen.
        before: What is; None where that is not known.
        top: The row of the first cell, from 0.
        left: Its column, from 0.
        depth: How many colours there are.
    """
    differ = np.ones(codes.shape[:2], np.bool_) if before is None else (codes != before).any(axis=-1)
    parts: list[str] = []
    for row in np.flatnonzero(differ.any(axis=1)).tolist():
        parts += _runs(codes[row], differ[row], depth, (top + row, left))
    if parts and depth != PLAIN:
        parts.append(_RESET)
    return "".join(parts)


def _runs(row: Codes, wanted: NDArray[np.bool_], depth: str, place: tuple[int, int] | None) -> list[str]:
    """Write the wanted cells of a row, neighbours of the same colours together."""
    starts = np.ones(len(row), np.bool_)
    starts[1:] = (row[1:] != row[:-1]).any(axis=-1) | (wanted[1:] != wanted[:-1])
    begins = np.flatnonzero(starts)
    ends = np.append(begins[1:], len(row))
    parts = []
    at = -1
    for begin, end, (upper, lower), is_wanted in zip(
        begins.tolist(), ends.tolist(), row[begins].tolist(), wanted[begins].tolist(), strict=True
    ):
        if not is_wanted:
            continue
        if place is not None and begin != at:
            parts.append(f"\x1b[{place[0] + 1};{place[1] + begin + 1}H")
        parts.append(_cells(upper, lower, end - begin, depth))
        at = end
    return parts


def _cells(upper: int, lower: int, count: int, depth: str) -> str:
    if depth == PLAIN:
        return str(_LETTERS[upper]) * count
    if upper == lower:
        return f"\x1b[{_colour(48, lower, depth)}m{' ' * count}"
    return f"\x1b[{_colour(38, upper, depth)};{_colour(48, lower, depth)}m{'▀' * count}"


def _colour(kind: int, code: int, depth: str) -> str:
    if depth == TRUE:
        return f"{kind};2;{code >> 16};{code >> 8 & 255};{code & 255}"
    return f"{kind};5;{code}"
