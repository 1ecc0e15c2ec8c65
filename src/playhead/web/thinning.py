"""Fewer points for a chart: spikes survive, the first and the last stay, and gaps stay gaps."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from tsdownsample import MinMaxDownsampler

_LEAST = 16  # points of one column
_GAPS = 4  # a share of the points that may say where there is no value


def kept(values: NDArray[np.float64], most: int, axis: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """Choose at most so many places: the ends, gaps, and the smallest and largest value of equal stretches.

    Args:
        values: In order; NaN is a gap.
        most: How many to choose.
        axis: Where each value lies; without it, they are equally far from one another.
    """
    if len(values) <= most:
        return np.arange(len(values))
    numbers = np.flatnonzero(~np.isnan(values))
    gaps = _gaps(values, max(0, most // _GAPS))
    ends = np.array([0, len(values) - 1])
    room = max(0, most - len(gaps) - len(ends)) // 2 * 2
    if len(numbers) > room:
        numbers = numbers[_extremes(None if axis is None else axis[numbers], values[numbers], room)]
    return np.unique(np.concatenate([ends, gaps, numbers]))


def kept_rows(columns: NDArray[Any], most: int) -> NDArray[np.int64]:
    """Choose rows to draw: those that are chosen for each column.

    Args:
        columns: Rows of numbers.
        most: How many rows at most, about; each column gets a few in any case.
    """
    length, width = columns.shape
    if length <= most:
        return np.arange(length)
    each = max(_LEAST, most // max(1, width))
    numbers = (np.ascontiguousarray(columns[:, place], np.float64) for place in range(width))
    return np.unique(np.concatenate([np.array([0, length - 1]), *(kept(values, each) for values in numbers)]))


def _extremes(axis: NDArray[np.int64] | None, values: NDArray[np.float64], room: int) -> NDArray[Any]:
    """Choose the smallest and largest value of equal stretches of the axis."""
    if room < 4:  # tsdownsample wants two stretches or more
        return np.array([np.argmin(values), np.argmax(values)])[:room]
    relative = None if axis is None else (axis - axis[0]).astype(np.float64)
    if relative is None or relative[-1] <= 0:  # all at one place of the axis
        return np.asarray(MinMaxDownsampler().downsample(values, n_out=room))
    return np.asarray(MinMaxDownsampler().downsample(relative, values, n_out=room))


def _gaps(values: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    """Choose the first NaN of each stretch of NaNs, of the longest ones where there are too many."""
    missing = np.isnan(values)
    begins = np.flatnonzero(missing & ~np.concatenate([[False], missing[:-1]]))
    if len(begins) <= most:
        return begins
    stops = np.flatnonzero(missing & ~np.concatenate([missing[1:], [False]]))
    longest = np.argsort(begins - stops, kind="stable")[:most]
    return np.sort(begins[longest])
