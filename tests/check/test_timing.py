"""Rates, jitter, gaps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.check import Timing, timing_of

MS = 1_000_000


def test_a_regular_signal() -> None:
    found = timing_of(np.arange(101) * 10 * MS + 5)
    assert (found.samples, found.start_ts, found.last_ts, found.span_ns) == (101, 5, 1000 * MS + 5, 1000 * MS)
    assert found.rate_hz == pytest.approx(100)
    assert (found.median_ns, found.jitter_ns, found.longest_ns, found.gaps) == (10 * MS, 0, 10 * MS, ())


def test_a_gap_is_more_than_five_intervals() -> None:
    stamps = np.arange(100) * MS
    stamps[50:] += 4 * MS  # five intervals
    assert timing_of(stamps).gaps == ()
    stamps[50:] += 1
    found = timing_of(stamps)
    assert found.gaps == (49 * MS,)
    assert (found.longest_at, found.longest_ns) == (49 * MS, 5 * MS + 1)


def test_events_without_a_rhythm_have_no_gaps() -> None:
    stamps = np.cumsum(np.tile([1, 1, 1, 40], 20)) * MS
    assert timing_of(stamps).gaps == ()
    assert timing_of(np.array([0, 1, 2, 3, 4, 90])).gaps == ()  # too few to tell


def test_too_few_samples_to_say() -> None:
    assert timing_of(np.empty(0, np.int64)) == Timing(0)
    assert timing_of(np.array([7])) == Timing(1, 7, 7)
    assert timing_of(np.array([7])).span_ns == 0


@given(st.lists(st.integers(1, 10**9), min_size=2, max_size=50))
def test_every_gap_is_one(intervals: list[int]) -> None:
    stamps = np.cumsum(intervals)
    found = timing_of(stamps)
    assert found.median_ns is not None
    following = dict(zip(stamps.tolist(), stamps[1:].tolist(), strict=False))
    assert all(following[at] - at > 5 * found.median_ns for at in found.gaps)
    assert found.longest_ns == max(intervals[1:])
