"""A program may end in any way with any recorder open: nothing of ours is printed, and what was recorded is whole."""

from __future__ import annotations

import contextlib
import functools
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import playhead
from playhead import care
from playhead.dataset import LocalDataset
from playhead.replay import ReplayReader
from playhead.trace import Trace

STEPS = 12
PROGRAM = Path(__file__).parent / "ending_programs.py"
RUNS = {"metrics", "environment", "vector", "agents", "shown", "episode", "trace", "console", "artifact"}
KINDS = [*sorted(RUNS), "replay", "dataset", "history"]

# The exit status, and how the run reads: those of `dies` are found by the next open.
WAYS: dict[str, tuple[int, str, str | None]] = {
    "returns": (0, "finished", None),
    "raises": (1, "failed", "ValueError: oh"),
    "exits": (3, "failed", "SystemExit: 3"),
    "interrupted": (-2, "interrupted", "KeyboardInterrupt"),
    "terminated": (143, "interrupted", "SIGTERM"),
    "dies": (5, "failed", "process_not_found"),
    "raises_in_a_thread": (0, "finished", None),
    "leaves_a_generator": (0, "finished", None),
}


@pytest.fixture(scope="module")
def ended() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, PROGRAM, folder], check=True, timeout=240)
        yield Path(folder)


def read_metrics(_folder: Path, run: Any) -> None:
    assert run["loss"].values.tolist() == [number / 2 for number in range(STEPS)]


def read_steps(_folder: Path, run: Any, rewards: Sequence[str] = ("reward",), reels: int = 1) -> None:
    found = [len(episode[name].values) for episode in run.episodes for name in rewards]
    assert sum(found) == STEPS * len(rewards) * reels


def read_console(_folder: Path, run: Any) -> None:
    said = [line.partition(" | ")[2] for line in run.logs().splitlines()]
    assert said[:STEPS] == [f"line {number}" for number in range(STEPS)]
    assert ("no newline" in said) == (
        run.exit_reason != "process_not_found"
    )  # a line that has not ended is not written


def read_trace(_folder: Path, run: Any) -> None:
    assert len(run.traces["fit"]) == STEPS


def read_artifact(folder: Path, run: Any) -> None:
    with playhead.open(folder, mode="r") as store:
        assert store.artifacts["policy:v1"].size == 5000
    assert run["loss"].values.tolist() == [0.5]


def read_samples(episode: Any) -> None:
    assert [value.tolist() for value in episode["joint"].values] == [[number, -number] for number in range(STEPS)]
    assert [round(float(frame.mean()) / 9) for frame in episode["camera"].values] == list(range(STEPS))


def read_episode(folder: Path, _run: Any) -> None:
    with playhead.open(folder) as store:
        read_samples(store.dataset("teleop").unfinished[0].recover())


def read_dataset(folder: Path, _run: Any) -> None:
    read_samples(LocalDataset(folder).unfinished[0].recover())


def read_replay(folder: Path, _run: Any) -> None:
    with ReplayReader(folder / "replay" / "r.h5") as reader:
        assert [reader.get_observation(number).tolist() for number in range(STEPS)] == [[n] * 4 for n in range(STEPS)]


def read_history(folder: Path, _run: Any) -> None:
    with contextlib.closing(Trace.open(folder / "fit.trace")) as trace:
        assert len(trace) == STEPS


READERS: dict[str, Callable[[Path, Any], None]] = {
    "metrics": read_metrics,
    "environment": read_steps,
    "vector": functools.partial(read_steps, reels=2),
    "agents": functools.partial(read_steps, rewards=("ann.reward", "bob.reward")),
    "shown": read_steps,
    "episode": read_episode,
    "trace": read_trace,
    "console": read_console,
    "artifact": read_artifact,
    "replay": read_replay,
    "dataset": read_dataset,
    "history": read_history,
}


def own(text: str) -> str:
    """Leave out what differs between two programs that print the same."""
    return re.sub(r"0x[0-9a-f]+", "0x", text)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_program_ends_with_a_recorder_open(ended: Path, kind: str, way: str) -> None:
    folder, bare = ended / f"{kind}.{way}", ended / f"no_recorder.{way}"
    code, status, reason = WAYS[way]
    printed = folder.with_name(f"{folder.name}.err").read_text()
    assert own(printed) == own(bare.with_name(f"{bare.name}.err").read_text())
    as_without = bare.with_name(f"{bare.name}.status").read_text()
    assert folder.with_name(f"{folder.name}.status").read_text() == (str(code) if kind in RUNS else as_without)
    if kind not in RUNS:
        READERS[kind](folder, None)
        return
    if way != "dies":  # before anything is opened that could put it right
        found = [one for one in care.verify(folder, full=True) if kind != "episode" or one.lane != "episodes"]
        assert found == []
        assert not list(folder.rglob("*.journal"))
        assert not list(folder.glob(".recording/*.json"))
    with playhead.open(folder) as store:
        run = store.runs[0]
        assert (run.status, run.exit_reason) == (status, reason)
        READERS[kind](folder, run)
    if way == "dies":
        assert not [one for one in care.verify(folder, full=True) if one.severity == "damage"]


COLD = """
import os, sys, time, playhead
run = playhead.open(sys.argv[1]).run("p", "n", run_id="r", environment=False)
trace = run.trace("fit")
trace.append({"w": [1.0]}, error=1.0)
os.kill(os.getpid(), 2)
time.sleep(60)
"""


def test_ctrl_c_is_the_exit_status_also_of_a_program_that_loaded_no_more_than_it_needs(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", COLD, str(tmp_path / "s")], capture_output=True, check=False)
    assert (done.returncode, done.stderr.count(b"Traceback")) == (-2, 1)


PRINTING = """
import os, sys, numpy as np, playhead
with playhead.open(sys.argv[1]) as store, store.run("p", "n", run_id="r", environment=False) as run:
    trace, reel, episode = run.trace("fit"), run.new_reel(), run.new_episode("d")
    for k in range(12):
        run.log({"loss": k / 2})
        run.log_text(f"line {k}")
        trace.append({"w": [float(k)]}, error=1.0)
        reel.step({"observations": np.arange(3.0)}, 1.0, k == 11, False)
        episode.append("x", float(k), k + 1)
        for number in (1, 2):
            try:
                os.write(number, b"printed by a library")
            except OSError:
                pass
    run.flush()
    episode.close()
"""


def test_what_a_program_without_outputs_prints_goes_into_no_file(tmp_path: Path) -> None:
    run = 'exec "$0" -W ignore -c "$1" "$2" </dev/null >&- 2>&-'
    subprocess.run(["sh", "-c", run, sys.executable, PRINTING, str(tmp_path / "s")], check=True, timeout=120)
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and b"printed by" in path.read_bytes()]
    assert list(care.verify(tmp_path / "s", full=True)) == []


@pytest.mark.parametrize("word", ["exit", "quit"])
def test_the_word_for_a_prompt_ends_a_run_as_the_call_does(tmp_path: Path, word: str) -> None:
    code = f"import sys, playhead\nrun = playhead.open(sys.argv[1]).run('p', 'n', environment=False)\n{word}(3)"
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path / "s")], check=False).returncode == 3
    with playhead.open(tmp_path / "s") as store:
        assert (store.runs[0].status, store.runs[0].exit_reason) == ("failed", "SystemExit: 3")
