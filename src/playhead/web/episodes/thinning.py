"""Fewer points for a chart: spikes survive, the first and the last stay, and gaps stay gaps."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_LEAST = 16  # points of one column
_GAPS = 4  # a share of the points that may say where there is no value


def chosen(columns: NDArray[Any], points: int) -> NDArray[np.int64]:
    """Choose rows to draw: those with the extremes of each column in each stretch.

    Args:
        columns: Rows of numbers.
        points: How many rows at most, about; each column gets a few in any case.
    """
    length, width = columns.shape
    if length <= points:
        return np.arange(length)
    each = max(_LEAST, points // max(1, width))
    found = [np.array([0, length - 1]), *(_of_column(columns[:, place], each) for place in range(width))]
    return np.unique(np.concatenate(found))


def _of_column(values: NDArray[Any], points: int) -> NDArray[np.int64]:
    from tsdownsample import MinMaxDownsampler

    numbers = np.ascontiguousarray(values, np.float64)
    missing = np.isnan(numbers)
    if not missing.any():
        return _picked(MinMaxDownsampler, numbers, points)
    # A gap is seen by one missing value among the others.
    begins = np.flatnonzero(missing & ~np.concatenate([[False], missing[:-1]]))
    begins = begins[np.unique(np.linspace(0, len(begins) - 1, max(1, points // _GAPS)).astype(int))]
    there = np.flatnonzero(~missing)
    return np.concatenate([begins, there[_picked(MinMaxDownsampler, numbers[there], points)]])


def _picked(downsampler: Any, numbers: NDArray[np.float64], points: int) -> NDArray[np.int64]:
    if len(numbers) <= points:
        return np.arange(len(numbers))
    return np.asarray(downsampler().downsample(numbers, n_out=points // 2 * 2), np.int64)
