"""CSV of any values, which comes back as it was."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _csv import Writer

_END = "\r\n"


def csv_writer(file: TextIO) -> Writer:
    r"""Write CSV with lines that end in \n, and any value with a \r or \n in quotes.

    Python's writer quotes only what it ends lines with, and readers take a bare \r for the end of a line.

    Args:
        file: Where it goes; opened so that line ends stay as they are.
    """
    return csv.writer(_Lines(file), lineterminator=_END)


class _Lines:
    """Takes whole lines, and ends them otherwise."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, line: str) -> int:
        return self._file.write(line.removesuffix(_END) + "\n")
