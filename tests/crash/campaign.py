"""Crash and fault campaigns over everything that a run and a store write, SQLite's own writes included.

Run as a program under `LD_PRELOAD=faults.so`: for each chosen n, a forked child does the workload with the n-th change
of the disk fatal or failing, and the parent then opens the store as the next user would, and checks every promise.
Prints one JSON object with the figures.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path

import playhead
from tests.crash import replays
from tests.dump import assert_catalogue_agrees_with_folders

KILL, TORN, FAIL, FAIL_ON, SHORT = 1, 2, 3, 4, 5
ALLOWED_ERRORS = (playhead.PlayheadError, OSError)
POINTS = 12

faults = ctypes.CDLL(None)


def workload(path: Path, acknowledge: Callable[[str], None]) -> None:
    """Do everything that writes: make, log, note, end, resume, tag, delete, restore, purge, rebuild."""
    with playhead.open(path) as store:
        with store.run("p", "first", run_id="first", config={"lr": 0.1}, tags=["a"]) as run:
            acknowledge("made first")
            run.set_primary_metric("loss", "min")
            for value in range(POINTS):
                run.log({"loss": POINTS - value, "x": value})
                acknowledge(f"point first {value}")
                if value % 5 == 0:
                    run.flush(sync=value == 5)
            run.log_text("hello")
            run.log_image("image", Path(__file__).with_name("one_pixel.png"))
            acknowledge("image first")
            run.summary(note="x")
            acknowledge("summary first")
        acknowledge("ended first")
        with store.run("p", "second", run_id="second", environment=False) as run:
            run.log({"loss": 1.0})
        store.runs["second"].delete("try")
        acknowledge("deleted second")
        store.runs.deleted["second"].restore()
        acknowledge("restored second")
        store.runs["second"].tag("kept")
        acknowledge("tagged second")
        with store.run("p", "third", run_id="third", environment=False) as run:
            run.log({"loss": 2.0})
        store.runs["third"].delete()
        store.purge()
        acknowledge("purged third")
        with store.run("p", "first", run_id="first", resume=True) as run:
            run.log({"loss": 0.5})
            acknowledge(f"point first {POINTS}")
            with store.attach("first") as rank:
                rank.log({"rank": 1})
                acknowledge("rank first")
    playhead.rebuild(path)
    acknowledge("rebuilt")


def verify(path: Path, acknowledged: list[str]) -> None:
    """Open the store as the next user would, and hold it to every acknowledgement."""
    done = set(acknowledged)
    points = sum(line.startswith("point first") for line in acknowledged)
    with playhead.open(path) as store:
        assert list((path / ".recording").glob("*.json")) == []  # nothing is left to recover
        if "made first" in done:
            run = store.runs["first"]
            logged = run["x"].values.tolist() if points else []
            assert logged[:points] == list(range(min(points, POINTS))), (logged, points)
            assert len(logged) <= points + 1
            assert run.status in ("finished", "failed"), run.status
            assert run.config == {"lr": 0.1}
            if points > POINTS:
                assert run["loss"].values[-1] == 0.5
                assert run["loss"].steps[-1] == POINTS + 1
        if "image first" in done:
            assert store.runs["first"].media[0].path.read_bytes()
        if "summary first" in done:
            assert store.runs["first"].summary()["note"] == "x"
            assert store.runs["first"].best == min(store.runs["first"]["loss"].values)
        if "ended first" in done and points == POINTS and "point first 12" not in done:
            assert store.runs["first"].status in ("finished", "failed")
        if "restored second" in done:
            assert store.runs["second"]["loss"].values.tolist() == [1.0]
        if "tagged second" in done:
            assert store.runs["second"].tags == ["kept"]
        if "purged third" in done:
            assert "third" not in store.runs
        if "rank first" in done:
            assert store.runs["first"]["rank"].values.tolist() == [1.0]
        with store.run("p", "after", environment=False) as run:
            run.log({"loss": 3.0})
        assert run["loss"].values.tolist() == [3.0]
    for file in path.rglob("*.json"):
        json.loads(file.read_text(), parse_constant=lambda word: (_ for _ in ()).throw(ValueError(word)))
    for file in path.rglob("events*.jsonl"):
        for line in file.read_text().splitlines():
            json.loads(line)
    assert_catalogue_agrees_with_folders(path)


WORKLOADS = {"runs": (workload, verify), "replays": (replays.workload, replays.verify)}


def child(
    do: Callable[[Path, Callable[[str], None]], None], path: Path, n: int, mode: int, code: int
) -> tuple[int, list[str], int]:
    """Do the workload in a forked process; give its wait status, what it acknowledged, and how many changes it made."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.alarm(120)
        status = 0
        faults.faults_arm(ctypes.c_long(n), mode, code)
        try:
            do(path, lambda text: os.write(writing, (text + "\n").encode()) and None)
        except ALLOWED_ERRORS:
            status = 3
        except BaseException:  # noqa: BLE001  the parent reports it
            traceback.print_exc()
            status = 1
        finally:
            count = faults.faults_count()
            faults.faults_arm(ctypes.c_long(-1), 0, 0)
            os.write(writing, f"count {count}\n".encode())
            os._exit(status)
    os.close(writing)
    with open(reading, "rb") as pipe:
        lines = pipe.read().decode().splitlines()
    _, status = os.waitpid(pid, 0)
    counts = [int(line.split()[1]) for line in lines if line.startswith("count ")]
    return status, [line for line in lines if not line.startswith("count ")], counts[-1] if counts else -1


def campaign(what: str, mode: int, code: int, stride: int, offset: int) -> dict[str, object]:
    """Kill or fail at every stride-th change until the workload gets through untouched."""
    do, hold_to = WORKLOADS[what]
    tried, problems, reached = 0, [], 0
    n = offset
    while True:
        folder = Path(tempfile.mkdtemp(prefix="playhead-crash-"))
        try:
            status, acknowledged, count = child(do, folder / "s", n, mode, code)
            if count >= 0 and count <= n:
                break  # the workload makes fewer changes than that
            tried += 1
            reached = max(reached, n)
            if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 1:
                problems.append(f"at {n}: an error that is not ours")
            elif os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM:
                problems.append(f"at {n}: hangs")
            else:
                hold_to(folder / "s", acknowledged)
        except Exception as error:  # noqa: BLE001  every kind of broken promise is collected
            traceback.print_exc()
            problems.append(f"at {n}: {type(error).__name__}: {error}")
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        n += stride
    return {"tried": tried, "changes": reached, "problems": problems}


def main() -> None:
    """Take workload, mode, error and stride from the command line."""
    names = {"kill": KILL, "torn": TORN, "fail": FAIL, "fail-on": FAIL_ON, "short": SHORT}
    what, mode, code, stride, offset = sys.argv[1:6]
    with contextlib.redirect_stdout(sys.stderr):
        found = campaign(what, names[mode], getattr(errno, code), int(stride), int(offset))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
