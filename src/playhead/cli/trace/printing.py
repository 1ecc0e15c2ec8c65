"""A state as lines for people: each place in it with its kind and, shortened, its value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from playhead.cli import output, words
from playhead.cli.output import Cell, Column

_SHOWN = 6  # numbers of an array
_MOST_TEXT = 60
_MOST_LINES = 100


class Leaf(NamedTuple):
    """One place of a state."""

    path: str
    kind: str
    value: str


def leaves(state: Any) -> list[Leaf]:
    """List the places of a state, in order."""
    return list(_walk(state, ""))


def print_state(state: Any) -> None:
    """Print a state, a place a line."""
    found = leaves(state)
    rows: list[list[str | Cell]] = [
        [Cell(words.one_line(leaf.path), "bold"), Cell(leaf.kind, "dim"), words.one_line(leaf.value)]
        for leaf in found[:_MOST_LINES]
    ]
    if len(found) > _MOST_LINES:
        rows.append(["…", "", f"and {len(found) - _MOST_LINES:,} more; -o FILE.json writes all"])
    output.print_table([Column("state"), Column("type"), Column("value", shrinks=True)], rows, indent=2)


def _walk(value: Any, path: str) -> Iterator[Leaf]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _walk(item, f"{path}.{key}" if path and isinstance(key, str) else f"{path}{_key(key)}")
    elif isinstance(value, (list, tuple)) and not _is_row(value):
        for place, item in enumerate(value):
            yield from _walk(item, f"{path}[{place}]")
    else:
        yield Leaf(path or "(itself)", _kind(value), _value(value))


def _key(key: Any) -> str:
    return key if isinstance(key, str) else f"[{key}]"


def _is_row(value: list[Any] | tuple[Any, ...]) -> bool:
    """Tell whether a list has only single values, so that a line holds it."""
    return not any(isinstance(item, (dict, list, tuple, np.ndarray)) for item in value)


def _kind(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype} [{'×'.join(map(str, value.shape))}]"
    if isinstance(value, np.generic):
        return str(value.dtype)
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__} [{len(value)}]"
    return "none" if value is None else type(value).__name__


def _value(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return _row(value.reshape(-1)[:_SHOWN].tolist(), value.size)
    if isinstance(value, (list, tuple)):
        return _row(value[:_SHOWN], len(value))
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (bool, int, float)) or value is None:
        return words.value(value, 8)
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]}…"


def _row(items: Any, count: int) -> str:
    return " ".join(_value(item) for item in items) + (" …" if count > _SHOWN else "")
