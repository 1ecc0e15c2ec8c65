"""The text log of a run: all of it, or its end, without reading a large one whole."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import click

from playhead import disk
from playhead.cli import output, words

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
    """Print a log: in a terminal every character visible, else as it is, byte for byte."""
    try:
        with open(disk.open_to_read(path), "rb") as file:
            if not output.in_terminal():
                shutil.copyfileobj(file, sys.stdout.buffer)
                return
            for line in file:
                click.echo(words.visible(line.decode("utf-8", errors="replace").rstrip("\r\n")))
    except FileNotFoundError:
        return
