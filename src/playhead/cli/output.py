"""How answers are printed: JSON for programs; for people tables, coloured by rich in a terminal and plain in a pipe."""

from __future__ import annotations

import shutil
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import click

from playhead import strictjson

_GAP = 2
_SHRUNK = 24  # cells are cut to this width before a whole column is left out


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
        title: What stands above it.
        right: Align to the right, as for numbers.
        shrinks: Its cells are cut where the terminal is too narrow.
        leaves: Where the terminal is too narrow, the column with the largest number here is left out first; one with 0
            always stays.
        style: How it looks in a terminal.
    """

    title: str
    right: bool = False
    shrinks: bool = False
    leaves: int = 0
    style: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """A text with a look of its own in a terminal."""

    text: str
    style: str = ""


def in_terminal() -> bool:
    """Tell whether a person reads what is printed."""
    return sys.stdout.isatty()


def print_json(value: Any) -> None:
    """Print a value as strict JSON: NaN and the infinities as strings."""
    click.echo(strictjson.encode(strictjson.plain(value), indent=True), nl=False)


def print_heading(text: str) -> None:
    """Print the title of a part."""
    click.echo()
    click.secho(text, bold=True)


def print_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Print names with their values, one a line; those without a value are left out."""
    shown = [(name, value) for name, value in facts if value]
    indent = max((text_width(name) for name, _ in shown), default=0)
    for name, value in shown:
        click.echo(f"  {click.style(_padded(name, indent), dim=True)}  {value}")


def print_table(columns: Sequence[Column], rows: Sequence[Sequence[str | Cell]], *, indent: int = 0) -> None:
    """Print rows under the titles of their columns.

    Args:
        columns: What they are.
        rows: One cell a column.
        indent: Spaces at the left.
    """
    cells = [[cell if isinstance(cell, Cell) else Cell(cell) for cell in row] for row in rows]
    if in_terminal():
        _print_rich(columns, cells, indent)
    else:
        _print_plain(columns, cells, indent)


def _print_plain(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], indent: int) -> None:
    lines = [[column.title for column in columns], *([cell.text for cell in row] for row in rows)]
    widths = [max(map(text_width, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        padded = (_padded(text, width, column.right) for text, width, column in zip(line, widths, columns, strict=True))
        click.echo((" " * indent + (" " * _GAP).join(padded)).rstrip())


def _print_rich(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], indent: int) -> None:
    from rich.console import Console
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    kept = _fitting(columns, rows, shutil.get_terminal_size().columns - indent)
    table = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False, header_style="dim")
    for place in kept:
        column = columns[place]
        side: Literal["left", "right"] = "right" if column.right else "left"
        table.add_column(column.title, justify=side, no_wrap=not column.shrinks, style=column.style)
    for row in rows:
        table.add_row(*(Text(row[place].text, row[place].style, no_wrap=True, overflow="ellipsis") for place in kept))
    Console(highlight=False).print(Padding(table, (0, 0, 0, indent)))


def _fitting(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], room: int) -> list[int]:
    """Choose the columns that a terminal has room for."""
    widths = [
        max([text_width(column.title), *(text_width(row[place].text) for row in rows)])
        for place, column in enumerate(columns)
    ]
    widths = [min(width, _SHRUNK) if column.shrinks else width for width, column in zip(widths, columns, strict=True)]
    kept = list(range(len(columns)))
    for place in sorted(kept, key=lambda place: -columns[place].leaves):
        if not columns[place].leaves or sum(widths[place] + _GAP for place in kept) - _GAP <= room:
            break
        kept.remove(place)
    return kept


def _padded(text: str, width: int, right: bool = False) -> str:
    space = " " * (width - text_width(text))
    return space + text if right else text + space


def text_width(text: str) -> int:
    """Count the places that a text takes in a terminal, where some characters take two and some none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )
