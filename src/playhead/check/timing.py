"""How a signal lies in time: rate, jitter, gaps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

GAP = 5  # times the median interval
_ENOUGH = 10  # samples from which a rhythm can be told
_MOST_GAPS = 0.05  # of all intervals; with more, the signal has no rhythm that could be broken


@dataclass(frozen=True, slots=True)
class Timing:
    """What the stamps of one signal tell. Times are in nanoseconds; None where there are too few samples to say.

    Attributes:
        samples: How many there are.
        start_ts: The first stamp.
        last_ts: The newest stamp.
        rate_hz: Samples a second, on average.
        median_ns: The interval between two samples, in the middle.
        jitter_ns: How far intervals stray from the median: 95 of 100 less than this.
        longest_ns: The longest interval.
        longest_at: The stamp at which it begins.
        gaps: The stamps at which an interval of more than five times the median begins; none where the signal has no
            rhythm.
    """

    samples: int
    start_ts: int | None = None
    last_ts: int | None = None
    rate_hz: float | None = None
    median_ns: int | None = None
    jitter_ns: int | None = None
    longest_ns: int | None = None
    longest_at: int | None = None
    gaps: tuple[int, ...] = ()

    @property
    def span_ns(self) -> int:
        """The time from the first sample to the last."""
        return 0 if self.start_ts is None or self.last_ts is None else self.last_ts - self.start_ts


def timing_of(stamps: NDArray[np.int64]) -> Timing:
    """Measure how samples lie in time.

    Args:
        stamps: Their times in nanoseconds, in order.
    """
    count = len(stamps)
    if not count:
        return Timing(0)
    start, last = int(stamps[0]), int(stamps[-1])
    if count == 1:
        return Timing(1, start, last)
    intervals = np.diff(stamps)
    median = int(np.median(intervals))
    longest = int(intervals.argmax())
    is_gap = intervals > GAP * median
    has_rhythm = count >= _ENOUGH and is_gap.mean() <= _MOST_GAPS
    return Timing(
        samples=count,
        start_ts=start,
        last_ts=last,
        rate_hz=(count - 1) * 1e9 / (last - start) if last > start else None,
        median_ns=median,
        jitter_ns=int(np.quantile(np.abs(intervals - median), 0.95)),
        longest_ns=int(intervals[longest]),
        longest_at=int(stamps[longest]),
        gaps=tuple(stamps[:-1][is_gap].tolist()) if has_rhythm else (),
    )
