"""Stamps follow a wall clock that runs ahead, never go back, and cost two looks at clocks at most."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import playhead
from playhead import clock
from playhead.web.app import make_app
from playhead.web.server import Background

HERE = Path(__file__).parent
HOUR = 3600 * clock.SECOND
EACH = 3


class Clocks:
    """A wall clock and a monotonic one that stand still until they are moved."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.wall, self.elapsed = 1_800_000_000 * clock.SECOND, 77 * clock.SECOND
        self.looks = 0
        monkeypatch.setattr(clock, "now_ns", self._look)
        monkeypatch.setattr(clock, "elapsed_ns", lambda: self.elapsed)

    def _look(self) -> int:
        self.looks += 1
        return self.wall

    def go(self, ns: int, ahead: int = 0) -> None:
        self.wall, self.elapsed = self.wall + ns + ahead, self.elapsed + ns


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    return Clocks(monkeypatch)


def test_a_wall_clock_that_is_far_ahead_is_followed(clocks: Clocks) -> None:
    stamps = clock.Stamps()
    assert stamps.next() == clocks.wall
    for ahead in (8 * HOUR, clock.SECOND + 1, HOUR):
        clocks.go(clock.SECOND, ahead)
        assert stamps.next() == clocks.wall


def test_one_that_is_a_little_ahead_is_not(clocks: Clocks) -> None:
    stamps = clock.Stamps()
    began = clocks.wall
    clocks.go(clock.SECOND, clock.SECOND)
    assert stamps.next() == began + clock.SECOND
    clocks.go(clock.SECOND, 1)  # a little more: over a second together
    assert stamps.next() == clocks.wall


def test_one_that_is_set_back_is_not_followed(clocks: Clocks) -> None:
    stamps = clock.Stamps()
    first = stamps.next()
    clocks.go(clock.SECOND, -HOUR)
    assert stamps.next() == first + clock.SECOND
    assert stamps.now() == first + clock.SECOND
    clocks.go(clock.SECOND, HOUR)
    assert stamps.next() == first + 2 * clock.SECOND


def test_stamps_increase_while_clocks_stand_still(clocks: Clocks) -> None:
    stamps = clock.Stamps(after=clocks.wall + HOUR)
    assert [stamps.next() - clocks.wall for _ in range(3)] == [HOUR + 1, HOUR + 2, HOUR + 3]
    assert stamps.now() - clocks.wall == HOUR + 3
    assert stamps.next() - clocks.wall == HOUR + 4  # reading the time takes none


def test_the_wall_clock_is_looked_at_a_hundred_times_a_second_at_most(clocks: Clocks) -> None:
    stamps = clock.Stamps()
    clocks.looks = 0
    for _ in range(10_000):
        clocks.go(100_000)
        stamps.next()
    assert 90 <= clocks.looks <= 101


@pytest.fixture(scope="module")
def moved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[list[int]]]:
    """A store that was recorded while its wall clock went eight hours ahead and four back, and what that said."""
    folder = tmp_path_factory.mktemp("moved")
    library, store = folder / "moved_clock.so", folder / "store"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, HERE / "moved_clock.c", "-ldl"], check=True)
    found = subprocess.run(
        [sys.executable, HERE / "moving_clock.py", store],
        check=True,
        timeout=120,
        capture_output=True,
        env=os.environ | {"LD_PRELOAD": str(library)},
    )
    return store, json.loads(found.stdout)


def stamps_of(run: Any) -> dict[str, list[int]]:
    played = {
        f"{episode.uid} {name}": signal.timestamps.tolist()
        for episode in run.episodes
        for name, signal in episode.signals.items()
        if name.endswith("reward")
    }
    assert len(played) == 4  # two agents
    return played | {
        "metric": run["x"].timestamps.tolist(),
        "trace": run.traces["fit"].timestamps.tolist(),
    }


def test_everything_that_is_recorded_follows(moved: tuple[Path, list[list[int]]]) -> None:
    path, said = moved
    with playhead.open(path, mode="r") as store:
        for name, stamps in stamps_of(store.runs["r"]).items():
            assert len(stamps) == 3 * EACH, name
            assert (np.diff(stamps) > 0).all(), name
            for number, (before, after) in enumerate(said[:2]):
                stretch = stamps[number * EACH : (number + 1) * EACH]
                assert before - clock.SECOND <= stretch[0] <= stretch[-1] <= after + clock.SECOND, name
            last = stamps[2 * EACH :]  # it goes on as if nobody had set the clock back
            assert 0 < last[0] - stamps[2 * EACH - 1] < 60 * clock.SECOND, name


@pytest.mark.parametrize("zone", ["America/Los_Angeles", "Asia/Kathmandu"])
def test_a_line_of_text_has_the_time_of_the_value_before_it(
    moved: tuple[Path, list[list[int]]], monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        with playhead.open(moved[0], mode="r") as store, Background(make_app(store)) as server:
            values = store.runs["r"]["x"].timestamps.tolist()
            origin = round(store.runs["r"].created_at * clock.SECOND)
            lines = httpx.get(f"{server.address}api/runs/r/log").json()["lines"]
            at = [line["time_s"] for line in lines]
            assert len(at) == len(values)
            assert at == pytest.approx([(stamp - origin) / clock.SECOND for stamp in values], abs=0.1)
            early, late = (
                httpx.get(f"{server.address}api/runs/r/moment", params={"time_s": one - 0.0001}).json()["lines"]
                for one in (at[EACH], at[-1] + 1)
            )
            assert [line["time_s"] <= at[EACH - 1] for line in early] == [True] * EACH + [False] * 2 * EACH
            assert [line["time_s"] for line in late] == at
    finally:
        monkeypatch.undo()
        time.tzset()
