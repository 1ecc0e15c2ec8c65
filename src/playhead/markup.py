"""HTML for notebooks: small tables and curves that need no script and no file beside them."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

_MOST_TEXT = 120
_STYLE = "font-family: system-ui, sans-serif; font-size: 13px; line-height: 1.5"
_SOFT = "color: #777"
_CELL = "padding: 1px 14px 1px 0; text-align: left; vertical-align: top; background: none; border: none"


def text(value: Any) -> str:
    """Give a value as text that is safe within HTML, shortened where it is long."""
    found = f"{value:.6g}" if isinstance(value, float) else str(value)
    return escape(found if len(found) <= _MOST_TEXT else found[: _MOST_TEXT - 1] + "…")


def soft(value: Any) -> str:
    """Give a value as text that stands back."""
    return f'<span style="{_SOFT}">{text(value)}</span>'


def block(title: str, *parts: str) -> str:
    """Put parts under a title; the title is text, the parts are HTML."""
    return f'<div style="{_STYLE}"><b>{text(title)}</b>{"".join(parts)}</div>'


def line(*parts: str) -> str:
    """Put HTML on a line of its own."""
    return f"<div>{' &nbsp; '.join(part for part in parts if part)}</div>"


def table(rows: Iterable[Sequence[str]]) -> str:
    """Make a table of cells that are HTML."""
    lines = "".join("<tr>" + "".join(f'<td style="{_CELL}">{cell}</td>' for cell in row) + "</tr>" for row in rows)
    return f'<table style="border: none; margin: 4px 0">{lines}</table>' if lines else ""


def facts(values: Mapping[str, Any], *, most: int = 12) -> str:
    """Make a table of names and values."""
    shown = list(values.items())[:most]
    more = [["", soft(f"and {len(values) - most} more")]] if len(values) > most else []
    return table([*([soft(name), text(value)] for name, value in shown), *more])


def curve(values: Sequence[float | None], *, width: int = 120, height: int = 22) -> str:
    """Draw a curve; what is None or not finite is a gap."""
    numbers = [value for value in values if value is not None and math.isfinite(value)]
    if len(numbers) < 2:
        return ""
    low, high = min(numbers), max(numbers)
    scale = (height - 4) / ((high - low) or 1.0)
    pen, path = "M", []
    for place, value in enumerate(values):
        if value is None or not math.isfinite(value):
            pen = "M"
            continue
        across = place * (width - 2) / max(1, len(values) - 1) + 1
        path.append(f"{pen}{across:.1f} {height - 2 - (value - low) * scale:.1f}")
        pen = "L"
    drawn = f'<path d="{" ".join(path)}" fill="none" stroke="#d9480f" stroke-width="1.2"/>'
    return f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">{drawn}</svg>'


def picture(pixels: Any, *, height: int = 96, label: str = "") -> str:
    """Show an array of bytes, height × width (× 3 or 4)."""
    import PIL.Image

    file = io.BytesIO()
    PIL.Image.fromarray(pixels).save(file, "PNG", compress_level=1)
    data = base64.b64encode(file.getvalue()).decode()
    style = f"height: {height}px; image-rendering: pixelated; margin: 4px 0"
    return f'<img alt="{text(label)}" style="{style}" src="data:image/png;base64,{data}">'
