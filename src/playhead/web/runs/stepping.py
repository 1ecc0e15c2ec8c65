"""Which steps lie where in a series: found once for many stretches of time, and then only for what was added.

A search by steps is right only where steps increase with time. After a restart from a checkpoint they go back; the
points that such a search misses are then known by the smallest and the largest step of each stretch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from playhead.catalog import curves
from playhead.catalog.curves import Series, Steps
from playhead.catalog.database import Connection

STRETCHES = 512
TAIL = 20_000  # points behind the last stretch from which on they are made stretches too

Span = tuple[int, int]  # from a stamp on, before another
Look = Callable[[Sequence[Span]], list[Steps]]  # tells the steps of spans of time


class Stretch(NamedTuple):
    """The steps of a time."""

    start: int
    stop: int
    steps: Steps


class StepMap:
    """The steps of a series by time.

    Args:
        stretches: All of it, up to some stamp.
    """

    def __init__(self, stretches: Sequence[Stretch]) -> None:
        self._stretches = list(stretches)
        self._points = sum(stretch.steps.points for stretch in stretches)

    @classmethod
    def of(cls, ends: Span, look: Look) -> StepMap:
        """Look at a series from its first to its last stamp."""
        return cls(_looked_at((ends[0], ends[1] + 1), STRETCHES, look))

    def grown(self, connection: Connection, series: Series, ends: Span, look: Look) -> StepMap | None:
        """Give it for the series as it is now; None where points were added within what was looked at."""
        stop = self._stretches[-1].stop
        added = series.points - self._points
        if added == 0:
            return self
        if added < 0 or curves.count(connection, series.key, stop, ends[1] + 1) != added:
            return None
        more = max(1, STRETCHES * added // series.points) if added > TAIL else 1
        found = _looked_at((stop, ends[1] + 1), more, look)
        return StepMap([*self._stretches, *found])

    @property
    def is_coarse(self) -> bool:
        """Whether it grew so often that it is better made anew."""
        return len(self._stretches) > 4 * STRETCHES

    def count(self, connection: Connection, series: int, span: Span, first: int, last: int) -> int | None:
        """Count the points of a time, where these are exactly those with a step of a range; else None."""
        total = 0
        for start, stop, steps in self._stretches:
            is_apart = steps.points == 0 or steps.last < first or steps.first > last
            is_within = first <= steps.first and steps.last <= last
            for begin, end, is_inside in _cut(start, stop, span):
                is_all = (begin, end) == (start, stop)
                if not is_inside:
                    if not is_apart and curves.has_step(connection, series, begin, end, first, last):
                        return None
                elif is_all and is_within:
                    total += steps.points
                else:
                    count, within = curves.tally(connection, series, begin, end, first, last)
                    if count != within:
                        return None
                    total += count
        return total


def _looked_at(span: Span, parts: int, look: Look) -> list[Stretch]:
    edges = sorted({span[0] + (span[1] - span[0]) * place // parts for place in range(parts + 1)})
    spans = list(pairwise(edges))
    return [Stretch(*one, steps) for one, steps in zip(spans, look(spans), strict=True)]


def _cut(start: int, stop: int, span: Span) -> list[tuple[int, int, bool]]:
    """Cut a time into what is before, within and behind another."""
    low, high = min(max(span[0], start), stop), min(max(span[1], start), stop)
    return [part for part in ((start, low, False), (low, high, True), (high, stop, False)) if part[0] < part[1]]
