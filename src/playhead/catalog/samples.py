"""A few values of a metric, enough to draw its curve, without reading all of its points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from sqlalchemy import Connection

from playhead.catalog.database import driver_rows
from playhead.catalog.typed_rows import numbers_in

Item = TypeVar("Item")

# Up to here reading every point costs less than seeking some.
_FEW = 2_000
# Points come in bursts and pauses: of more moments than are wanted, those that fall into one pause count once.
_MOMENTS_PER_VALUE = 5

_ALL = "SELECT value FROM points WHERE series = ? ORDER BY ts_ns"
_ENDS = "SELECT min(ts_ns), max(ts_ns) FROM points WHERE series = ?"
_NEXT = "SELECT ts_ns, value FROM points WHERE series = ? AND ts_ns >= ? ORDER BY ts_ns LIMIT 1"


def of_series(connection: Connection, series: int, size: int, count: int) -> list[float | None]:
    """Give at most `count` values of a series in order of time; None is NaN.

    Of a short series every n-th is given; of a long one those next to moments spread over its life.

    Args:
        connection: To the catalogue.
        series: The key of the series.
        size: How many points it has.
        count: How many values to give.
    """
    if size <= _FEW:
        return [value for (value,) in numbers_in(_every_nth(driver_rows(connection, _ALL, (series,)), count))]
    ((first, last),) = driver_rows(connection, _ENDS, (series,))
    moments = count * _MOMENTS_PER_VALUE
    found: dict[int, float | None] = {}
    for place in range(moments):
        nearest = driver_rows(connection, _NEXT, (series, first + (last - first) * place // (moments - 1)))
        found |= dict(numbers_in(nearest))
    return _every_nth(list(found.values()), count)


def _every_nth(items: Sequence[Item], count: int) -> list[Item]:
    if len(items) <= count:
        return list(items)
    return [items[place * (len(items) - 1) // (count - 1)] for place in range(count)]
