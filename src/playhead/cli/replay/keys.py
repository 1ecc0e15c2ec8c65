"""What the keys of a terminal send, as names."""

from __future__ import annotations

import re

LEFT, RIGHT, UP, DOWN, HOME, END = "left", "right", "up", "down", "home", "end"

# Letters end the sequences of arrows, in both of the modes that terminals have; numbers stand for the others.
_BY_LETTER = {"A": UP, "B": DOWN, "C": RIGHT, "D": LEFT, "H": HOME, "F": END}
_BY_NUMBER = {"1": HOME, "7": HOME, "4": END, "8": END}

_SEQUENCE = re.compile(r"\x1b(?:\[(?P<arguments>[0-9;?]*)[ -/]*(?P<end>[@-~])|O(?P<letter>[A-Za-z]))")
_UNFINISHED = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*|O)?\Z")


class Decoder:
    """Turns bytes from a terminal into keys. A sequence may come in two parts."""

    def __init__(self) -> None:
        self._rest = ""

    def feed(self, data: bytes) -> list[str]:
        """Give the keys that bytes stand for: their names, or the character itself."""
        text = self._rest + data.decode("utf-8", "ignore")
        unfinished = _UNFINISHED.search(text)
        self._rest = unfinished[0] if unfinished else ""
        text = text[: unfinished.start()] if unfinished else text
        found = []
        position = 0
        while position < len(text):
            sequence = _SEQUENCE.match(text, position)
            key = _name(sequence) if sequence else text[position]
            position = sequence.end() if sequence else position + 1
            if key is not None and key != "\x1b":  # the key itself means nothing here
                found.append(key)
        return found


def _name(sequence: re.Match[str]) -> str | None:
    end = sequence["letter"] or sequence["end"]
    if end == "~":
        return _BY_NUMBER.get(sequence["arguments"].partition(";")[0])
    return _BY_LETTER.get(end)
