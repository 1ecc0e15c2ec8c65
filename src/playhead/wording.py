"""Numbers of things and lists of names, as people read them."""

from __future__ import annotations

from collections.abc import Iterable


def counted(count: int, noun: str) -> str:
    """Give a number of things: `1 run`, `1,234 runs`."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def listed(names: Iterable[object], most: int = 10) -> str:
    """Give the first few names of a list, and how many more there are."""
    every = [str(name) for name in names]
    return ", ".join(every[:most]) + (f" and {len(every) - most} more" if len(every) > most else "")
