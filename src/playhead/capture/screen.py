"""The last rows of an endless terminal, as far as a progress bar can draw over them.

Only movements that programs use to redraw lines are followed. A character that is two columns wide takes two cells, the
second of them empty, so that what is drawn over it later lands in the right place.
"""

from __future__ import annotations

import re
import unicodedata
from collections import deque
from collections.abc import Callable

HEIGHT = 64
"""Rows that can be drawn over."""

LINE_LIMIT = 65536
"""Longest row in characters; what is longer is given out in pieces."""

_LINES_AFTER_DRAWING = 3  # so many writes of new lines without a move upwards, and nothing is being redrawn any more
_TOKEN = re.compile(
    r"(?P<text>[^\x00-\x08\x0a-\x1f\x7f-\x9f]+)"
    r"|(?P<cursor>\x1b\[[0-?]*[ -/]*[@-~])"
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # titles and links
    r"|\x1b[PX^_][^\x1b]*\x1b\\"  # strings for the terminal itself
    r"|\x1b[ -/]*[0-~]"
    r"|(?P<control>[\x00-\x1f\x7f-\x9f])"
)
_COUNT = re.compile(r"\x1b\[(\d{0,6})")
_SHOW_CURSOR = "\x1b[?25h"


class _Row:
    __slots__ = ("cells", "given")

    def __init__(self, text: str = "", given: str | None = None) -> None:
        self.cells = _cells(text)
        self.given = given  # what was given out for this row before the cursor came back to it

    @property
    def text(self) -> str:
        return "".join(self.cells).rstrip(" ")


