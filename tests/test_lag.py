"""How far the catalogue is behind what is recorded, for those who read it in another process."""

from __future__ import annotations

import math
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest

import playhead
from playhead.catalog import points
from playhead.layout import Layout
from playhead.recording import lead
from playhead.recording.lead import Lead
from playhead.writer import BackgroundWriter

TEN = {f"metric_{number}": number / 7 for number in range(10)}
RATE = 200  # calls a second, of ten values each
BEHIND = 2.0  # seconds; documented are 0.6, on a machine that is not busy
BURST = 20_000  # calls
CAUGHT_UP = 30.0  # seconds; documented are 5, on a machine that is not busy
SLACK = 24 << 20  # bytes; a line on a machine that is not busy, on which the index never pauses for a second
FLAT_OUT = """
import sys, time
import playhead

ten = {f"metric_{number}": number / 7 for number in range(10)}
with playhead.open(sys.argv[1]) as store, store.run("p", "r", run_id="flat", environment=False) as run:
    ends = time.monotonic() + float(sys.argv[2])
    while time.monotonic() < ends:
        run.log(ten)
    print("logged", flush=True)
    sys.stdin.readline()
"""


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


def bytes_behind(reading: playhead.Store) -> int:
    """Return how many bytes of the run `flat` were not indexed when this was called, at least."""
    run = reading.runs["flat"]
    size = (Layout(reading.path).run_at(run._row.run_dir).events()).stat().st_size
    with reading._home.database.read() as connection:
        return size - points.position(connection, run._row.key, 1)[0]


def test_it_is_never_further_behind_than_the_limit_and_soon_complete(tmp_path: Path) -> None:
    path, seconds = tmp_path / "s", 3.0
    playhead.open(path).close()
    command = [sys.executable, "-c", FLAT_OUT, str(path), str(seconds)]
    with (
        playhead.open(path, mode="r") as reading,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as logging,
    ):
        assert logging.stdout is not None
        while "flat" not in [run.id for run in reading.runs]:
            assert logging.poll() is None
            time.sleep(0.05)
        behind = [0]
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            behind.append(bytes_behind(reading))
            time.sleep(0.02)
        assert logging.stdout.readline() == "logged\n"
        ended = time.monotonic()
        behind.append(bytes_behind(reading))
        while bytes_behind(reading):
            assert time.monotonic() - ended < CAUGHT_UP
            time.sleep(0.05)
        logging.communicate("end\n")
    assert logging.returncode == 0
    assert max(behind) <= lead.MOST + SLACK


def test_who_logs_within_the_limit_never_waits() -> None:
    ahead = Lead(1_000)
    assert ahead.limit == 1_000 + lead.MOST
    ahead.hold(1_000 + lead.MOST, wake=pytest.fail)
    ahead.note(5_000, 6_000)
    assert ahead.limit == 5_000 + lead.MOST
    assert [ahead.is_late(5_000 + size) for size in (lead.LATE, lead.LATE + 1)] == [False, True]


def test_who_is_past_the_limit_waits_until_the_index_comes_nearer() -> None:
    ahead = Lead(0)
    size = lead.MOST + 10
    rounds: list[int] = []

    def index_more() -> None:
        rounds.append(max(0, len(rounds) - 2) * 1_000)
        ahead.note(rounds[-1], size)

    ahead.hold(size, index_more)
    assert rounds == [0, 0, 0, 1_000]
    assert ahead.limit == 1_000 + lead.MOST


@pytest.mark.parametrize("is_known", [True, False])
def test_nobody_waits_for_an_index_that_does_not_move(is_known: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lead, "PATIENCE", 0.2)
    ahead = Lead(0)
    began = time.monotonic()
    ahead.hold(lead.MOST + 10, ahead.lift if is_known else lambda: None)
    assert (0 if is_known else 0.2) <= time.monotonic() - began < (0.15 if is_known else 2)
    assert ahead.limit == math.inf
    ahead.note(0, lead.MOST + 20)  # it still does not
    assert ahead.limit == math.inf


def test_an_index_that_can_be_written_again_catches_up_while_more_is_logged() -> None:
    ahead = Lead(0)
    ahead.lift()
    size, indexed = 10 * lead.MOST, 0
    while indexed < 9 * lead.MOST:
        indexed += lead.MOST
        ahead.note(indexed, size)
        assert ahead.limit >= size + lead.MOST // 2 or ahead.limit == indexed + lead.MOST
        size = max(size, int(min(ahead.limit, 12 * lead.MOST)))
    assert size == 12 * lead.MOST


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


def test_a_background_that_is_late_does_not_rest() -> None:
    rounds: list[float] = []

    def work() -> bool:
        rounds.append(time.perf_counter())
        time.sleep(0.03)
        return True

    writer = BackgroundWriter(work, 0.01, "test", is_late=lambda: True)
    writer.start()
    time.sleep(1)
    writer.abandon()
    between = sorted(later - earlier for earlier, later in pairwise(rounds))
    assert between[len(between) // 2] < 0.06
