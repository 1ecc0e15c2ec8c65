"""Exit handlers of a program that records: they come in the order that Python promises, whatever is imported when."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import playhead
from playhead import care

STEPS = 12

BEGIN = f"""
import atexit, sys, threading, time
import numpy as np
{{first}}
import playhead
from playhead.replay import ReplayWriter

STEPS = {STEPS}
store = playhead.open({{folder!r}})
"""

USE = {
    "metrics": ("pass", "pass"),
    "environment": (
        """
import gymnasium
from playhead.integrations.gymnasium import Recorder
env = Recorder(gymnasium.make("CartPole-v1"), run)
env.reset(seed=1)
""",
        "env.step(number % 2)",
    ),
    "vector": (
        """
import gymnasium
from playhead.integrations.gymnasium import VectorRecorder
envs = VectorRecorder(gymnasium.make_vec("CartPole-v1", num_envs=2, vectorization_mode="sync"), run)
envs.reset(seed=1)
""",
        "envs.step(np.array([number % 2, 1 - number % 2]))",
    ),
    "trace": ("fit = run.trace('fit')", "fit.append({'x': np.full(3, number)})"),
    "replay": (
        """
replay = ReplayWriter("r", store.path / "replay_of_mine")
replay.start()
""",
        "replay.record_step(None, np.full(4, number, np.float32), 0, 1.0, False)",
    ),
    "episode": ("episode = run.new_episode('d')", "episode.append('x', 1.0, 1000 + number)"),
}


def played(folder: Path, program: str, *, first: str = "") -> subprocess.CompletedProcess[str]:
    script = BEGIN.format(folder=str(folder), first=first) + program
    command = [sys.executable, "-W", "ignore::UserWarning", "-c", script]  # Gymnasium's, that an episode is over
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def recorded(folder: Path, run: playhead.Run, kind: str) -> int:
    """Count the steps of what was recorded besides metrics."""
    if kind == "trace":
        return len(run.traces["fit"])
    if kind == "replay":
        with playhead.replay.ReplayReader(folder / "replay_of_mine" / "r.h5") as reader:
            return reader.num_steps
    if kind == "episode":
        with playhead.open(folder) as store:
            return len(store.dataset("d").unfinished[0].recover()["x"])
    reels = 2 if kind == "vector" else 1
    return sum(len(episode["reward"]) for episode in run.episodes) // reels


OTHER_ORDERS = [("environment", "h5py first"), ("environment", "h5py last"), ("metrics", "h5py last")]


@pytest.mark.parametrize(("kind", "imports"), [*((kind, "h5py never") for kind in USE), *OTHER_ORDERS])
def test_a_handler_that_was_registered_after_the_run_began_still_records(
    tmp_path: Path, kind: str, imports: str
) -> None:
    begin, step = USE[kind]
    program = f"""
run = store.run("p", "n", environment=False)

@atexit.register
def last() -> None:
    number = STEPS
    {step}
    run.log({{"final": 1.0}})

assert ("h5py" in sys.modules) == {imports == "h5py first"}
{begin}
for number in range(STEPS):
    {step}
{"import h5py" if imports == "h5py last" else ""}
"""
    folder = tmp_path / "s"
    done = played(folder, program, first="import h5py" if imports == "h5py first" else "")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not [path for path in folder.rglob("*.journal") if kind != "episode"]
    assert not list(folder.glob(".recording/*.json"))
    with playhead.open(folder) as store:
        run = store.runs[0]
        assert run.status == "finished"
        assert run["final"].values.tolist() == [1.0]
        if kind != "metrics":
            assert recorded(folder, run, kind) == STEPS + 1
    assert not [one for one in care.verify(folder, full=True) if one.severity == "damage"]


def test_a_handler_that_was_registered_before_the_store_was_opened_comes_too_late(tmp_path: Path) -> None:
    program = "run = store.run('p', 'n', environment=False)\nrun.log({'x': 1.0})"
    done = played(tmp_path / "s", program, first="atexit.register(lambda: run.log({'final': 1.0}))")
    assert "has ended and records nothing more" in done.stderr
    with playhead.open(tmp_path / "s", mode="r") as store:
        assert (store.runs[0].status, store.runs[0].metric_names()) == ("finished", ["x"])


@pytest.mark.parametrize("imports", ["first", "last"])
def test_handlers_of_the_program_can_still_use_h5py(tmp_path: Path, imports: str) -> None:
    use = f"""
