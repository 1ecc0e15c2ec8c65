"""Time as integer nanoseconds since 1970; the only place that reads a clock."""

from __future__ import annotations

import time
from datetime import datetime

SECOND = 1_000_000_000

# Python's own functions, and no calls of them: they are read at every step.
now_ns = time.time_ns  # the wall clock
elapsed_ns = time.monotonic_ns  # the monotonic clock: good for differences, nothing else
spent_ns = time.thread_time_ns  # of the processor, by this thread


def now() -> float:
    """Read the wall clock in seconds, as the JSON files of a run hold it."""
    return time.time()


def sleep(seconds: float) -> None:
    """Wait."""
    time.sleep(seconds)


def local(ns: int) -> datetime:
    """Give a stamp as local time with its zone."""
    return datetime.fromtimestamp(ns / SECOND).astimezone()


class Stamps:
    """Strictly increasing stamps: one reading of the wall clock, then the monotonic clock.

    A wall clock that is set back, or two calls within one tick, never give the same stamp twice. Not safe in threads:
    whoever records holds a lock anyway.

    Args:
        after: The newest stamp that exists already; every new one is greater.
    """

    __slots__ = ("_anchor", "last")

    def __init__(self, after: int = 0) -> None:
        self._anchor = time.time_ns() - elapsed_ns()
        self.last = after

    def at(self, stamp: int) -> int:
        """Take a time from elsewhere as the next stamp; the caller sees to it that it increases."""
        self.last = stamp
        return stamp

    def next(self) -> int:
        """Give the next stamp."""
        stamp = self._anchor + elapsed_ns()
        if stamp <= self.last:
            stamp = self.last + 1
        self.last = stamp
        return stamp
