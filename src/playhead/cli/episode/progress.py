"""A bar that shows how far long work is, where a person can see it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")


def bar(title: str) -> Callable[[Sequence[T]], Iterable[T]]:
    """Give what walks over things and shows how far it is.

    Args:
        title: What is being done.
    """

    def walk(things: Sequence[T]) -> Iterable[T]:
        if not sys.stderr.isatty() or len(things) < 2:
            return things
        from rich.console import Console
        from rich.progress import track

        return track(things, title, console=Console(stderr=True), transient=True)

    return walk
