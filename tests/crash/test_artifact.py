"""Artifacts under fire: killed or failing at each change of the disk; a version is whole, or it is not there.

Here a few hundred moments; `make campaign` does all of it.
"""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import playhead
from playhead.lanes.files import intake, sharing
from playhead.testing import operations_of
from tests.crash.artifact_campaign import FEW, WORKLOADS, hold_to
from tests.crash.everywhere import FAILURES, ROOT, SHARE, at_changes_of_the_kernel, failing_at_each, killed_at_each

STRIDE = 1 if SHARE >= 1 else round(20 / SHARE)
OUR_STRIDE = 1 if SHARE >= 1 else round(5 / SHARE)


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Undo what the workloads set, at the end of each test."""
    monkeypatch.setattr(sharing, "LEAST", sharing.LEAST)
    monkeypatch.setattr(intake, "_TICK_NS", intake._TICK_NS)
    monkeypatch.setattr(intake, "_COARSE_NS", intake._COARSE_NS)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("mode", "code"), [("kill", "EIO"), ("torn", "EIO"), ("fail", "ENOSPC"), ("fail-on", "EIO"), ("short", "ENOSPC")]
)
@pytest.mark.parametrize("what", list(WORKLOADS))
def test_whole_or_not_there_at_any_change(preload: Path, what: str, mode: str, code: str) -> None:
    offset = len(what) + len(mode) * 3 + len(code)
    at_changes_of_the_kernel(preload, "artifact_campaign", (what, mode, code), STRIDE, offset)


def count_of(what: str, folder: Path) -> int:
    work, _ = WORKLOADS[what]
    return len(operations_of(lambda: work(folder / "count", lambda _: None)))


@pytest.mark.parametrize("torn", [False, True])
@pytest.mark.parametrize("what", list(WORKLOADS))
def test_killed_at_each_change_of_ours(tmp_path: Path, what: str, torn: bool) -> None:
    count = count_of(what, tmp_path)
    places = range(5 * torn, count, OUR_STRIDE)
    assert killed_at_each(tmp_path, WORKLOADS[what], places, torn=torn) > 0
    print(f"artifacts {what}: killed{' and torn' * torn} at {len(places)} of {count} changes, whole each time")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(("lasting", "short"), FAILURES)
@pytest.mark.parametrize("what", ["many", "shared"])
def test_failing_at_each_change_of_ours(tmp_path: Path, what: str, lasting: bool, short: bool) -> None:
    count = count_of(what, tmp_path)
    places = range(3 * lasting + 6 * short, count, OUR_STRIDE)
    assert failing_at_each(tmp_path, WORKLOADS[what], places, lasting=lasting, short=short) > 0
    print(f"artifacts {what}: failed at {len(places)} of {count} changes, whole each time")


def test_killed_at_random_moments(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from tests.crash.artifact_campaign import work, FEW\n"
        "work(Path(sys.argv[1]), lambda what: print(what, flush=True), FEW)"
    )
    chance, kills = random.Random(1), max(2, round(100 * SHARE))
    for n in range(kills):
        (tmp_path / str(n)).mkdir()
        path = tmp_path / str(n) / "s"
        command = [sys.executable, "-c", script, str(path)]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
            while not list(tmp_path.glob(f"{n}/s/artifacts")) and process.poll() is None:
                time.sleep(0.001)
            time.sleep(chance.random() * 0.25)
            process.send_signal(signal.SIGKILL)
            assert process.stdout is not None
            acknowledged = process.stdout.read().splitlines()
        hold_to(path, acknowledged, FEW)
    print(f"artifacts: killed at {kills} random moments, whole each time")


def test_what_a_crash_left_is_not_seen_and_its_number_not_given_again(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("x")
    with playhead.open(tmp_path / "store") as store:
        store.artifacts.save("policy", tmp_path / "x")
        folder = store.path / "artifacts/model/policy"
        shutil.copytree(folder / "v1", folder / "v2")  # as a kill between the folder and the list leaves it
        assert "policy:v2" not in store.artifacts
        assert store.artifacts["policy:latest"].version == 1
        assert store.artifacts.save("policy", tmp_path / "x").version == 3
        assert [version.version for version in store.artifacts.versions("policy")] == [1, 3]
