"""How far the catalogue is behind what is recorded, for those who read it in another process."""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path

import pytest

import playhead
from playhead.writer import BackgroundWriter

TEN = {f"metric_{number}": number / 7 for number in range(10)}
RATE = 200  # calls a second, of ten values each
BEHIND = 2.0  # seconds; documented are 0.6, on a machine that is not busy
BURST = 20_000  # calls
CAUGHT_UP = 30.0  # seconds; 1 to 3 on a machine that is not busy


def test_at_a_usual_rate_it_is_hardly_behind(tmp_path: Path) -> None:
    recorded: list[float] = []  # when each call returned
    with playhead.open(tmp_path / "s") as store, store.run("p", "r", environment=False) as run:
        with playhead.open(tmp_path / "s", mode="r") as reading:
            began = time.perf_counter()
            while time.perf_counter() - began < 3:
                run.log(TEN)
                recorded.append(time.perf_counter())
                if len(recorded) % 20 == 0:
                    asked = time.perf_counter()
                    old = sum(one < asked - BEHIND for one in recorded)
                    assert reading.runs[0].points >= old * len(TEN)
                time.sleep(1 / RATE)


def test_after_a_burst_it_catches_up(tmp_path: Path) -> None:
    with playhead.open(tmp_path / "s") as store, store.run("p", "r", environment=False) as run:
        for _ in range(BURST):
            run.log(TEN)
        ended = time.perf_counter()
        with playhead.open(tmp_path / "s", mode="r") as reading:
            while reading.runs[0].points < BURST * len(TEN):
                assert time.perf_counter() - ended < CAUGHT_UP
                time.sleep(0.05)


def test_reading_from_the_recorder_itself_misses_nothing(tmp_path: Path) -> None:
    with playhead.open(tmp_path / "s") as store, store.run("p", "r", environment=False) as run:
        for number in range(5_000):
            run.log({"x": number})
        assert len(run["x"]) == 5_000


@pytest.mark.parametrize("is_busy", [True, False])
def test_a_background_rests_less_while_the_caller_is_quiet(is_busy: bool) -> None:
    rounds: list[float] = []

    def work() -> bool:
        rounds.append(time.perf_counter())
        time.sleep(0.03)
        return True

    writer = BackgroundWriter(work, 0.01, "test", is_busy=lambda: is_busy)
    writer.start()
    time.sleep(1)
    writer.abandon()
    between = sorted(later - earlier for earlier, later in pairwise(rounds))
    median = between[len(between) // 2]
    assert median > 0.14 if is_busy else median < 0.12
