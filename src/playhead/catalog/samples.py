"""A few values of a metric, enough to draw its curve, without reading all of its points."""

from __future__ import annotations

from sqlalchemy import Connection, bindparam, func, select

from playhead.catalog.schema import points

# Up to here reading every point costs less than seeking some.
_FEW = 2_000


def of_series(connection: Connection, series: int, size: int, count: int) -> list[float | None]:
    """Give at most `count` values of a series in order of time; None is NaN.

    Of a short series every n-th is given; of a long one those nearest to evenly spaced moments.

    Args:
        connection: To the catalogue.
        series: The key of the series.
        size: How many points it has.
        count: How many values to give.
    """
    if size <= _FEW:
        chosen = select(points.c.value).where(points.c.series == series).order_by(points.c.ts_ns)
        values = list(connection.execute(chosen).scalars())
        return _every_nth(values, count)
    mine = points.c.series == series
    first, last = connection.execute(select(func.min(points.c.ts_ns), func.max(points.c.ts_ns)).where(mine)).one()
    moments = [first + (last - first) * place // (count - 1) for place in range(count)]
    later = select(points.c.value).where(mine, points.c.ts_ns >= bindparam("moment"))
    next_value = later.order_by(points.c.ts_ns).limit(1)
    return [connection.execute(next_value, {"moment": moment}).scalar_one() for moment in moments]


def _every_nth(values: list[float | None], count: int) -> list[float | None]:
    if len(values) <= count:
        return values
    return [values[place * (len(values) - 1) // (count - 1)] for place in range(count)]
