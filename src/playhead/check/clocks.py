"""What the stamps of the signals of one episode say about each other, and about the clocks they came from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from playhead.check.timing import GAP, Timing
from playhead.clock import SECOND

_APART = 10 * SECOND
_JUMP = SECOND
_ENOUGH = 10  # samples from which a rhythm can be told
_TOO_QUICK = 100_000  # nanoseconds: nothing here is sampled more often
_WEEK = 7 * 86_400 * SECOND
_HOUR = 3600 * SECOND
_EPOCH = (10**9 * SECOND, 41 * 10**8 * SECOND)  # the years 2001 to 2099
_UNITS = {"seconds": SECOND, "milliseconds": 10**6, "microseconds": 10**3}


def wrong_unit(timing: Timing, created_ts_ns: int | None) -> str | None:
    """Tell the unit that the stamps seem to have, where it is not nanoseconds.

    Args:
        timing: How the signal lies in time.
        created_ts_ns: When the recording was made, as far as it is known.
    """
    if timing.start_ts is None:
        return None
    for unit, factor in _UNITS.items():
        in_ns = timing.start_ts * factor
        is_too_quick = timing.median_ns is not None and timing.median_ns < _TOO_QUICK
        is_near = created_ts_ns is not None and abs(in_ns - created_ts_ns) < _WEEK
        if _EPOCH[0] <= in_ns <= _EPOCH[1] and (is_too_quick or is_near):
            return unit
    return None


def strangers(timings: Mapping[str, Timing]) -> Iterator[tuple[str, str]]:
    """Find signals that do not begin, end or go on with the others.

    Args:
        timings: How the signals lie in time.

    Yields:
        The name of a signal and what is strange about it.
    """
    known = {name: timing for name, timing in timings.items() if timing.samples}
    if len(known) < 2:
        return
    begin = _middle([timing.start_ts or 0 for timing in known.values()])
    away = {name for name, timing in known.items() if abs((timing.start_ts or 0) - begin) > _APART}
    end = _middle([timing.last_ts or 0 for name, timing in known.items() if name not in away])
    for name, timing in known.items():
        late = (timing.start_ts or 0) - begin
        others = [other for key, other in known.items() if key != name and key not in away]
        if name in away:
            text = f"begins {stretch(abs(late))} {'after' if late > 0 else 'before'} the other signals"
            yield name, f"{text}; do all have the same clock?" if abs(late) > _HOUR else text
        elif others and (jump := _jump(timing, max(other.last_ts or 0 for other in others))):
            yield name, jump
        elif abs(beyond := (timing.last_ts or 0) - end) > _APART:
            yield name, f"ends {stretch(abs(beyond))} {'after' if beyond > 0 else 'before'} the other signals"


def _middle(moments: list[int]) -> int:
    return sorted(moments)[(len(moments) - 1) // 2]


def _jump(timing: Timing, newest: int) -> str:
    """Tell a jump of the clock from a pause: after a pause a signal still ends with the others."""
    step, beyond = timing.longest_ns or 0, (timing.last_ts or 0) - newest
    if step > _JUMP and beyond > _JUMP and 0.5 < beyond / step < 2:
        return (
            f"its clock seems to have jumped by {stretch(step)}: the stamps leap that far at {timing.longest_at} and "
            f"then end {stretch(beyond)} after all others"
        )
    return ""


def common_pause(stamps: Mapping[str, NDArray[np.int64]]) -> tuple[int, int] | None:
    """Find the longest time, of more than a second and unlike the rest, in which no signal at all has a sample.

    Args:
        stamps: The stamps of the signals.

    Returns:
        When it begins and how long it is.
    """
    merged = np.sort(np.concatenate([np.empty(0, np.int64), *stamps.values()]))
    if len(merged) < _ENOUGH:
        return None
    intervals = np.diff(merged)
    longest = int(intervals.argmax())
    length = int(intervals[longest])
    # Not against the median: samples of several signals come in bunches.
    is_unlike = length > GAP * float(np.quantile(intervals, 0.95))
    return (int(merged[longest]), length) if length > _JUMP and is_unlike else None


def stretch(nanoseconds: int) -> str:
    """Give a stretch of time as people read it."""
    seconds = nanoseconds / SECOND
    if seconds < 1:
        return f"{nanoseconds / 10**6:.3g} ms"
    if seconds < 120:
        return f"{seconds:.2f} s"
    if seconds < 2 * 86_400:
        return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
    return f"{seconds / 86_400:,.0f} days"
