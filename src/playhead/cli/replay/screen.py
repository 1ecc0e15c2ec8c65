"""A picture and lines of text below it, drawn on a terminal: each time only what has changed."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from playhead.cli.output import text_width
from playhead.cli.replay import cells
from playhead.cli.replay.cells import Codes
from playhead.cli.replay.terminal import Terminal
from playhead.export.film.figures import BAD, FAINT, GOOD, PLAIN, Figure

BOLD, DIM, REVERSE, BADGE = "1", "2", "7", "30;43"

_LEAST = 8  # rows of a window that has room for all lines
_TONES = {PLAIN: "", FAINT: DIM, GOOD: "32", BAD: "31"}
_COLOURS = (BADGE, "31", "32", "34")


class Piece(NamedTuple):
    """A text in one look."""

    text: str
    look: str = ""


class Screen:
    """Draws on a terminal.

    Args:
        terminal: The terminal.
        depth: How many colours there are.
    """

    def __init__(self, terminal: Terminal, depth: str) -> None:
        self._terminal = terminal
        self.depth = depth
        self._size = (0, 0)
        self._place = (0, 0, 0, 0)
        self._codes: Codes | None = None
        self._lines: dict[int, str] = {}
        self._shown: Hashable = None

    def forget(self) -> None:
        """Draw everything next time: somebody else has used the screen."""
        self._size = (0, 0)

    def draw(self, key: Hashable, picture: Callable[[], NDArray[np.uint8]], band: Callable[[int], list[str]]) -> None:
        """Show a picture and lines.

        Args:
            key: Tells this picture from others; not None.
            picture: Gives it: height, width and three colours. Asked only where it is another one.
            band: Gives the lines for a window of so many columns; a low window shows the last of them.
        """
        size = self._terminal.size()
        if size != self._size:
            self._size = size
            self._codes, self._lines, self._shown = None, {}, None
            self._terminal.clear()
        rows, columns = size
        lines = band(columns)
        kept = len(lines) if rows >= _LEAST else min(1, rows - 1)
        text = ""
        if key != self._shown:
            text += self._draw_picture(picture(), rows - kept, columns)
        for row, line in zip(range(rows - kept, rows), lines[len(lines) - kept :], strict=True):
            if self._lines.get(row) != line:
                self._lines[row] = line
                text += f"\x1b[{row + 1};1H{line}\x1b[0m\x1b[K"
        self._shown = key
        self._terminal.write(text)

    def _draw_picture(self, picture: NDArray[np.uint8], rows: int, columns: int) -> str:
        tall, wide = cells.fitted(picture.shape, rows, columns)
        place = (rows - tall) // 2, (columns - wide) // 2, tall, wide
        codes = cells.encoded(picture, tall, wide, self.depth)
        text = ""
        if self._codes is not None and place != self._place:  # a picture of another form: the old one may stick out
            top, _, height, _ = self._place
            text = "\x1b[0m" + "".join(f"\x1b[{row + 1};1H\x1b[2K" for row in range(top, top + height))
            self._codes = None
        text += cells.changes(codes, self._codes, place[0], place[1], self.depth)
        self._codes, self._place = codes, place
        return text

    def spread(self, left: list[Piece], right: Piece, columns: int, *, keeps_right: bool) -> str:
        """Write pieces at both ends of a line; without room for all, the left ones are cut or the right goes."""
        room = columns - 2 - text_width(right.text)
        used = sum(text_width(piece.text) for piece in left)
        if not right.text or (room < used + 2 and not keeps_right):
            return " " + self.written(left, columns - 2)
        used = min(used, max(0, room - 2))
        return f" {self.written(left, used)}{' ' * (room - used)}{self.written([right], columns)}"

    def written(self, pieces: list[Piece], columns: int) -> str:
        """Write pieces with their looks, as far as there is room."""
        parts = []
        for piece in pieces:
            text = cut(piece.text, columns)
            columns -= text_width(text)
            has_look = piece.look and (self.depth != cells.PLAIN or piece.look not in _COLOURS)
            parts.append(f"\x1b[{piece.look}m{text}\x1b[0m" if has_look and text else text)
        return "".join(parts)


def pieces_of(figures: list[Figure], widths: dict[str, int]) -> list[Piece]:
    """Give figures as a row of labels and values.

    Args:
        figures: The figures.
        widths: How wide the texts of each label become, so that they stay in their places.
    """
    pieces: list[Piece] = []
    for figure in figures:
        text = figure.text + " " * (widths.get(figure.label, 0) - text_width(figure.text))
        pieces += [Piece("  " if pieces else ""), Piece(f"{figure.label} ", DIM), Piece(text, _TONES[figure.tone])]
    return pieces


def cut(text: str, columns: int) -> str:
    """Cut a text to a width, with an ellipsis where something is missing."""
    if text_width(text) <= columns:
        return text
    widths = np.cumsum([text_width(char) for char in text])
    kept = int(np.searchsorted(widths, columns - 1, "right"))
    return f"{text[:kept]}…" if columns > 0 else ""
