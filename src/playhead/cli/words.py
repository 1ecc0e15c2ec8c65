"""Numbers and times as people read them."""

from __future__ import annotations

import math
import re
from typing import Any

from playhead import clock, strictjson, wording

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")

counted = wording.counted


def number(value: float | None, digits: int = 5) -> str:
    """Give a number with a few significant digits; None as nothing."""
    if value is None:
        return ""
    if isinstance(value, int) or (math.isfinite(value) and value == int(value) and abs(value) < 10**digits):
        return str(int(value))
    return f"{value:.{digits}g}"


def duration(seconds: float | None) -> str:
    """Give a stretch of time in its two largest units."""
    if seconds is None:
        return ""
    if seconds < 10:
        return f"{seconds:.1f}s"
    if not math.isfinite(seconds):
        return ""
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole}s"
    if whole < _HOUR:
        return f"{whole // _MINUTE}m{whole % _MINUTE:02}s"
    if whole < _DAY:
        return f"{whole // _HOUR}h{whole % _HOUR // _MINUTE:02}m"
    return f"{whole // _DAY}d{whole % _DAY // _HOUR:02}h"


def moment(seconds: float | None) -> str:
    """Give a time of the clock, in the local zone; one that no calendar has, as the number of seconds."""
    if seconds is None:
        return ""
    try:
        return f"{clock.local(int(seconds * clock.SECOND)):%Y-%m-%d %H:%M:%S}"
    except (ValueError, OverflowError, OSError):  # beyond the year 9999, or no number at all
        return f"{seconds:.6g} s"


def age(seconds: float | None) -> str:
    """Say how long ago a moment was; one that is long ago by its date."""
    if seconds is None:
        return ""
    passed = clock.now() - seconds
    if passed < _MINUTE:
        return "just now"
    if passed < _HOUR:
        return f"{int(passed // _MINUTE)} min ago"
    if passed < _DAY:
        return f"{int(passed // _HOUR)} h ago"
    if passed < 7 * _DAY:
        return f"{int(passed // _DAY)} d ago"
    return moment(seconds).partition(" ")[0]


def size(count: int) -> str:
    """Give a number of bytes in a unit that fits."""
    amount, unit = float(count), 0
    while amount >= 1000 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1000, unit + 1
    return f"{count} B" if unit == 0 else f"{amount:.1f} {_UNITS[unit]}"


def value(thing: Any, digits: int = 6) -> str:
    """Give a config value on one line: text as it is, lists and mappings as JSON."""
    if isinstance(thing, str):
        return one_line(thing)
    if isinstance(thing, bool) or thing is None:
        return {True: "true", False: "false", None: "null"}[thing]
    if isinstance(thing, (int, float)):
        return number(thing, digits)
    return one_line(strictjson.encode(strictjson.plain(thing)).decode())


def one_line(text: str) -> str:
    """Make every character visible, so that no text of a run moves the cursor or paints the terminal."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def visible(text: str) -> str:
    """Do the same with a text of several lines, which keeps its line ends and tabs."""
    return re.sub(r"[^\t\n]+", lambda part: one_line(part[0]), text)
