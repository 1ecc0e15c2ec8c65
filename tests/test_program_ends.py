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
