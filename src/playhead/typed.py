"""Values of JSON that anybody may have written, checked to be what they should be.

Each check returns the value, or raises `Misfit` with words. A `Shape` names the check of each known field of a kind of
file; the reader of that kind applies it with `fit`, keeps what fits, and reports the rest with the name of the file.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

LARGEST = (1 << 63) - 1  # what the catalogue can hold
LAST_VERSION = 9_999_999_999  # the digits that the name of a folder has
_LAST_MOMENT = 250_000_000_000.0  # seconds; the calendar ends a little later
_LARGEST_FLOAT = sys.float_info.max
_DIGEST = re.compile(r"(?:sha256:)?[0-9a-f]{64}")

T = TypeVar("T")
Check = Callable[[Any], Any]
Shape = Mapping[str, Check]


class Misfit(TypeError):
    """A value that is not what it should be.

    Attributes:
        expected: What should be there.
        found: What is, cut where it is long.
    """

    def __init__(self, expected: str, value: Any) -> None:
        self.expected, self.found = expected, _shown(value)
        super().__init__(f"expected {expected}, found {self.found}")


class Fitting(NamedTuple):
    """What `fit` found.

    Attributes:
        content: The object without the fields that do not fit.
        misfits: Those fields, each with why.
    """

    content: dict[str, Any]
    misfits: dict[str, Misfit]


def fit(shape: Shape, content: dict[str, Any]) -> Fitting:
    """Check the known fields of an object; all others stay as they are."""
    misfits: dict[str, Misfit] = {}
    for name, check in shape.items():
        if name in content:
            try:
                check(content[name])
            except Misfit as misfit:
                misfits[name] = misfit
    if misfits:
        content = {name: value for name, value in content.items() if name not in misfits}
    return Fitting(content, misfits)


def text(value: Any) -> str:
    """Check a text; one with half a character of two cannot be stored."""
    if not isinstance(value, str) or not (value.isascii() or value.isprintable() or _is_unicode(value)):
        raise Misfit("a text", value)
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
        raise Misfit("a whole number", value)
    return value


def version(value: Any) -> int:
    """Check the number of a version."""
    if whole(value, LAST_VERSION) == 0:
        raise Misfit("the number of a version", value)
    return int(value)


def moment(value: Any) -> float:
    """Check seconds since 1970."""
    if type(value) not in (int, float) or not 0 <= value < _LAST_MOMENT:
        raise Misfit("seconds since 1970", value)
    return float(value)


def number(value: Any) -> float:
    """Check a number of any kind."""
    if type(value) not in (int, float):
        raise Misfit("a number", value)
    return float(max(-_LARGEST_FLOAT, min(value, _LARGEST_FLOAT)))


def finite(value: object) -> float | None:
    """Return a number as a float; None if it is none, or not finite as a float."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def digest(value: Any) -> str:
    """Check a SHA-256."""
    if not isinstance(value, str) or not _DIGEST.fullmatch(value):
        raise Misfit("a SHA-256 as 64 hexadecimal digits", value)
    return value


def texts(value: Any) -> tuple[str, ...]:
    """Check a list of texts; null is an empty one."""
    if value is not None and not isinstance(value, list):
        raise Misfit("a list of texts", value)
    return tuple(map(text, value or ()))


def mapping(value: Any) -> Mapping[str, Any]:
    """Check an object; null is an empty one."""
    if value is not None and not isinstance(value, dict):
        raise Misfit("an object", value)
    return value or {}


def maybe(check: Callable[[Any], T]) -> Callable[[Any], T | None]:
    """Let a value also be null."""
    return lambda value: None if value is None else check(value)


def of(shape: Shape) -> Check:
    """Check an object with known fields; null is an empty one. The first field that does not fit is named."""

    def check(value: Any) -> Mapping[str, Any]:
        found = mapping(value)
        for name, misfit in fit(shape, dict(found)).misfits.items():
            raise Misfit(f"{misfit.expected} as {name!r}", found[name])
        return found

    return check


def several(check: Check) -> Check:
    """Check a list, and each of its items; null is an empty one."""

    def check_all(value: Any) -> list[Any]:
        if value is not None and not isinstance(value, list):
            raise Misfit("a list", value)
        return [check(item) for item in value or ()]

    return check_all


def one_of(*words: Any) -> Check:
    """Check that a value is one of a few."""

    def check(value: Any) -> Any:
        if not any(type(value) is type(word) and value == word for word in words):
            raise Misfit(f"one of {', '.join(map(repr, words))}", value)
        return value

    return check


def integer(value: Any) -> int:
    """Check an integer of 64 bits."""
    if type(value) is not int or not -LARGEST <= value <= LARGEST:
        raise Misfit("an integer of 64 bits", value)
    return value


def yes_or_no(value: Any) -> bool:
    """Check a truth value."""
    if not isinstance(value, bool):
        raise Misfit("true or false", value)
    return value


def _shown(value: Any) -> str:
    """Show a value, however long or deep it is."""
    if isinstance(value, (dict, list)) and value:
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value)}"
    if isinstance(value, int) and abs(value) > LARGEST:
        return f"an integer of {value.bit_length()} bits"
    said = ascii(value[:60]) if isinstance(value, str) else repr(value)
    return said if len(said) < 60 else said[:60] + "…"
