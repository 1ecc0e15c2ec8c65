"""The text log of a run: all of it, or its end, without reading a large one whole."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playhead import disk

_BLOCK = 1 << 16


def last_lines(path: Path, count: int) -> list[str]:
    """Give the last lines of a log; none where there is no log."""
    try:
        with open(disk.open_to_read(path), "rb") as file:
            position = file.seek(0, 2)
            tail = b""
            while position and tail.count(b"\n") <= count:
                start = max(0, position - _BLOCK)
                file.seek(start)
                tail = file.read(position - start) + tail
                position = start
    except FileNotFoundError:
        return []
    return tail.decode("utf-8", errors="replace").splitlines()[-count:]


def print_all(path: Path) -> None:
    """Copy a log to stdout as it is."""
    try:
        with open(disk.open_to_read(path), "rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
    except FileNotFoundError:
        return