class Screen:
    """Rows that may still change, and the cursor in them.

    Args:
        line: What stands in the row of the cursor, up to the cursor.
        above: The lines that were given out before, newest last; rows go there when they are final and come back when
            the cursor moves up to them.
    """

    def __init__(self, line: str, above: deque[str]) -> None:
        self._above = above
        self._rows = [_Row(line)]
        self._row = 0
        self._column = len(self._rows[0].cells)
        self._reach = 0  # how far up the program draws, counted from the last row
        self._has_new_row = False
        self._writes_since_move_up = 0
        self._drawing_ends = False
        self._final: list[str] = []

    def draw(self, text: str) -> list[str]:
        """Follow the text and give the lines that are final by it."""
        for token in _TOKEN.finditer(text):
            if token.lastgroup == "text":
                self._put(token[0])
            elif token.lastgroup == "control":
                self._control(token[0])
            elif token.lastgroup == "cursor":
                self._cursor(token[0])
        self._drop_blank_end()
        self._writes_since_move_up += self._has_new_row
        if self._drawing_ends or self._writes_since_move_up >= _LINES_AFTER_DRAWING:
            self._reach = 0
        self._has_new_row = self._drawing_ends = False
        self._settle()
        return self._take_final()

    def finish(self) -> list[str]:
        """Give every row that is still open."""
        self._row = 0
        self._drop_blank_end()
        if len(self._rows) == 1 and not self._rows[0].text:
            self._rows.clear()
        for row in self._rows:
            self._give(row)
        return self._take_final()

    @property
    def plain_line(self) -> str | None:
        """The text of the only row, if all that can follow is more text after it; else None."""
        row = self._rows[0]
        if len(self._rows) > 1 or self._reach or row.given is not None or self._column != len(row.cells):
            return None
        return None if row.cells and row.cells[-1] == " " else "".join(row.cells)

    def _put(self, text: str) -> None:
        row, cells = self._rows[self._row].cells, _cells(text)
        if self._column > len(row):
            row.extend(" " * (self._column - len(row)))
        _part(row, self._column)
        _part(row, self._column + len(cells))
        row[self._column : self._column + len(cells)] = cells
        self._column += len(cells)
        if len(row) > LINE_LIMIT:
            self._final.append("".join(row))
            row.clear()
            self._column = 0

    def _control(self, character: str) -> None:
        if character == "\n":
            self._next_row(1)
        elif character == "\r":
            self._column = 0
        elif character == "\b":
            self._column = max(0, self._column - 1)

    def _cursor(self, sequence: str) -> None:
        if sequence == _SHOW_CURSOR:
            # Redrawing programs hide the cursor and show it when they are done, but may clear their rows in the same
            # breath: so this takes effect at the end of the text.
            self._drawing_ends = True
        elif (action := _ACTIONS.get(sequence[-1])) and (count := _COUNT.match(sequence)):
            action(self, int(count[1]) if count[1] else None)

    def _next_row(self, count: int | None) -> None:
        self._column = 0
        for _ in range(min(count or 1, HEIGHT)):
            self._row += 1
            if self._row == len(self._rows):
                self._rows.append(_Row())
                self._has_new_row = True
            self._settle()

    def _up(self, count: int | None) -> None:
        self._row -= count or 1
        while self._row < 0 and self._above:
            line = self._above.pop()
            self._rows.insert(0, _Row(line, given=line.rstrip(" ")))
            self._row += 1
        self._row = max(0, self._row)
        self._reach = max(self._reach, len(self._rows) - 1 - self._row)
        self._writes_since_move_up = 0
        self._has_new_row = False

    def _up_to_start(self, count: int | None) -> None:
        self._up(count)
        self._column = 0

    def _down(self, count: int | None) -> None:
        self._row = min(self._row + (count or 1), len(self._rows) - 1)

    def _right(self, count: int | None) -> None:
        self._column = min(self._column + (count or 1), LINE_LIMIT - 1)

    def _left(self, count: int | None) -> None:
        self._column = max(0, self._column - (count or 1))

    def _to_column(self, count: int | None) -> None:
        self._column = min((count or 1) - 1, LINE_LIMIT - 1)

    def _erase_in_row(self, which: int | None) -> None:
        row = self._rows[self._row].cells
        _part(row, self._column + (which == 1))
        if which == 1:
            row[: self._column + 1] = " " * min(self._column + 1, len(row))
        else:
            del row[0 if which == 2 else self._column :]

    def _erase_below(self, which: int | None) -> None:
        if which:
            self._start_anew(None)
            return
        self._erase_in_row(0)
        for row in self._rows[self._row + 1 :]:
            row.cells.clear()

    def _start_anew(self, _count: int | None) -> None:
        self._final = self.finish()
        self._rows = [_Row()]
        self._row = self._column = self._reach = 0

    def _settle(self) -> None:
        while self._row > 0 and len(self._rows) - 1 > min(self._reach, HEIGHT):
            self._give(self._rows.pop(0))
            self._row -= 1

    def _give(self, row: _Row) -> None:
        text = row.text
        if row.given is None or text not in ("", row.given):
            self._final.append(text)
        self._above.append(text)

    def _drop_blank_end(self) -> None:
        while len(self._rows) - 1 > self._row and not self._rows[-1].text:
            self._rows.pop()

    def _take_final(self) -> list[str]:
        final, self._final = self._final, []
        return final


_ACTIONS: dict[str, Callable[[Screen, int | None], None]] = {
    "A": Screen._up,
    "B": Screen._down,
    "C": Screen._right,
    "D": Screen._left,
    "E": Screen._next_row,
    "F": Screen._up_to_start,
    "G": Screen._to_column,
    "H": Screen._start_anew,
    "J": Screen._erase_below,
    "K": Screen._erase_in_row,
    "f": Screen._start_anew,
}


def _part(row: list[str], column: int) -> None:
    """Blank a wide character that lies on both sides of the column: half of one cannot stay."""
    if 0 < column < len(row) and row[column] == "":
        row[column - 1 : column + 1] = "  "


def _cells(text: str) -> list[str]:
    if text.isascii():
        return list(text)
    cells: list[str] = []
    for character in text:
        if unicodedata.combining(character) and cells:
            cells[-1] += character
        elif unicodedata.east_asian_width(character) in "WF":
            cells += (character, "")
        else:
            cells.append(character)
    return cells
