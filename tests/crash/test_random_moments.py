"""SIGKILL at random moments while four processes log: every point whose call returned is there afterwards.

Here a tenth of the kills; `make campaign` does all 200.
"""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest

import playhead
from tests.dump import assert_catalogue_agrees_with_folders

KILLS = max(2, round(200 * float(os.environ.get("PLAYHEAD_CAMPAIGN", "0.1"))))
PROCESSES = 4


def recorder(path: Path, pipe: int, number: int) -> None:
    """Record for ever: rounds of runs, each acknowledged point told through the pipe."""
    with playhead.open(path) as store:
        while True:
            with store.run("p", f"n{number}") as run:
                for value in range(200):
                    run.log({"x": value, "y": -value})
                    os.write(pipe, f"{run.id} {value}\n".encode())
                    if value % 60 == 59:
                        run.flush(sync=True)


def start(path: Path, number: int) -> tuple[int, int]:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        try:
            recorder(path, writing, number)
        finally:
            os._exit(1)
    os.close(writing)
    return pid, reading


def acknowledged(pipe: int) -> dict[str, int]:
    """Count the acknowledged points of each run."""
    found: dict[str, int] = {}
    with open(pipe, "rb") as file:
        for line in file.read().decode().splitlines():
            run_id, value = line.split()
            found[run_id] = int(value) + 1
    return found


@pytest.mark.timeout(3600)
def test_nothing_that_was_acknowledged_is_lost(tmp_path: Path) -> None:
    moments = random.Random(7)
    expected: dict[str, int] = {}
    kills = 0
    while kills < KILLS:
        recorders = [start(tmp_path / "s", number) for number in range(PROCESSES)]
        time.sleep(moments.uniform(0.02, 0.8))
        for pid, _ in recorders:
            time.sleep(moments.uniform(0, 0.05))
            os.kill(pid, signal.SIGKILL)
            kills += 1
        statuses = [os.waitpid(pid, 0)[1] for pid, _ in recorders]
        assert [os.WTERMSIG(status) for status in statuses] == [signal.SIGKILL] * PROCESSES, (
            "a recorder failed by itself"
        )
        for _, pipe in recorders:
            expected |= acknowledged(pipe)
        with playhead.open(tmp_path / "s") as store:
            for run_id, points in expected.items():
                values = store.runs[run_id]["x"].values.tolist()
                assert values[:points] == list(range(points))
                assert len(values) <= points + 1
            assert len(store.runs(status="running")) == 0
    assert_catalogue_agrees_with_folders(tmp_path / "s")
    print(f"{kills} kills, {sum(expected.values())} acknowledged points, 0 lost")
