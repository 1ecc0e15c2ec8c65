"""How pictures look: colours, sizes, and texts that fit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from playhead.errors import MissingExtra

DPI = 150
INK, SOFT, FAINT, HAIR, PANEL = "#1f2430", "#687082", "#a3aab8", "#e3e6ec", "#f7f8fa"
ALARM = "#c2342b"
LINES = ("#2a6fdb", "#e0701a", "#1e9b6e", "#c23b5a", "#7a58c9", "#b08900", "#16a0b8", "#6b7280")
BANDS = ("#d7e5fb", "#fbe2cf", "#d3efe3", "#f6d9e0", "#e4ddf7", "#f3ebc8", "#d2eef3", "#e5e7eb")

_HINTED = 1.04  # by which a text on pixels may be wider than its outlines
_FAMILY = "DejaVu Sans"  # which comes with Matplotlib, so that pictures look the same everywhere
_RC: dict[Any, Any] = {
    "font.family": _FAMILY,
    "text.usetex": False,
    "axes.unicode_minus": True,
    "axes.linewidth": 0.6,
    "path.simplify": True,
    "agg.path.chunksize": 20_000,
}


@contextmanager
def applied() -> Iterator[None]:
    """Draw in this style, whatever the user's own is.

    Raises:
        MissingExtra: Matplotlib is not installed.
    """
    try:
        import matplotlib
    except ImportError as error:
        raise MissingExtra("matplotlib", "plot") from error
    with matplotlib.rc_context(_RC):
        yield


def put(figure: Any, x: float, y: float, text: str, **looks: Any) -> Any:
    """Write a text as it is, at a place in inches from the lower left corner of the page."""
    width, height = figure.get_size_inches()
    return figure.text(x / width, y / height, drawable(text), parse_math=False, **looks)


def fitted(text: str, width: float, size: float, *, weight: str = "normal", middle: bool = False) -> str:
    """Cut a text to a width in inches, with an ellipsis where something is missing.

    Args:
        text: The text; made visible and put on one line.
        width: The room in inches.
        size: Of the font in points.
        weight: Of the font.
        middle: Leave out what is in the middle: names of signals often differ in their ends.
    """
    text = drawable(" ".join(text.split()))
    if width_of(text, size, weight=weight) <= width:
        return text
    low, high = 0, len(text)
    while low < high:
        kept = (low + high + 1) // 2
        if width_of(_cut(text, kept, middle), size, weight=weight) <= width:
            low = kept
        else:
            high = kept - 1
    return _cut(text, low, middle)


def _cut(text: str, kept: int, middle: bool) -> str:
    tail = kept // 2 if middle else 0
    return f"{text[: kept - tail].rstrip()}…{text[len(text) - tail :].lstrip()}"


def width_of(text: str, size: float, *, weight: str = "normal") -> float:
    """Measure a text in inches."""
    from matplotlib.textpath import text_to_path

    wide, _, _ = text_to_path.get_text_width_height_descent(text, _font(size, weight), False)
    return float(wide) / 72 * _HINTED


@lru_cache(maxsize=64)
def _font(size: float, weight: str) -> Any:
    from matplotlib.font_manager import FontProperties

    return FontProperties(family=_FAMILY, size=size, weight=weight)


def drawable(text: str) -> str:
    """Replace what the font has no picture of."""
    return text if text.isascii() and text.isprintable() else "".join(map(_drawable, text))


@lru_cache(maxsize=4096)
def _drawable(char: str) -> str:
    from matplotlib import font_manager

    font = font_manager.get_font(font_manager.findfont(_font(10, "normal")))
    return char if char.isprintable() and font.get_char_index(ord(char)) else "□"
