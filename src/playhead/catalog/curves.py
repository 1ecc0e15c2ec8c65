"""Points of one series: a stretch of them as they are, or the smallest and largest of many small stretches."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from operator import itemgetter
from typing import NamedTuple

from sqlalchemy import Connection

from playhead.catalog.database import driver_rows
from playhead.catalog.typed_rows import numbers_in, row_of, rows_of


class Series(NamedTuple):
    """One metric of one part of a run in one stage."""

    key: int
    name: str
    stage: str
    part: int
    points: int
    last_ns: int


Point = tuple[int, int, float | None]  # stamp, step, value; None is NaN

_SERIES = """
    SELECT key, name, stage, part, points, last_ns FROM series
    WHERE run = ? AND points > 0 {names} ORDER BY name, stage, part"""
_AT_ONCE = 5_000


def series_of(connection: Connection, run: int, names: Sequence[str] | None = None) -> list[Series]:
    """List the series of a run that have points, of some metrics or of all."""
    if names is None:
        return rows_of(Series, driver_rows(connection, _SERIES.format(names=""), (run,)))
    found: list[Series] = []
    for start in range(0, len(names), _AT_ONCE):
        some = names[start : start + _AT_ONCE]
        condition = f"AND name IN ({','.join('?' * len(some))})"
        found += rows_of(Series, driver_rows(connection, _SERIES.format(names=condition), (run, *some)))
    return found


_NOW = "SELECT key, name, stage, part, points, last_ns FROM series WHERE key = ?"


def series_now(connection: Connection, series: Series) -> Series:
    """Give a series as a connection sees it; one that is gone, without points."""
    rows = driver_rows(connection, _NOW, (series.key,))
    return row_of(Series, rows[0]) if rows else series._replace(points=0)


# Two questions, since SQLite seeks for one extreme, and looks at all rows for two.
_ENDS = """
    SELECT (SELECT min(ts_ns) FROM points WHERE series = :series),
           (SELECT max(ts_ns) FROM points WHERE series = :series)"""
_COUNT = "SELECT count(*) FROM (SELECT 1 FROM points WHERE series = ? AND ts_ns >= ? AND ts_ns < ? LIMIT ?)"
_STRETCH = "SELECT ts_ns, step, value FROM points WHERE series = ? AND ts_ns >= ? AND ts_ns < ? ORDER BY ts_ns LIMIT ?"
_NEAREST = "SELECT ts_ns, step, value FROM points WHERE series = ? AND ts_ns <= ? ORDER BY ts_ns DESC LIMIT 1"
_NEXT = "SELECT ts_ns, step, value FROM points WHERE series = ? AND ts_ns >= ? ORDER BY ts_ns LIMIT 1"


def ends(connection: Connection, series: int) -> tuple[int, int] | None:
    """Give the stamps of the first and the last point."""
    first, last = driver_rows(connection, _ENDS, {"series": series})[0]
    return None if first is None else (first, last)


def has_more_than(connection: Connection, series: int, start: int, stop: int, most: int) -> bool:
    """Tell whether there are more than so many points from a stamp on and before another."""
    return bool(driver_rows(connection, _COUNT, (series, start, stop, most + 1))[0][0] > most)


def stretch(connection: Connection, series: int, start: int, stop: int, limit: int = -1) -> Sequence[Point]:
    """Give the points from a stamp on and before another, in order of time."""
    return numbers_in(driver_rows(connection, _STRETCH, (series, start, stop, limit)))


def newest_at(connection: Connection, series: int, stamp: int) -> Point | None:
    """Give the newest point at a stamp or before."""
    rows = numbers_in(driver_rows(connection, _NEAREST, (series, stamp)))
    return rows[0] if rows else None


def next_from(connection: Connection, series: int, stamp: int) -> Point | None:
    """Give the first point at a stamp or behind."""
    rows = numbers_in(driver_rows(connection, _NEXT, (series, stamp)))
    return rows[0] if rows else None


_COUNT_ALL = "SELECT count(*) FROM points WHERE series = ? AND ts_ns >= ? AND ts_ns < ?"


def count(connection: Connection, series: int, start: int, stop: int) -> int:
    """Count the points from a stamp on and before another; this looks at each of them."""
    return int(driver_rows(connection, _COUNT_ALL, (series, start, stop))[0][0])


# -- extremes ---------------------------------------------------------------------------------------------------------

_OUTSIDE = """
    SELECT ts_ns, step, value FROM points WHERE series = ? AND ts_ns >= ? AND ts_ns < ?
    AND (value BETWEEN ? AND ?) IS NOT 1 LIMIT ?"""
# SQLite gives stamp and step of the row that holds the extreme, if there is one such function in a query.
_LOWEST = "SELECT ts_ns, step, min(value) FROM points WHERE series = ? AND ts_ns >= ? AND ts_ns < ?"
_HIGHEST = "SELECT ts_ns, step, max(value) FROM points WHERE series = ? AND ts_ns >= ? AND ts_ns < ?"
_NAN = "SELECT ts_ns, step, value FROM points WHERE series = ? AND ts_ns >= ? AND ts_ns < ? AND value IS NULL LIMIT 1"
_MANY = 96  # rows outside the levels that are still cheaper than asking for the extremes
_SPARE = 12  # rows on each side that are expected in the next stretch
_FULL = 4  # times as many steps as on the average, from which on a stretch is parted


def stretches(connection: Connection, series: int, start: int, stop: int, wanted: int) -> list[int]:
    """Part a time into about so many equal stretches, more where steps come in bursts; give the stamps between them.

    How many points a stretch has is guessed from the steps at its ends, which are found without looking at the points.
    """
    first, last = next_from(connection, series, start), newest_at(connection, series, stop - 1)
    if first is None or last is None:
        return [start, stop]
    share = max(1, abs(last[1] - first[1]) // wanted)
    edges = [start]
    waiting = _parted(start, stop, wanted)
    while waiting:
        begin, end = waiting.pop()
        one, other = next_from(connection, series, begin), next_from(connection, series, end)
        steps = 0 if one is None else abs((last if other is None else other)[1] - one[1])
        parts = min(steps // share, end - begin, 1_000)
        if parts >= _FULL and len(edges) + len(waiting) < _FULL * wanted:
            waiting += _parted(begin, end, parts)
        else:
            edges.append(end)
    return edges


def _parted(start: int, stop: int, parts: int) -> list[tuple[int, int]]:
    """Part a time into equal stretches, the last one first."""
    edges = sorted({start + (stop - start) * place // parts for place in range(parts + 1)}, reverse=True)
    return [(begin, end) for end, begin in pairwise(edges)]


class Envelope(NamedTuple):
    """The extremes of stretches of a series."""

    points: list[Point]  # the smallest and the largest of each stretch that has numbers
    gaps: list[Point]  # the first NaN of each stretch that has some


def envelope(connection: Connection, series: int, edges: Sequence[int]) -> Envelope:
    """Give the extremes of a series between each stamp and the next.

    A stretch is much like the one before it, so what lies outside the levels that a few points passed there is a few
    rows again, and the extremes are among them: SQLite compares each point once. Where that fails, its own functions
    find the extremes, at more than twice the price.

    Args:
        connection: To the catalogue.
        series: The series.
        edges: Stamps that increase.
    """
    found = Envelope([], [])
    levels: tuple[float, float] | None = None
    for span in pairwise(edges):
        levels = _add_extremes(connection, series, span, levels, found)
    return found


def _add_extremes(
    connection: Connection, series: int, span: tuple[int, int], levels: tuple[float, float] | None, found: Envelope
) -> tuple[float, float] | None:
    """Add the extremes and the first NaN of one stretch; give the levels to try in the next."""
    rows = () if levels is None else driver_rows(connection, _OUTSIDE, (series, *span, *levels, _MANY + 1))
    if levels is None or len(rows) > _MANY:
        found.gaps.extend(driver_rows(connection, _NAN, (series, *span)))
        low, high = [], []
    else:
        found.gaps.extend([row for row in rows if row[2] is None][:1])
        numbers = sorted((row for row in rows if row[2] is not None), key=itemgetter(2))
        low = [row for row in numbers if row[2] < levels[0]]
        high = [row for row in numbers if row[2] > levels[1]]
    lowest = low[0] if low else driver_rows(connection, _LOWEST, (series, *span))[0]
    if lowest[2] is None:  # nothing, or only NaN
        return levels
    highest = high[-1] if high else driver_rows(connection, _HIGHEST, (series, *span))[0]
    found.points.extend((lowest, highest))
    # Where too few passed a level, it is moved so that more do.
    middle, room = (lowest[2] + highest[2]) / 2, (highest[2] - lowest[2]) / 2 * 0.85
    lower = low[_SPARE - 1][2] if len(low) >= _SPARE else middle - room
    upper = high[-_SPARE][2] if len(high) >= _SPARE else middle + room
    return (lower, upper) if lower < upper else None


# -- by step ----------------------------------------------------------------------------------------------------------

_HAS_STEP = """
    SELECT 1 FROM points WHERE series = ? AND ts_ns >= ? AND ts_ns < ? AND step BETWEEN ? AND ? LIMIT 1"""
_TALLY = "SELECT count(*), total(step BETWEEN ? AND ?) FROM points WHERE series = ? AND ts_ns >= ? AND ts_ns < ?"
_STEPS_BETWEEN = "SELECT count(*), min(step), max(step) FROM points WHERE series = ? AND ts_ns >= ? AND ts_ns < ?"
_STEPS_WITHIN = "SELECT count(*), min(step), max(step) FROM points WHERE series = ? AND step BETWEEN ? AND ?"
_BY_STEP = "SELECT ts_ns, step, value FROM points WHERE series = ? AND step BETWEEN ? AND ? ORDER BY step, ts_ns"
# Infinities count, NaN, which is null here, does not; the first gap of each stretch stands for them.
_BY_STRETCH = """
    SELECT ts_ns, step, {value} FROM points WHERE series = ? AND step BETWEEN ? AND ? AND value IS {null} NULL
    GROUP BY (step - ?) / ?"""
_AT_END = "SELECT ts_ns, step, value FROM points WHERE series = ? AND step = ? ORDER BY ts_ns {order} LIMIT 1"


def has_step(connection: Connection, series: int, start: int, stop: int, first: int, last: int) -> bool:
    """Tell whether a time, from a stamp on and before another, has a point of a range of steps."""
    return bool(driver_rows(connection, _HAS_STEP, (series, start, stop, first, last)))


def tally(connection: Connection, series: int, start: int, stop: int, first: int, last: int) -> tuple[int, int]:
    """Count the points from a stamp on and before another, and those of them in a range of steps."""
    count, within = driver_rows(connection, _TALLY, (first, last, series, start, stop))[0]
    return count, int(within)


class Steps(NamedTuple):
    """How many points there are, and their smallest and largest step; zeros where there are none."""

    points: int
    first: int
    last: int


def steps_between(connection: Connection, series: int, start: int, stop: int) -> Steps:
    """Tell the steps of the points from a stamp on and before another; this looks at each of them."""
    count, lowest, highest = driver_rows(connection, _STEPS_BETWEEN, (series, start, stop))[0]
    return Steps(count, lowest or 0, highest or 0)


def steps_within(connection: Connection, series: int, first: int, last: int) -> Steps:
    """Tell the steps of the points of a range of steps; this looks at all points."""
    count, lowest, highest = driver_rows(connection, _STEPS_WITHIN, (series, first, last))[0]
    return Steps(count, lowest or 0, highest or 0)


def by_step(connection: Connection, series: int, first: int, last: int) -> Sequence[Point]:
    """Give the points of a range of steps, wherever they lie; this looks at all points."""
    return numbers_in(driver_rows(connection, _BY_STEP, (series, first, last)))


def envelope_by_step(connection: Connection, series: int, first: int, last: int, wanted: int) -> list[Point]:
    """Give the extremes and a gap of about so many equal stretches of a range of steps, and the points at its ends."""
    width = max(1, -(-(last - first + 1) // wanted))
    found: list[Point] = []
    for value, null in (("min(value)", "NOT"), ("max(value)", "NOT"), ("value", "")):
        sql = _BY_STRETCH.format(value=value, null=null)
        found += driver_rows(connection, sql, (series, first, last, first, width))
    for step, order in ((first, "ASC"), (last, "DESC")):
        found += driver_rows(connection, _AT_END.format(order=order), (series, step))
    return found
