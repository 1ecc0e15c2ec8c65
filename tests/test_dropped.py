"""A run, or what records into one, of which nobody holds the writer any more ends, and gives back threads and files."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import playhead
from playhead import care
from playhead.integrations.gymnasium import Recorder, VectorRecorder

MANY = 5
PATIENCE = 20.0


def metrics(run: Any) -> Any:
    run.log({"x": 1.0})


def trace(run: Any) -> Any:
    made = run.trace("fit")
    made.append({"state": 1})
    return made


def environment(run: Any) -> Any:
    made = Recorder(gymnasium.make("CartPole-v1"), run)
    made.reset(seed=1)
    made.step(0)
    return made


def vector(run: Any) -> Any:
    made = VectorRecorder(gymnasium.make_vec("CartPole-v1", num_envs=2), run)
    made.reset(seed=1)
    made.step(np.zeros(2, np.int64))
    return made


def episode(run: Any) -> Any:
    made = run.new_episode("d")
    made.append("x", 1.0, 1)
    return made


WORK: list[Callable[[Any], Any]] = [metrics, trace, environment, vector, episode]


def held() -> tuple[int, int]:
    gc.collect()
    return len(os.listdir("/proc/self/fd")), threading.active_count()


def wait_until(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.parametrize("work", WORK)
def test_a_run_that_nobody_holds_ends(tmp_path: Path, work: Callable[[Any], Any]) -> None:
    with playhead.open(tmp_path / "s") as store:
        work(store.run("p", "first", environment=False))  # what is loaded once
        wait_until(lambda: gc.collect() >= 0 and store.runs[0].status == "finished")
        fds, threads = held()
        for _ in range(MANY):
            work(store.run("p", "n", environment=False, capture_console=True))
        wait_until(lambda: held()[1] <= threads and held()[0] <= fds + 2)
        wait_until(lambda: {run.status for run in store.runs} == {"finished"})
        assert len(store.runs) == MANY + 1
        assert {run.points for run in store.runs} == {int(work is metrics)}
        assert {len(run.traces) for run in store.runs} == {int(work is trace)}
        if work is not episode:  # an episode that nobody closed may not be complete
            assert not [one for one in care.verify(tmp_path / "s", full=True) if one.severity == "damage"]


@pytest.mark.parametrize("work", [environment, vector, trace])
def test_a_run_goes_on_while_somebody_records_into_it(tmp_path: Path, work: Callable[[Any], Any]) -> None:
    with playhead.open(tmp_path / "s") as store:
        made = work(store.run("p", "n", environment=False))
        gc.collect()
        time.sleep(0.8)
        assert store.runs[0].status == "running"
        if work is trace:
            made.append({"state": 2})
        else:
            made.step(0 if work is environment else np.zeros(2, np.int64))
        made.close()
        del made
        wait_until(lambda: gc.collect() >= 0 and store.runs[0].status == "finished")
        if work is trace:
            assert len(store.runs[0].traces["fit"]) == 2
        else:
            assert {len(one["reward"]) for one in store.runs[0].episodes} == {2}


def test_environments_that_nobody_holds_are_completed_while_their_run_goes_on(tmp_path: Path) -> None:
    with playhead.open(tmp_path / "s") as store, store.run("p", "n", environment=False) as run:
        environment(run)
        fds, threads = held()
        for _ in range(MANY):
            environment(run)
        wait_until(lambda: held()[1] <= threads and held()[0] <= fds + 2)
        assert len(run.episodes) == MANY + 1
        assert run.status == "running"


def test_a_run_that_was_let_go_of_can_be_resumed_at_once(tmp_path: Path) -> None:
    with playhead.open(tmp_path / "s") as store:
        for number in range(3):
            store.run("p", "n", run_id="r", resume=True, environment=False).log({"x": number})
    with playhead.open(tmp_path / "s", mode="r") as store:
        assert store.runs["r"]["x"].values.tolist() == [0, 1, 2]
        assert store.runs["r"].status == "finished"


@pytest.mark.parametrize("ending", ["", "raise ValueError('oh')", "os._exit(0)"])
def test_a_program_that_ends_right_after(tmp_path: Path, ending: str) -> None:
    script = f"""
import os, sys, playhead
store = playhead.open({str(tmp_path / "s")!r})
for number in range(3):
    store.run("p", "n", run_id=f"r{{number}}", environment=False).log({{"x": number}})
{ending}
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert ("Traceback" in done.stderr) == ending.startswith("raise")
    assert "Warning" not in done.stderr
    with playhead.open(tmp_path / "s") as store:
        for number in range(3):
            assert store.runs[f"r{number}"]["x"].values.tolist() == [number]
        last = store.runs["r2"]
        assert {run.status for run in store.runs if run.id != last.id} == {"finished"}
        assert last.status == "finished" or ending


def test_garbage_that_holds_a_run_is_collected(tmp_path: Path) -> None:
    with playhead.open(tmp_path / "s") as store:
        for number in range(MANY):
            one: dict[str, Any] = {"run": store.run("p", "n", environment=False)}
            one["self"] = one
            one["run"].log({"x": number})
            one["env"] = environment(one["run"])
        one = {}
        wait_until(lambda: gc.collect() >= 0 and {run.status for run in store.runs} == {"finished"})
        assert sorted(float(run["x"].values[0]) for run in store.runs) == list(range(MANY))
        assert all(len(run.episodes) == 1 for run in store.runs)


def test_a_child_that_lets_go_of_a_run_leaves_it_alone(tmp_path: Path) -> None:
    with playhead.open(tmp_path / "s") as store:
        run = store.run("p", "n", environment=False)
        run.log({"x": 1})
        child = os.fork()
        if child == 0:
            del run
            gc.collect()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        run.log({"x": 2})
        run.close()
        assert run["x"].values.tolist() == [1, 2]
        assert run.status == "finished"
