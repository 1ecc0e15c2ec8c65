"""The times at which signals are sampled: as they come, and in windows around moments."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead.errors import BadKey, BadSlice
from playhead.signal import Signal, keys

Times = Sequence[int] | NDArray[Any] | slice


def as_times(times: Times, signals: Mapping[str, Signal[Any]]) -> NDArray[np.int64]:
    """Take times in any form, into an array that nobody else holds.

    Args:
        times: A list, a range, an array of any dimensions, or a slice with start, stop and step.
        signals: Whose newest sample ends a slice without a stop.

    Raises:
        BadKey: They are no whole numbers of 64 bits.
        BadSlice: A slice without a start, or without a positive step.
    """
    if isinstance(times, slice):
        return _sliced(times, signals)
    if isinstance(times, range):
        return _ranged(times)
    if isinstance(times, np.ndarray):
        return keys.as_integers(times.reshape(-1), keys.TIME, keys.too_late).reshape(times.shape).copy()
    return keys.as_integers(times, keys.TIME, keys.too_late)


def _sliced(times: slice, signals: Mapping[str, Signal[Any]]) -> NDArray[np.int64]:
    if times.step is None:
        raise BadSlice("a slice of times has a start, a stop and a step: slice(start, stop, step)")
    start, stop, step = keys.stepped_times(times)
    if start < keys.LEAST:
        raise keys.too_late(start)
    if stop is None:
        stop = max((signal.last_ts + 1 for signal in signals.values() if len(signal)), default=start)
    return keys.times_between(start, stop, step)


def _ranged(times: range) -> NDArray[np.int64]:
    if not times:
        return np.empty(0, np.int64)
    if times.step < 0:
        return _ranged(times[::-1])[::-1].copy()
    if times[0] < keys.LEAST:
        raise keys.too_late(times[0])
    return keys.times_between(times[0], times[-1] + 1, times.step)


def window_times(
    anchors: int | Sequence[int] | NDArray[Any], offsets: Sequence[float] | NDArray[Any]
) -> NDArray[np.int64]:
    """Give the times around anchors: one row an anchor, or a single row for a single one.

    Args:
        anchors: Nanoseconds: one time, or several in a list or an array.
        offsets: Seconds: a list (`[-0.1, 0]`), or a tuple of start, stop and step (`(0, 1.6, 0.1)`, 16 of them).

    Raises:
        BadKey, BadSlice: They are something else, see `offsets_ns`; or a time leaves 64 bits.
    """
    is_single = not keys.are_several(anchors)
    several: Any = [anchors] if is_single else anchors
    moments, distances = as_times(several, {})[..., np.newaxis], offsets_ns(offsets)
    times: NDArray[np.int64] = moments + distances
    if ((times < moments) != (distances < 0)).any():
        raise BadKey(f"a window around {several} leaves the 64 bits of {keys.TIME}")
    return times[0] if is_single else times


def offsets_ns(offsets: Sequence[float] | NDArray[Any]) -> NDArray[np.int64]:
    """Turn the offsets of a window, in seconds, into whole nanoseconds.

    Args:
        offsets: A list of seconds, or a tuple of start, stop and step. A tuple stands for start, start + step and so
            on, as long as that is below the stop in whole nanoseconds: (0, 1.1, 0.1) are 11, (0, 1, 1 / 30) are 30.

    Raises:
        BadKey: It is something else, holds nothing, or leaves 64 bits.
        BadSlice: The step is less than a nanosecond, or the stop is not behind the start.
    """
    if isinstance(offsets, tuple):
        return _stepped(offsets)
    try:
        seconds = np.asarray(offsets)
    except ValueError:
        seconds = np.empty(0)  # lists of different lengths
    if seconds.ndim != 1 or not seconds.size or seconds.dtype.kind not in "iuf":
        raise BadKey(f"offsets are a list of seconds, or a tuple of start, stop and step in seconds, not {offsets!r}")
    return _as_ns(seconds)


def _stepped(offsets: tuple[float, ...]) -> NDArray[np.int64]:
    if len(offsets) != 3 or np.asarray(offsets).dtype.kind not in "iuf":
        raise BadKey(f"a tuple of offsets is (start, stop, step) in seconds; for single offsets pass {list(offsets)}")
    start, stop, step = map(float, offsets)
    first, end, least = _as_ns(np.array([start, stop, step])).tolist()
    if least < 1 or end <= first:
        raise BadSlice(f"offsets go from a start to a later stop in steps of at least a nanosecond, not {offsets}")
    # One more than fits, since the quotient may be a hair too small; what reaches the stop is cut off in nanoseconds.
    found = _as_ns(start + np.arange(math.ceil((stop - start) / step) + 1) * step)
    below: NDArray[np.int64] = found[found < end]
    return below


def _as_ns(seconds: NDArray[Any]) -> NDArray[np.int64]:
    nanoseconds = np.rint(seconds.astype(np.float64) * 1e9)
    if not (np.abs(nanoseconds) < 2.0**63).all():
        raise BadKey(f"offsets are seconds, and fit into 64 bits as nanoseconds; {seconds.tolist()} do not")
    return nanoseconds.astype(np.int64)
