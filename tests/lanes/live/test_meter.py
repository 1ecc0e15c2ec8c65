"""The numbers beside a frame."""

from __future__ import annotations

import pytest

from playhead import clock
from playhead.lanes.live.meter import Meter


def test_the_rolling_return_is_that_of_the_last_hundred_episodes() -> None:
    meter = Meter()
    meter.note(2.0, ended=False)
    assert meter.figures(clock.elapsed_ns())[:2] == (2.0, 2.0)  # until one has ended, that of the one under way
    meter.note(3.0, ended=True)
    meter.note(1.0, ended=False)
    assert meter.figures(clock.elapsed_ns())[:2] == (1.0, 5.0)
    assert meter.episode_return == 1.0
    for episode in range(100):
        meter.note(float(episode), ended=True)
    assert meter.figures(clock.elapsed_ns())[1] == pytest.approx((99 * 100 / 2 + 1) / 100)
    assert (meter.steps, meter.episodes) == (103, 101)


def test_environments_beside_each_other_have_returns_of_their_own() -> None:
    meter = Meter()
    for lane in range(4):
        meter.note(float(lane), ended=False, lane=lane)
    meter.figures(clock.elapsed_ns())
    assert meter.episode_return == 1.5
    meter.note(10.0, ended=True, lane=3)
    assert meter.figures(clock.elapsed_ns())[1] == 13.0


def test_the_step_rate_follows_within_a_second() -> None:
    meter, now = Meter(), clock.elapsed_ns()
    for rate, seconds in ((1000, 2), (100, 5)):
        for _ in range(seconds * 50):
            for _ in range(rate // 50):
                meter.note(0.0, ended=False)
            now += clock.SECOND // 50
            found = meter.figures(now)[2]
        assert found == pytest.approx(rate, rel=0.2)
