"""Infos of steps as the catalogue holds them: their names once, and the values of each as a JSON list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import orjson

from playhead import strictjson

LEAST_INTEGER, MOST_INTEGER = -(1 << 63), (1 << 63) - 1  # of SQLite


def taken_apart(
    texts: Sequence[bytes], key_of: Callable[[tuple[str, ...]], int]
) -> tuple[list[int | None], list[str | None]]:
    """Take infos apart.

    Args:
        texts: Each JSON, or nothing.
        key_of: Gives the key of names.

    Returns:
        The key of the names of each, and its values. An info that cannot be taken apart has no key, and is as it is
        instead of its values; where there is none, there is neither.

    Raises:
        ValueError: One is not JSON.
    """
    names, values = _alike(texts)
    if None not in values:
        return [key_of(names)] * len(texts), values
    keys = [None if found is None else key_of(names) for found in values]
    rest = [place for place, text in enumerate(texts) if text and values[place] is None]
    parsed = strictjson.decode(b"[" + b",".join([texts[place] for place in rest]) + b"]")
    for place, info in zip(rest, parsed, strict=True):
        packed = _packed(list(info.values())) if isinstance(info, dict) and info else None
        if packed is None:
            values[place] = as_text(info)
        else:
            keys[place], values[place] = key_of(tuple(info)), packed.decode()
    return keys, values


def _packed(values: list[Any]) -> bytes | None:
    """Give the values of an info as JSON; None where the view, which takes them apart, would round one of them."""
    try:
        data = orjson.dumps(values, option=orjson.OPT_STRICT_INTEGER)
        if b"null" not in data:  # which may have been NaN
            return data
    except TypeError:  # an integer of more than 53 bits, half a character
        if any(isinstance(value, int) and not LEAST_INTEGER <= value <= MOST_INTEGER for value in values):
            return None
    return strictjson.encode(strictjson.plain(values))


def as_text(value: Any) -> str:
    """Give a value as JSON."""
    return strictjson.encode(strictjson.plain(value)).decode()


# -- many that are alike ----------------------------------------------------------------------------------------------

# Infos mostly have the same names, and numbers as values. All of a batch are then taken apart at once, by replacing
# what comes before a value, `{"lives":` or `,"frame":`, by a mark of its own, which no JSON holds.

_MARKS = [bytes([code]) for code in range(14, 32)]
_TO_LIST = bytes.maketrans(b"".join(_MARKS) + b"}", b"[" + b"," * (len(_MARKS) - 1) + b"]")
_OF_VALUES = b"0123456789+-.eE" + b"truefals"
_DIGITS = bytes.maketrans(b"123456789", b"0" * 9)
_LONG_INTEGER = b"0" * 19  # as long as the longest that SQLite holds


def _alike(texts: Sequence[bytes]) -> tuple[tuple[str, ...], list[str | None]]:
    """Take apart the infos that have the names of the first, and numbers as values; None for each other.

    What comes out is what taking them apart one by one gives, also in its spelling.
    """
    nothing: tuple[tuple[str, ...], list[str | None]] = (), [None] * len(texts)
    names = _names(next(filter(None, texts), b""))
    whole = b"\n".join(texts)
    if not names or whole.count(b"\n") >= len(texts) or len(whole.translate(None, b"".join(_MARKS))) < len(whole):
        return nothing
    marks = _MARKS[: len(names)]
    for start, name, mark in zip(b"{" + b"," * len(names), names, marks, strict=False):
        whole = whole.replace(bytes([start]) + orjson.dumps(name) + b":", mark)
    due = b"".join(marks) + b"}"
    fits = [left == due for left in whole.translate(None, _OF_VALUES).split(b"\n")]
    lines = whole.translate(_TO_LIST).split(b"\n")
    found = [line for line, is_fit in zip(lines, fits, strict=True) if is_fit]
    if not found or not _is_spelled_so(b",".join(found)):
        return nothing
    values = iter(b"\n".join(found).decode().split("\n"))
    return names, list(values) if len(found) == len(texts) else [next(values) if is_fit else None for is_fit in fits]


def _names(info: bytes) -> tuple[str, ...]:
    """Give the names of an info; nothing where it is no plain object, or has too many."""
    try:
        found = orjson.loads(info)
    except orjson.JSONDecodeError:
        return ()
    return tuple(found) if isinstance(found, dict) and len(found) <= len(_MARKS) else ()


def _is_spelled_so(lists: bytes) -> bool:
    """Tell whether lists are JSON as we write it, without integers that SQLite may have no room for."""
    values = b"[" + lists.translate(None, b"[]") + b"]"  # one list: thousands would wake the garbage collector
    try:
        return _LONG_INTEGER not in values.translate(_DIGITS) and orjson.dumps(orjson.loads(values)) == values
    except orjson.JSONDecodeError:
        return False
