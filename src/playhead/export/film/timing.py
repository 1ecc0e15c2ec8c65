"""When each step of an episode is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

SLOWEST, FASTEST = 0.1, 16.0  # how much slower and faster than its own time an episode is played

_WATCHABLE = 100.0  # steps a second; what was recorded faster was not meant to be watched at its own speed
_USUAL = 30.0
_LONGEST = 2.0  # seconds that one step is shown: a recording may have paused for hours
_LAST = 1.0  # seconds that the end of a film is shown at least


def rate_of(stamps: NDArray[np.int64], static: Mapping[str, Any], fps: float | None = None) -> float | None:
    """Give the steps a second at which an episode is played; None where it is played as it was recorded.

    Training runs an environment as fast as it can: such an episode is played at the rate that the environment names
    (`fps`, or `render_fps`), else at 30 steps a second.

    Args:
        stamps: The times of the steps.
        static: What is known of the episode.
        fps: What the user wants.
    """
    if fps is not None:
        return fps
    if len(stamps) > 1 and float(np.median(np.diff(stamps))) * _WATCHABLE >= 1e9:
        return None
    named = static.get("fps", static.get("render_fps"))
    is_rate = isinstance(named, (int, float)) and not isinstance(named, bool) and 0 < named <= 1000
    return float(named) if is_rate and named is not None else _USUAL


def times_of(stamps: NDArray[np.int64], rate: float | None, *, more: int = 0) -> NDArray[np.float64]:
    """Give the second at which each step is shown, from 0 on, and behind them the one at which the last one ends.

    Args:
        stamps: The times of the steps.
        rate: Steps a second; None for their own times, of which long ones are cut short.
        more: So many pictures follow the last step.
    """
    count = len(stamps) + more
    if rate is not None:
        return np.arange(count + 1) / rate
    intervals = np.clip(np.diff(stamps) / 1e9, 0.0, _LONGEST)
    usual = float(np.median(intervals)) if len(intervals) else 1 / _USUAL
    times: NDArray[np.float64] = np.concatenate([[0.0], np.cumsum(np.append(intervals, [usual] * (more + 1)))])
    return times


def thinned(times: NDArray[np.float64], least: float) -> list[int]:
    """Choose what a film shows: the first, the last, and of the others as many as are `least` seconds apart.

    Args:
        times: When each would be shown, in order.
        least: The shortest time that a picture stays.
    """
    chosen = [0]
    for place in range(1, len(times)):
        if times[place] - times[chosen[-1]] >= least * 0.999:
            chosen.append(place)
    if chosen[-1] != len(times) - 1:
        if len(chosen) > 1:
            chosen.pop()
        chosen.append(len(times) - 1)
    return chosen


def shown_for(times: NDArray[np.float64], chosen: list[int], end: float, unit: float) -> list[int]:
    """Give how long each picture of a film stays, in units; rounding one is made up for by the next.

    Args:
        times: When each would be shown.
        chosen: Those that are.
        end: When the last one ends; it stays for a second at least.
        unit: The seconds of a unit.
    """
    last = max(end - times[chosen[-1]], _LAST)
    moments = np.append(times[chosen], times[chosen[-1]] + last) - times[chosen[0]]
    return [max(1, int(units)) for units in np.diff(np.rint(moments / unit))]
