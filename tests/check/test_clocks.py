"""Clocks that differ, jump, or count in another unit."""

from __future__ import annotations

import numpy as np
import pytest

from playhead.check.clocks import common_pause, strangers, stretch, wrong_unit
from playhead.check.timing import timing_of
from tests.check.making import MS, SECOND, START


def regular(start: int = START, seconds: float = 20, step: int = 10 * MS) -> np.ndarray:
    return start + np.arange(int(seconds * SECOND / step)) * step


@pytest.mark.parametrize(("factor", "unit"), [(SECOND, "seconds"), (MS, "milliseconds"), (1000, "microseconds")])
def test_another_unit_is_told_by_its_size_and_pace(factor: int, unit: str) -> None:
    stamps = np.unique(regular() // factor)
    assert wrong_unit(timing_of(stamps), None) == unit


def test_another_unit_is_told_by_the_date_of_the_recording() -> None:
    slow = regular(step=SECOND) // 1000  # in nanoseconds this could be a clock that began at the start of the machine
    assert wrong_unit(timing_of(slow), None) is None
    assert wrong_unit(timing_of(slow), START + 5 * SECOND) == "microseconds"


@pytest.mark.parametrize("start", [0, 12 * SECOND, 3 * 86_400 * SECOND, START])
def test_nanoseconds_of_any_clock_are_fine(start: int) -> None:
    assert wrong_unit(timing_of(regular(start)), START) is None
    assert wrong_unit(timing_of(np.empty(0, np.int64)), START) is None


def texts(**stamps: np.ndarray) -> dict[str, str]:
    return dict(strangers({name: timing_of(found) for name, found in stamps.items()}))


def test_signals_that_go_together_are_no_strangers() -> None:
    assert texts(a=regular(), b=regular(START + SECOND), c=regular(step=SECOND)) == {}
    assert texts(a=regular()) == {}
    assert texts(a=regular(), nothing=np.empty(0, np.int64)) == {}


def test_one_that_begins_elsewhere() -> None:
    found = texts(a=regular(), b=regular(), late=regular(START + 11 * SECOND), boot=regular(55 * SECOND))
    assert set(found) == {"late", "boot"}
    assert found["late"] == "begins 11.00 s after the other signals"
    assert found["boot"].endswith("before the other signals; do all have the same clock?")


def test_one_that_ends_early() -> None:
    assert texts(a=regular(), b=regular(), c=regular(seconds=5)) == {"c": "ends 15.00 s before the other signals"}


def test_a_clock_that_jumps_is_told_from_a_pause() -> None:
    jumped = regular()
    jumped[1000:] += 4 * SECOND
    assert "jumped by 4.01 s" in texts(a=regular(), b=regular(), c=jumped)["c"]
    paused = np.concatenate([regular(seconds=10), regular(START + 14 * SECOND, seconds=6)])
    assert texts(a=regular(), b=regular(), c=paused) == {}


def test_a_pause_of_all() -> None:
    whole = regular()
    assert common_pause({"a": whole, "b": whole + MS}) is None
    torn = np.concatenate([regular(seconds=10), regular(START + 13 * SECOND, seconds=7)])
    assert common_pause({"a": torn, "b": torn + MS}) == (START + 10 * SECOND - 9 * MS, 3 * SECOND + 9 * MS)
    assert common_pause({"a": torn, "b": whole}) is None
    assert common_pause({}) is None


def test_stretches_are_short_to_read() -> None:
    seconds = (0.0005, 0.25, 1.5, 300, 10_000, 400_000_000)
    assert [stretch(int(s * SECOND)) for s in seconds] == ["0.5 ms", "250 ms", "1.50 s", "5 min", "3 h", "4,630 days"]
