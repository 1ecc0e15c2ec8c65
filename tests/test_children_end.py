"""A child of `multiprocessing` may end with any recorder open: what it recorded is whole, and its run says how it ended."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import playhead
from playhead import care
from playhead.replay import ReplayReader
from playhead.trace import Trace

STEPS = 12
PROGRAM = Path(__file__).parent / "ending_children.py"
METHODS = ["fork", "forkserver", "spawn"]

# The exit code, and how the run reads.
WAYS: dict[str, tuple[int, str, str | None]] = {
    "returns": (0, "finished", None),
    "raises": (1, "failed", "ValueError: oh"),
    "exits": (3, "failed", "SystemExit: 3"),
    "exits_well": (0, "finished", None),
    "catches": (0, "finished", None),
    "has_a_thread": (0, "finished", None),
    "has_finalizers": (0, "finished", None),
}


@pytest.fixture(scope="module", params=METHODS)
def ended(request: pytest.FixtureRequest) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, PROGRAM, folder, request.param]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=240)
        said = done.stderr.splitlines()
        assert (done.stdout, said[0], said[-1]) == ("", "Process raises:", "ValueError: oh")
        assert not {"Closed", "Warning"} & set(re.split(r"\W+", done.stderr))
        yield Path(folder)


def check(folder: Path, status: str, reason: str | None) -> None:
    assert not list(folder.rglob("*.journal"))
    assert not list(folder.glob(".recording/*.json"))
    assert list(care.verify(folder, full=True)) == []
    with playhead.open(folder) as store:
        for run in store.runs:
            assert (run.status, run.exit_reason) == (status, reason)
        assert sum(len(episode["reward"]) for episode in store.runs["played"].episodes) == STEPS
        assert store.runs["plain"]["loss"].values.tolist() == [number / 2 for number in range(STEPS)]
    with ReplayReader(folder / "replay_of_mine" / "r.h5") as reader:
        assert reader.num_steps == STEPS
    with contextlib.closing(Trace.open(folder / "fit.trace")) as trace:
        assert len(trace) == STEPS


@pytest.mark.parametrize("way", WAYS)
def test_a_child_ends_with_recorders_open(ended: Path, way: str) -> None:
    code, status, reason = WAYS[way]
    assert json.loads((ended / "codes.json").read_text())[way] == code
    check(ended / way, status, reason)


def test_what_else_a_child_records_at_its_end(ended: Path) -> None:
    with playhead.open(ended / "has_a_thread", mode="r") as store:
        assert store.runs["plain"]["later"].values.tolist() == list(range(STEPS))
    with playhead.open(ended / "has_finalizers", mode="r") as store:
        assert store.runs["plain"]["final"].values.tolist() == [1.0]


def test_workers_of_pools(ended: Path) -> None:
    folders = list(ended.glob("pool*"))
    assert len(folders) == 2
    for folder in folders:
        check(folder, "finished", None)


def test_a_child_that_attaches_leaves_the_run_to_its_parent(ended: Path) -> None:
    check(ended / "attaches", "finished", None)
    with playhead.open(ended / "attaches", mode="r") as store:
        run = store.runs["plain"]
        assert (run["of the child"].values.tolist(), run["after"].values.tolist()) == ([1.0], [1.0])
