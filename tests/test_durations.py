"""How long a run took whose recorder died and which nobody has settled: up to its last sign of life, everywhere."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

import playhead
from playhead.web.app import make_app
from playhead.web.server import Background

LASTED = 0.3
WORK = {
    "metrics": "run.log({'x': 1}); time.sleep({}); run.log({'x': 2}); run.flush()",
    "steps": """
reel = run.new_reel(); reel.begin(); time.sleep({}); reel.step({}, 1.0, True, False); reel.end("closed"); run.flush()
""",
}


def killed(path: Path, work: str) -> float:
    """Leave what a killed recorder leaves; return how long it was at it."""
    script = f"""
import os, signal, time, playhead
run = playhead.open({str(path)!r}).run("p", "n", run_id="r", environment=False)
{WORK[work].replace("{}", str(LASTED), 1)}
print(time.time() - run.created_at, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    return float(subprocess.run([sys.executable, "-c", script], check=False, capture_output=True).stdout)


@pytest.mark.parametrize("work", WORK)
@pytest.mark.parametrize("place", ["store", "copy"])
def test_a_run_that_died_has_one_duration(tmp_path: Path, work: str, place: str) -> None:
    path = tmp_path / "store"
    most = killed(path, work)
    if place == "copy":  # whose files are new
        shutil.copytree(path, tmp_path / "copy", copy_function=shutil.copyfile)
        path = tmp_path / "copy"
    time.sleep(0.2)
    with playhead.open(path, mode="r") as store:
        run = store.runs["r"]
        assert run.status == "running" or place == "copy"
        lasted = run.duration
        assert LASTED <= lasted <= most
        assert store.runs["r"].duration == lasted
        assert [one.id for one in store.runs(where=f"duration = {lasted!r}", order="-duration")] == ["r"]
        assert not store.runs(where=f"duration > {lasted!r} or duration < {lasted!r} or duration is null")
        with Background(make_app(store)) as server:
            listed = httpx.get(f"{server.address}api/runs").json()["runs"]
            assert [one["duration"] for one in listed] == [lasted]
            assert httpx.get(f"{server.address}api/runs/r").json()["duration"] == lasted
    said = subprocess.run(
        [sys.executable, "-m", "playhead", "ls", "--json", "--store", path], capture_output=True, check=True
    )
    assert [one["duration"] for one in json.loads(said.stdout)] == [lasted]
    with playhead.open(path) as store:  # which settles it: the claim and the files give later signs of life
        assert store.runs["r"].status == "failed"
        assert lasted <= store.runs["r"].duration <= most + (0.1 if place == "store" else 0.0)


def test_a_run_that_is_recorded_lasts_until_now(tmp_path: Path) -> None:
    with playhead.open(tmp_path / "store") as store, store.run("p", "n", run_id="r", environment=False) as run:
        run.log({"x": 1})
        run.flush()
        with playhead.open(tmp_path / "store", mode="r") as reading:
            found = reading.runs["r"]
            first = found.duration
            time.sleep(0.1)
            assert first is not None
            assert found.duration >= first + 0.1
            assert reading.runs(where=f"duration >= 0 and duration < {first}")
        run.tag("while it runs")
        assert run.duration > first
    assert run.duration > first
