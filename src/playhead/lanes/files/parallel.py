"""The same work on many files: large ones in threads, since hashing, reading and writing let other threads run."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

SMALL = 1 << 16  # bytes; a thread costs more than it gains
_THREADS = 4

T = TypeVar("T")
R = TypeVar("R")


def each(items: Sequence[T], size: Callable[[T], int], work: Callable[[T], R]) -> list[R]:
    """Do work on each item, and give the results in order; the first error ends all of it.

    Args:
        items: What to work on.
        size: Tells the bytes of one.
        work: What is done; safe in threads.
    """
    large = [item for item in items if size(item) >= SMALL]
    if len(large) < 2:
        return [work(item) for item in items]
    done: dict[int, R] = {}
    with ThreadPoolExecutor(min(_THREADS, len(large), os.cpu_count() or 1)) as threads:
        begun = {place: threads.submit(work, item) for place, item in enumerate(items) if size(item) >= SMALL}
        try:
            done |= {place: work(item) for place, item in enumerate(items) if place not in begun}
            done |= {place: running.result() for place, running in begun.items()}
        except BaseException:
            for running in begun.values():
                running.cancel()
            raise
    return [done[place] for place in range(len(items))]