import h5py

@atexit.register
def write() -> None:
    with h5py.File({str(tmp_path / "f.h5")!r}, "w") as file:
        file.attrs["text"] = "hello"
"""
    begin, step = USE["environment"]
    program = f"""
{use if imports == "last" else ""}
run = store.run("p", "n", environment=False)
{begin}
for number in range(STEPS):
    {step}
"""
    done = played(tmp_path / "s", program, first=use if imports == "first" else "")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert b"hello" in (tmp_path / "f.h5").read_bytes()


def test_an_h5py_that_takes_itself_apart_under_another_name(tmp_path: Path) -> None:
    begin, step = USE["environment"]
    program = f"""
run = store.run("p", "n", environment=False)
import h5py
del h5py._unregister_converters
{begin}
for number in range(STEPS):
    {step}
"""
    done = played(tmp_path / "s", program)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not list((tmp_path / "s").rglob("*.journal"))


@pytest.mark.parametrize("kind", ["metrics", "text", *(kind for kind in USE if kind != "metrics")])
def test_a_daemon_thread_that_still_records_ends_without_a_word(tmp_path: Path, kind: str) -> None:
    begin, step = USE.get(kind, ("pass", ""))
    step = {"metrics": "run.log({'x': number})", "text": "run.log_text('x')"}.get(kind, step)
    program = f"""
run = store.run("p", "n", environment=False)
{begin}
count = 0

def work() -> None:
    global count
    number = 0
    while True:
        number += 1
        {step}
        count = number
        {"time.sleep(0.001)" if kind != "text" else ""}

atexit.register(time.sleep, 0.05)
threading.Thread(target=work, daemon=True).start()
while count < STEPS:
    time.sleep(0.01)
"""
    late = "atexit.register(time.sleep, 0.3)"  # so that the thread meets what has ended
    done = played(tmp_path / "s", program, first=late)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    with playhead.open(tmp_path / "s") as store:
        assert store.runs[0].status == "finished"


def test_a_daemon_thread_hears_that_the_program_has_closed_its_run(tmp_path: Path) -> None:
    program = """
run = store.run("p", "n", environment=False)

def work() -> None:
    while True:
        run.log({"x": 1.0})

thread = threading.Thread(target=work, daemon=True)
thread.start()
run.close()
thread.join()
"""
    done = played(tmp_path / "s", program)
    assert done.returncode == 0
    assert "Exception in thread" in done.stderr
    assert "Closed" in done.stderr


def test_other_errors_of_daemon_threads_are_still_printed(tmp_path: Path) -> None:
    program = """
run = store.run("p", "n", environment=False)

def work() -> None:
    time.sleep(0.2)
    raise ValueError("oh")

threading.Thread(target=work, daemon=True).start()
"""
    done = played(tmp_path / "s", program, first="atexit.register(time.sleep, 1)")
    assert "ValueError: oh" in done.stderr


@pytest.mark.parametrize("kind", ["environment", "trace"])
def test_a_thread_that_closes_what_the_end_of_the_program_closes_too(tmp_path: Path, kind: str) -> None:
    begin, step = USE[kind]
    made = begin.replace("run.trace('fit')", "run.trace(f'fit{number}')").replace("\n", "\n        ")
    program = f"""
run = store.run("p", "n", environment=False)
count = 0

def work() -> None:
    global count
    number = 0
    while True:
        number += 1
        {made}
        {step}
        {"env" if kind == "environment" else "fit"}.close()
        count = number

threading.Thread(target=work, daemon=True).start()
while count < STEPS:
    time.sleep(0.001)
"""
    for number in range(3):
        folder = tmp_path / f"s{number}"
        done = played(folder, program, first="atexit.register(time.sleep, 0.2)")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        with playhead.open(folder, mode="r") as store:
            assert store.runs[0].status == "finished"
