"""How long a run took whose recorder died and which nobody has settled: up to its last sign of life, everywhere."""

from __future__ import annotations

import json
import os
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
    "metrics": "run.log({'x': 1}); time.sleep(LASTED); run.log({'x': 2}); run.flush()",
    "steps": """
reel = run.new_reel(); reel.begin(); time.sleep(LASTED); reel.step({}, 1.0, True, False); reel.end("closed"); run.flush()
""",
    "long episode": """
reel = run.new_reel(); reel.begin(); reel.step({}, 1.0, False, False); time.sleep(LASTED); reel.step({}, 1.0, False, False)
reel.flush()
""",
    "text": "run.log_text('begun'); time.sleep(LASTED); run.log_text('more\\nand more')",
    "long text": "run.log_text('begun'); time.sleep(LASTED); run.log_text('x' * 100_000)",
    "samples": """
episode = run.new_episode('demos'); episode.append('x', 1.0, time.time_ns()); time.sleep(LASTED)
episode.append('x', 2.0, time.time_ns()); episode.flush()
""",
    "texts": """
episode = run.new_episode('demos'); episode.append('x', 'left', time.time_ns()); time.sleep(LASTED)
episode.append('x', 'a' * 100_000, time.time_ns()); episode.flush()
""",
    "frames": """
import numpy
episode = run.new_episode('demos'); frame = numpy.zeros((32, 32, 3), numpy.uint8)
episode.append('camera', frame, time.time_ns()); time.sleep(LASTED); episode.append('camera', frame, time.time_ns())
episode.flush()
""",
    "finished episode": """
with run.new_episode('demos') as episode:
    episode.append('x', 1.0, time.time_ns()); time.sleep(LASTED); episode.append('x', 2.0, time.time_ns())
""",
    "trace": """
trace = run.trace('fit'); trace.append({'w': 1.0}); time.sleep(LASTED); trace.append({'w': 2.0}); trace.flush()
""",
}
OTHER_CLOCK = """
episode = run.new_episode('demos'); episode.append('x', 1.0, 5); time.sleep(LASTED); episode.append('x', 2.0, 2**60 * 3)
episode.flush()
"""


def killed(path: Path, work: str) -> float:
    """Leave what a killed recorder leaves; return how long it was at it."""
    script = f"""
import os, signal, time, playhead
LASTED = {LASTED}
run = playhead.open({str(path)!r}).run("p", "n", run_id="r", environment=False)
{work}
print(time.time() - run.created_at, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    return float(subprocess.run([sys.executable, "-c", script], check=False, capture_output=True).stdout)


@pytest.mark.parametrize("work", WORK)
@pytest.mark.parametrize("place", ["store", "copy"])
def test_a_run_that_died_has_one_duration(tmp_path: Path, work: str, place: str) -> None:
    path = tmp_path / "store"
    most = killed(path, WORK[work])
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
            shown = httpx.get(f"{server.address}api/runs", params={"columns": "duration"}).json()["runs"]
            assert [one["values"] for one in shown] == [[lasted]]
    said = subprocess.run(
        [sys.executable, "-m", "playhead", "ls", "--json", "--store", path], capture_output=True, check=True
    )
    assert [one["duration"] for one in json.loads(said.stdout)] == [lasted]
    with playhead.open(path) as store:  # which settles it
        assert store.runs["r"].status == "failed"
        assert store.runs["r"].duration == pytest.approx(lasted, abs=1e-6)  # the end is kept as a float of seconds
        assert store.runs["r"].ended_at == pytest.approx(store.runs["r"].created_at + lasted, abs=1e-6)


def test_samples_of_another_clock_do_not_say_when_they_were_recorded(tmp_path: Path) -> None:
    most = killed(tmp_path / "store", OTHER_CLOCK)
    shutil.copytree(tmp_path / "store", tmp_path / "copy", copy_function=shutil.copyfile)
    with playhead.open(tmp_path / "store", mode="r") as store:
        assert LASTED <= store.runs["r"].duration <= most  # since its tape says when it was written
    with playhead.open(tmp_path / "copy", mode="r") as store:
        assert store.runs["r"].duration <= most


def test_the_heartbeat_is_a_sign_of_life(tmp_path: Path) -> None:
    killed(tmp_path / "store", "time.sleep(LASTED)")
    (claim,) = (tmp_path / "store" / ".recording").glob("r.1.json")
    with playhead.open(tmp_path / "store", mode="r") as store:
        beat = store.runs["r"].created_at + 60
    os.utime(claim, (beat, beat))
    shutil.copytree(tmp_path / "store", tmp_path / "copy")  # with the times of files
    for place, lasted in ("store", 60.0), ("copy", 0.0):
        for mode in "ra":
            with playhead.open(tmp_path / place, mode=mode) as store:
                assert store.runs["r"].duration == pytest.approx(lasted, abs=0.01)


@pytest.mark.parametrize("junk", ["", "\n", "no stamp\n", "9999-99-99T99:99:99.999999+00:00 | x\n", "\0" * 70_000])
def test_what_cannot_be_read_gives_no_sign_of_life(tmp_path: Path, junk: str) -> None:
    most = killed(tmp_path / "store", WORK["text"])
    (log,) = (tmp_path / "store").glob("p/n/runs/r/logs.txt")
    log.write_text(log.read_text() + junk if junk.startswith("\0") else junk)
    (tmp_path / "store" / "traces" / "r").mkdir(parents=True)
    (tmp_path / "store" / "traces" / "r" / ".fit.trace.recording").mkdir()
    (tmp_path / "store" / "traces" / "r" / ".fit.trace.recording" / "000000.seg").write_text("no journal")
    with playhead.open(tmp_path / "store", mode="r") as store:
        assert 0.0 <= store.runs["r"].duration <= most + 0.1


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
