"""Down-sampling of metrics: as many points as a chart can show, with every spike, the ends and the gaps.

A series of up to `RAW` points in the range is read as it is, and thinned to the smallest and largest value of equal
stretches of the axis. Of a longer one SQLite gives the smallest and largest of equal stretches of time, so that its
points never become Python objects; the stretches are shared out to threads.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead.catalog import curves
from playhead.catalog.curves import Envelope, Point, Series, Steps
from playhead.catalog.database import Connection, Database
from playhead.web import thinning
from playhead.web.runs.stepping import Span, StepMap

RAW = 12_000  # about where reading rows into Python and asking for extremes cost the same
FAR = 2**62

_SHARED = 200_000  # points from which on threads share the work
_CHEAPER = 3  # times as cheap, for a point, SQLite finds extremes than it hands points out
_AT_ONCE = 20_000  # points that are Python objects at a time
_TURNS = 64
_KEPT = 256  # curves that are remembered
_KEPT_POINTS = 2_000_000  # of all of them together


@dataclass(frozen=True, slots=True)
class Range:
    """What of a series is asked for.

    Attributes:
        by_step: Whether the axis is steps; else it is time.
        start: The first step or stamp.
        stop: The last one.
    """

    by_step: bool
    start: int = -FAR
    stop: int = FAR

    @property
    def is_open(self) -> bool:
        """Whether it is all of it."""
        return self.start <= -FAR and self.stop >= FAR


@dataclass(frozen=True, slots=True)
class Curve:
    """Points of a series, in the order of the axis. NaN is a gap.

    Attributes:
        total: How many points there are in the range.
        stamps: When.
        steps: At which step.
        values: What.
    """

    total: int
    stamps: NDArray[np.int64]
    steps: NDArray[np.int64]
    values: NDArray[np.float64]

    @property
    def is_sampled(self) -> bool:
        """Whether points were left out."""
        return self.total > len(self.stamps)


class Sampler:
    """Gives curves of series; remembers those that took long. Safe in threads.

    Args:
        database: The catalogue.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._workers = min(4, os.cpu_count() or 1)
        self._pool = ThreadPoolExecutor(self._workers, "playhead-curves")
        self._lock = threading.Lock()
        self._turns = [threading.Lock() for _ in range(_TURNS)]
        self._known: OrderedDict[tuple[Any, ...], tuple[Series, Curve]] = OrderedDict()
        self._steps: OrderedDict[tuple[Any, ...], StepMap] = OrderedDict()

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown()

    def curve(self, connection: Connection, run_id: str, series: Series, wanted: Range, most: int) -> Curve:
        """Give a series of a run with at most so many points.

        Args:
            connection: To the catalogue, within the transaction that found the series.
            run_id: The run.
            series: The series.
            wanted: What of it.
            most: How many points at most.
        """
        if series.points <= RAW:
            return thinned(_all_of(connection, series, wanted), wanted, most)
        ends = curves.ends(connection, series.key)
        if ends is None:
            return _curve([])
        # SQLite gives the key of a series that was purged to another one, and a run may be recorded anew under its id.
        key = (run_id, series.key, ends[0], wanted, most)
        with self._turns[hash(key) % _TURNS]:  # many who ask for the same wait for one who finds it
            known = self._recall(key)
            if known is not None and known[0].points >= series.points:  # found meanwhile by one who looked later
                return known[1]
            with self._database.read() as fresh:  # as it is now: those who came while this one waited need no more
                return self._found(fresh, run_id, curves.series_now(fresh, series), wanted, most, known, key)

    def _found(
        self,
        connection: Connection,
        run_id: str,
        series: Series,
        wanted: Range,
        most: int,
        known: tuple[Series, Curve] | None,
        key: tuple[Any, ...],
    ) -> Curve:
        ends = curves.ends(connection, series.key)
        if ends is None or ends[0] != key[2]:  # it was purged meanwhile
            return _curve([])
        curve = None if known is None else _grown(connection, series, wanted, most, *known)
        if curve is None:
            curve = self._of_many(connection, run_id, series, ends, wanted, most)
        self._remember(key, series, curve)
        return curve

    def later(self, connection: Connection, run_id: str, series: Series, stamp: int, most: int) -> Curve:
        """Give what is later than a stamp, of a curve of the whole series that is found once for all who ask.

        Args:
            connection: To the catalogue, within the transaction that found the series.
            run_id: The run.
            series: The series.
            stamp: The last one that is known.
            most: How many points the whole curve has at most.
        """
        whole = self.curve(connection, run_id, series, Range(by_step=False), most)
        first = int(np.searchsorted(whole.stamps, stamp, "right"))
        count = whole.total if stamp < 1 else curves.count(connection, series.key, stamp + 1, FAR)
        total = max(count, len(whole.stamps) - first)
        return Curve(total, whole.stamps[first:], whole.steps[first:], whole.values[first:])

    def _recall(self, key: tuple[Any, ...]) -> tuple[Series, Curve] | None:
        with self._lock:
            known = self._known.get(key)
            if known is not None:
                self._known.move_to_end(key)
            return known

    def _remember(self, key: tuple[Any, ...], series: Series, curve: Curve) -> None:
        with self._lock:
            self._known[key] = series, curve
            self._known.move_to_end(key)
            points = sum(len(one.stamps) for _, one in self._known.values())
            while len(self._known) > _KEPT or points > _KEPT_POINTS:
                _, (_, gone) = self._known.popitem(last=False)
                points -= len(gone.stamps)

    def _of_many(
        self, connection: Connection, run_id: str, series: Series, ends: Span, wanted: Range, most: int
    ) -> Curve:
        start, stop = max(ends[0], wanted.start), min(ends[1], wanted.stop) + 1
        total: int | None = None
        if wanted.by_step:
            start, stop = ends[0], ends[1] + 1
            if not wanted.is_open:
                start = _stamp_of_step(connection, series.key, ends, wanted.start)
                stop = max(start, _stamp_of_step(connection, series.key, ends, wanted.stop + 1))
                total = self._counted(connection, run_id, series, wanted, ends, (start, stop))
                if total is None:
                    return _unsorted(connection, series, wanted, most)
        if start >= stop:
            return _curve([])
        if not curves.has_more_than(connection, series.key, start, stop, RAW):
            few = curves.stretch(connection, series.key, start, stop)
            return thinned(_within(_curve(few), wanted), wanted, most)
        if total is None:
            is_whole = (start, stop) == (ends[0], ends[1] + 1)
            total = series.points if is_whole else curves.count(connection, series.key, start, stop)
        found = self._envelope(connection, series, start, stop, max(1, most // 2))
        first = curves.next_from(connection, series.key, start)
        last = curves.newest_at(connection, series.key, stop - 1)
        assert first is not None
        assert last is not None
        each = dict.fromkeys([*found.points, *found.gaps, first, last])  # one point may be several of these
        candidates = _within(_curve(list(each)), wanted)
        return thinned(candidates, wanted, most, total=total)

    def _counted(
        self, connection: Connection, run_id: str, series: Series, wanted: Range, ends: Span, span: Span
    ) -> int | None:
        """Count the points of a time that a search by steps gave; None where these are not those of the range."""
        key = (run_id, series.key, ends[0])
        with self._lock:
            known = self._steps.pop(key, None)

        def look(spans: Sequence[Span]) -> list[Steps]:
            return self._steps_of(connection, series, spans)

        found = None if known is None or known.is_coarse else known.grown(connection, series, ends, look)
        found = found or StepMap.of(ends, look)
        with self._lock:
            self._steps[key] = found
            while len(self._steps) > _KEPT:
                self._steps.popitem(last=False)
        return found.count(connection, series.key, span, wanted.start, wanted.stop)

    def _steps_of(self, connection: Connection, series: Series, spans: Sequence[Span]) -> list[Steps]:
        """Tell the steps of spans of time, in several threads where there are many points."""
        if self._workers == 1 or series.points < _SHARED or len(spans) < self._workers:
            return [curves.steps_between(connection, series.key, *span) for span in spans]
        size = -(-len(spans) // (self._workers * 4))
        shares = [spans[place : place + size] for place in range(0, len(spans), size)]

        def work(share: Sequence[Span]) -> list[Steps]:
            with self._database.read() as own:
                return [curves.steps_between(own, series.key, *span) for span in share]

        return list(chain.from_iterable(self._pool.map(work, shares)))

    def _envelope(self, connection: Connection, series: Series, start: int, stop: int, stretches: int) -> Envelope:
        """Find the extremes, in several threads where there are many points."""
        edges = curves.stretches(connection, series.key, start, stop, stretches)
        if self._workers == 1 or series.points < _SHARED:
            return curves.envelope(connection, series.key, edges)
        # Small shares, since some are fuller than others; each begins without knowing what the one before found.
        size = max(16, -(-len(edges) // (self._workers * 4)))
        shares = [edges[place : place + size + 1] for place in range(0, len(edges) - 1, size)]

        def work(share: Sequence[int]) -> Envelope:
            with self._database.read() as own:
                return curves.envelope(own, series.key, share)

        parts = list(self._pool.map(work, shares))
        return Envelope(
            list(chain.from_iterable(part.points for part in parts)),
            list(chain.from_iterable(part.gaps for part in parts)),
        )


def _grown(
    connection: Connection, series: Series, wanted: Range, most: int, before: Series, curve: Curve
) -> Curve | None:
    """Give a curve that was found before, with what was added since; None where that is too much, or something else."""
    if series == before:
        return curve
    added = series.points - before.points
    few = before.points // _CHEAPER
    if series[:4] != before[:4] or not 0 < added <= few or series.last_ns <= before.last_ns:
        return None
    newest, seen, within = int(curve.stamps.max()) if len(curve.stamps) else -FAR, 0, curve.total
    grown = curve
    for news in _following(connection, series, before.last_ns + 1):
        seen += news.total
        first = int(np.searchsorted(news.stamps, newest, "right"))
        tail = _within(Curve(0, news.stamps[first:], news.steps[first:], news.values[first:]), wanted)
        within += len(tail.stamps)
        joined = Curve(
            0,
            np.concatenate([grown.stamps, tail.stamps]),
            np.concatenate([grown.steps, tail.steps]),
            np.concatenate([grown.values, tail.values]),
        )
        grown = thinned(_within(joined, wanted), wanted, most, total=within)
    if seen != added:  # some came late, in between
        return None
    return replace(grown, total=series.points if wanted.is_open else within)


def _following(connection: Connection, series: Series, stamp: int) -> Iterator[Curve]:
    """Read all points from a stamp on, a few at a time."""
    while True:
        found = _curve(curves.stretch(connection, series.key, stamp, FAR, _AT_ONCE))
        if found.total:
            yield found
            stamp = int(found.stamps[-1]) + 1
        if found.total < _AT_ONCE:
            return


def _all_of(connection: Connection, series: Series, wanted: Range) -> Curve:
    start, stop = (-FAR, FAR) if wanted.by_step else (wanted.start, wanted.stop)
    return _within(_curve(curves.stretch(connection, series.key, start, stop + 1)), wanted)


def _unsorted(connection: Connection, series: Series, wanted: Range, most: int) -> Curve:
    """Give a range of steps of a series whose steps go back and forth; SQLite looks at all its points."""
    total, first, last = curves.steps_within(connection, series.key, wanted.start, wanted.stop)
    if total <= RAW:
        found = curves.by_step(connection, series.key, wanted.start, wanted.stop)
    else:
        found = curves.envelope_by_step(connection, series.key, first, last, max(1, most // 2))
    return thinned(_within(_curve(list(dict.fromkeys(found))), wanted), wanted, most, total=total)


def _curve(points: Sequence[Point]) -> Curve:
    count = len(points)
    stamps, steps, values = zip(*points, strict=True) if points else ((), (), ())
    return Curve(
        count,
        np.fromiter(stamps, np.int64, count),
        np.fromiter(steps, np.int64, count),
        np.array(values, np.float64),  # None becomes NaN
    )


def _within(curve: Curve, wanted: Range) -> Curve:
    """Leave out what is not in the range of steps, and bring the points into the order of the axis."""
    axis = curve.steps if wanted.by_step else curve.stamps
    order = np.lexsort((curve.stamps, axis))
    order = order[(axis[order] >= wanted.start) & (axis[order] <= wanted.stop)]
    if len(order) == len(axis) and np.all(order[1:] > order[:-1]):
        return curve
    return Curve(len(order), curve.stamps[order], curve.steps[order], curve.values[order])


def thinned(curve: Curve, wanted: Range, most: int, total: int | None = None) -> Curve:
    """Leave at most so many points: the ends, gaps, and the smallest and largest of each stretch of the axis.

    Args:
        curve: The points in order.
        wanted: Whose axis counts.
        most: How many to leave.
        total: How many points the curve stands for, where some have been left out already.
    """
    total = len(curve.stamps) if total is None else total
    places = thinning.kept(curve.values, most, curve.steps if wanted.by_step else curve.stamps)
    if len(places) == len(curve.stamps):
        return replace(curve, total=total)
    return Curve(total, curve.stamps[places], curve.steps[places], curve.values[places])


def _stamp_of_step(connection: Connection, series: int, ends: tuple[int, int], step: int) -> int:
    """Give the stamp of the first point that has a step or a later one, in a series whose steps increase."""
    low, high = ends[0], ends[1] + 1
    while low < high:
        middle = (low + high) // 2
        point = curves.next_from(connection, series, middle)
        if point is None or point[1] >= step:
            high = middle
        else:
            low = point[0] + 1
    return low
