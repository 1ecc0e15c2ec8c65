"""Values of JSON that somebody else may have written, checked to be what they are said to be.

Each gives the value, or raises `TypeError` with words; whoever reads a file says which one it was.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

LARGEST = (1 << 63) - 1  # what the catalogue can hold
LAST_VERSION = 9_999_999_999  # the digits that the name of a folder has
_LAST_MOMENT = 250_000_000_000.0  # seconds; the calendar ends a little later
_LARGEST_FLOAT = sys.float_info.max
_DIGEST = re.compile(r"(?:sha256:)?[0-9a-f]{64}")

T = TypeVar("T")


def text(value: Any) -> str:
    """Check a text; one with half a character of two cannot be stored."""
    if not isinstance(value, str) or not (value.isascii() or value.isprintable() or _is_unicode(value)):
        raise _wrong("a text", value)
    return value


def _is_unicode(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def whole(value: Any, most: int = LARGEST) -> int:
    """Check a number of things."""
    if type(value) is not int or not 0 <= value <= most:
        raise _wrong("a whole number", value)
    return value


def version(value: Any) -> int:
    """Check the number of a version."""
    if whole(value, LAST_VERSION) == 0:
        raise _wrong("the number of a version", value)
    return int(value)


def moment(value: Any) -> float:
    """Check seconds since 1970."""
    if type(value) not in (int, float) or not 0 <= value < _LAST_MOMENT:
        raise _wrong("seconds since 1970", value)
    return float(value)


def number(value: Any) -> float:
    """Check a number of any kind."""
    if type(value) not in (int, float):
        raise _wrong("a number", value)
    return float(max(-_LARGEST_FLOAT, min(value, _LARGEST_FLOAT)))


def digest(value: Any) -> str:
    """Check a SHA-256."""
    if not isinstance(value, str) or not _DIGEST.fullmatch(value):
        raise _wrong("a SHA-256 as 64 hexadecimal digits", value)
    return value


def texts(value: Any) -> tuple[str, ...]:
    """Check a list of texts; null is an empty one."""
    if value is not None and not isinstance(value, list):
        raise _wrong("a list of texts", value)
    return tuple(map(text, value or ()))


def mapping(value: Any) -> Mapping[str, Any]:
    """Check an object; null is an empty one."""
    if value is not None and not isinstance(value, dict):
        raise _wrong("an object", value)
    return value or {}


def maybe(check: Callable[[Any], T]) -> Callable[[Any], T | None]:
    """Let a value also be null."""
    return lambda value: None if value is None else check(value)


def _wrong(expected: str, value: Any) -> TypeError:
    said = repr(value)
    return TypeError(f"expected {expected}, found {said if len(said) < 60 else said[:60] + '…'}")
