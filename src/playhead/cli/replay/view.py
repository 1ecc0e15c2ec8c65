"""What is on the screen while an episode is played: the picture, and below it a bar and the figures."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from playhead.cli.output import text_width
from playhead.cli.replay import cells
from playhead.cli.replay.cells import Codes
from playhead.cli.replay.playback import Playback
from playhead.cli.replay.terminal import Terminal
from playhead.export.film import Script
from playhead.export.film.figures import BAD, FAINT, GOOD, PLAIN, Figure

HELP = "space pause  ←→ step  ↑↓ speed  0-9 seek  home end  l loop  s save  q quit"

_BAND = 3  # rows of figures: the bar, what it is, the numbers
_LEAST = 8  # rows of a window that has room for all of them
_BOLD, _DIM, _REVERSE, _BADGE = "1", "2", "7", "30;43"
_TONES = {PLAIN: "", FAINT: _DIM, GOOD: "32", BAD: "31"}
_COLOURS = (_BADGE, "31", "32", "34")


class Piece(NamedTuple):
    """A text in one look."""

    text: str
    look: str = ""


class View:
    """Draws on a terminal, each time only what has changed.

    Args:
        terminal: The terminal.
        script: What is shown.
        depth: How many colours there are.
    """

    def __init__(self, terminal: Terminal, script: Script, depth: str) -> None:
        self._terminal = terminal
        self._script = script
        self._depth = depth
        self._size = (0, 0)
        self._codes: Codes | None = None
        self._lines: dict[int, str] = {}
        self._scene = -1
        self._widths: dict[str, int] = {}
        for figure in (figure for figures in script.samples() for figure in figures):
            self._widths[figure.label] = max(self._widths.get(figure.label, 0), text_width(figure.text))

    def forget(self) -> None:
        """Draw everything next time: somebody else has used the screen."""
        self._size = (0, 0)

    def draw(self, playback: Playback, message: str) -> None:
        """Show a scene.

        Args:
            playback: Where the player is.
            message: A line instead of what the episode is.
        """
        size = self._terminal.size()
        if size != self._size:
            self._size = size
            self._codes, self._lines, self._scene = None, {}, -1
            self._terminal.clear()
        rows, columns = size
        band = _BAND if rows >= _LEAST else min(1, rows - 1)
        text = ""
        if playback.scene != self._scene:
            text += self._draw_picture(playback.scene, rows - band, columns)
        lines = self._band(playback, message, columns)[_BAND - band :]
        for row, line in zip(range(rows - band, rows), lines, strict=True):
            if self._lines.get(row) != line:
                self._lines[row] = line
                text += f"\x1b[{row + 1};1H{line}\x1b[0m\x1b[K"
        self._scene = playback.scene
        self._terminal.write(text)

    def _draw_picture(self, scene: int, rows: int, columns: int) -> str:
        picture = self._script.picture(scene)
        tall, wide = cells.fitted(picture.shape, rows, columns)
        codes = cells.encoded(picture, tall, wide, self._depth)
        text = cells.changes(codes, self._codes, (rows - tall) // 2, (columns - wide) // 2, self._depth)
        self._codes = codes
        return text

    def _band(self, playback: Playback, message: str, columns: int) -> list[str]:
        scene = playback.scene
        played = round(columns * playback.share)
        bar = [Piece("━" * played, "34"), Piece("─" * (columns - played), _DIM)]
        title = Piece(message) if message else Piece(self._script.title, _BOLD)
        ending, remark = self._script.ending(scene), self._script.remark(scene)
        badge = Piece(f" {ending} ", _BADGE if self._depth != cells.PLAIN else _REVERSE)
        figures = self._figures(scene, columns - 4 - text_width(badge.text if ending else ""))
        return [
            self._written(bar, columns),
            self._spread([title], Piece(self._state(playback), _DIM), columns, keeps_right=False),
            self._spread(figures, badge if ending else Piece(remark, _DIM), columns, keeps_right=bool(ending)),
        ]

    def _figures(self, scene: int, columns: int) -> list[Piece]:
        """Give the figures of a scene in their places; in a narrow window close together, or without the time."""
        figures = self._script.figures(scene)
        short = [figure for figure in figures if figure.label != "time"]
        ways = [pieces_of(figures, self._widths), pieces_of(figures, {}), pieces_of(short, {})]
        return next((way for way in ways if sum(text_width(piece.text) for piece in way) <= columns), ways[-1])

    def _state(self, playback: Playback) -> str:
        rate = "" if self._script.rate is None else f"{self._script.rate * playback.speed:.4g} fps"
        state = "end" if playback.is_over else "paused" if playback.is_paused else "playing"
        parts = [state, f"{playback.speed:g}x", rate, "loop" if playback.loops else "", "? help"]
        return "  ".join(part for part in parts if part)

    def _spread(self, left: list[Piece], right: Piece, columns: int, *, keeps_right: bool) -> str:
        """Write pieces at both ends of a line; without room for all, the left ones are cut or the right goes."""
        room = columns - 2 - text_width(right.text)
        used = sum(text_width(piece.text) for piece in left)
        if not right.text or (room < used + 2 and not keeps_right):
            return " " + self._written(left, columns - 2)
        used = min(used, max(0, room - 2))
        return f" {self._written(left, used)}{' ' * (room - used)}{self._written([right], columns)}"

    def _written(self, pieces: list[Piece], columns: int) -> str:
        """Write pieces with their looks, as far as there is room."""
        parts = []
        for piece in pieces:
            text = cut(piece.text, columns)
            columns -= text_width(text)
            has_look = piece.look and (self._depth != cells.PLAIN or piece.look not in _COLOURS)
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
        pieces += [Piece("  " if pieces else ""), Piece(f"{figure.label} ", _DIM), Piece(text, _TONES[figure.tone])]
    return pieces


def cut(text: str, columns: int) -> str:
    """Cut a text to a width, with an ellipsis where something is missing."""
    if text_width(text) <= columns:
        return text
    widths = np.cumsum([text_width(char) for char in text])
    kept = int(np.searchsorted(widths, columns - 1, "right"))
    return f"{text[:kept]}…" if columns > 0 else ""
