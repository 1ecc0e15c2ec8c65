"""Time as integer nanoseconds since 1970; the only place that reads a clock."""

from __future__ import annotations

import time
from datetime import datetime

SECOND = 1_000_000_000
_MOST_BEHIND = SECOND  # stamps are, before they follow the wall clock
_BETWEEN_LOOKS = SECOND // 100  # at the wall clock: a look at each call would cost as much as a stamp

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
    """Strictly increasing stamps: the monotonic clock, set by the wall clock, and set again when that runs ahead.

    A wall clock that is set back, or two calls within one tick, never give the same stamp twice. A wall clock that is
    over a second ahead, as after a suspend or when it is corrected, is followed. Not safe in threads: whoever records
    holds a lock anyway.

    Args:
        after: The newest stamp that exists already; every new one is greater.
    """

    __slots__ = ("_anchor", "_due", "last")

    def __init__(self, after: int = 0) -> None:
        self._anchor = now_ns() - elapsed_ns()
        self._due = 0
        self.last = after

    def at(self, stamp: int) -> int:
        """Take a time from elsewhere as the next stamp; the caller sees to it that it increases."""
        self.last = stamp
        return stamp

    def next(self) -> int:
        """Give the next stamp."""
        stamp = self._anchor + elapsed_ns()
        if stamp > self._due:
            stamp = self._followed(stamp)
        if stamp <= self.last:
            stamp = self.last + 1
        self.last = stamp
        return stamp

    def now(self) -> int:
        """Read the time by which the next stamp would be made, without making one."""
        return max(self._followed(self._anchor + elapsed_ns()), self.last)

    def _followed(self, stamp: int) -> int:
        """Return a stamp, or if the wall clock is far ahead of it, what that says."""
        ahead = now_ns() - stamp
        if ahead > _MOST_BEHIND:
            self._anchor += ahead
            stamp += ahead
        self._due = stamp + _BETWEEN_LOOKS
        return stamp
