"""Turn what a program prints to a terminal into the lines that are left to read.

A progress bar draws a line many times: it returns to the start of the line, or moves the cursor up over several lines,
and draws again. Each line is given out once, in its last state; colours, titles and links leave no trace.

A line is final when the cursor goes below it, unless the program has moved upwards before: then as many lines stay open
as it moves up, until it stops doing so. A line that was given out and is drawn over later is given out again, if its
text has changed.
"""

from __future__ import annotations

import re
from collections import deque

from playhead.capture.screen import HEIGHT, LINE_LIMIT, Screen

_COLOUR = re.compile(r"\x1b\[[0-9;:]*m")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_UNFINISHED = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x1b]*\x1b?|[PX^_][^\x1b]*\x1b?|[ -/]*)\Z")
_UNFINISHED_LIMIT = 4096


class LineAssembler:
    """Collects the text written to one stream and gives out its lines. Not safe in threads."""

    def __init__(self) -> None:
        self._above: deque[str] = deque(maxlen=HEIGHT)
        self._partial: list[str] = []
        self._partial_length = 0
        self._screen: Screen | None = None
        self._unfinished = ""  # the beginning of a control sequence whose end was not written yet

    def feed(self, text: str) -> list[str]:
        """Take what was written and give the lines that are final by it, without their newlines."""
        if self._screen is None and not self._unfinished and (text == "\n" or text.isprintable()):
            return self._append(text)  # a plain print, the text and then its end: worth the shortest way
        if self._unfinished:
            text = self._unfinished + text
            self._unfinished = ""
        if "\x1b" in text:
            text = _COLOUR.sub("", text)
        if self._screen is None and not _CONTROL.search(text):
            return self._append(text)
        return self._draw(text)

    def finish(self) -> list[str]:
        """Give the lines that are still open; one that was begun counts if there is more in it than blanks."""
        if self._screen is not None:
            lines = _in_pieces(self._screen.finish())
        else:
            partial = "".join(self._partial)
            lines = [partial] if partial.strip(" ") else []
        self._screen = None
        self._hold("")
        return lines

    def _append(self, text: str) -> list[str]:
        self._partial.append(text)
        self._partial_length += len(text)
        if "\n" not in text and self._partial_length <= LINE_LIMIT:
            return []
        lines = "".join(self._partial).split("\n")
        if self._partial_length > LINE_LIMIT:
            lines = _in_pieces(lines)
        self._hold(lines.pop())
        self._above.extend(lines[-HEIGHT:])
        return lines

    def _draw(self, text: str) -> list[str]:
        unfinished = _UNFINISHED.search(text)
        if unfinished and len(unfinished[0]) <= _UNFINISHED_LIMIT:
            self._unfinished = unfinished[0]
            text = text[: unfinished.start()]
        screen = self._screen or Screen("".join(self._partial), self._above)
        lines = _in_pieces(screen.draw(text))
        plain = screen.plain_line
        self._screen = screen if plain is None else None
        self._hold(plain or "")
        return lines

    def _hold(self, partial: str) -> None:
        self._partial = [partial]
        self._partial_length = len(partial)


def _in_pieces(lines: list[str]) -> list[str]:
    return [line[start : start + LINE_LIMIT] for line in lines for start in range(0, max(1, len(line)), LINE_LIMIT)]
