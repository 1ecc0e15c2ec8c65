"""Traces under fire: killed or failing at each change of the disk and at random moments; nothing acknowledged is lost.

Here a tenth of the moments; `make campaign` does all of them.
"""

from __future__ import annotations

import errno
import os
import random
import signal
import time
from itertools import count
from pathlib import Path

import pytest

from playhead.errors import NotFound
from playhead.lanes.keyframes import tape, tiers
from playhead.lanes.keyframes.retention import Aged
from playhead.lanes.keyframes.sealed import Sealed
from playhead.testing import failing_at, operations_of
from playhead.trace import Trace, TraceWriter
from playhead.trace.writing import recover
from tests.crash.everywhere import FAILURES, SHARE, at_changes_of_the_kernel, failing_at_each, killed_at_each
from tests.crash.trace_campaign import WORKLOADS

STRIDE = max(1, round(1 / SHARE))
KILLS = max(4, round(100 * SHARE))


@pytest.fixture(params=list(WORKLOADS))
def what(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(tape, "INTERVAL", tape.INTERVAL)  # put back what the workload sets
    return str(request.param)


def changes_of(what: str, folder: Path) -> int:
    work, hold_to = WORKLOADS[what]
    folder.mkdir()
    acknowledged: list[str] = []
    changes = operations_of(lambda: work(folder, acknowledged.append))
    hold_to(folder, acknowledged)
    names = {change.name for change in changes}
    assert {"write", "rename"} <= names, names
    return len(changes)


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("torn", [False, True])
def test_killed_at_each_change(tmp_path: Path, what: str, torn: bool) -> None:
    places = range(3 * torn, changes_of(what, tmp_path / "count"), STRIDE)
    assert killed_at_each(tmp_path, WORKLOADS[what], places, torn=torn, is_made=True) == len(places)
    print(f"trace {what}: killed{' and torn' * torn} at {len(places)} changes, all that was acknowledged is there")


@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("lasting", "short"), FAILURES)
def test_failing_at_each_change(tmp_path: Path, what: str, lasting: bool, short: bool) -> None:
    places = range(2 * lasting + 5 * short, changes_of(what, tmp_path / "count"), STRIDE)
    assert failing_at_each(tmp_path, WORKLOADS[what], places, lasting=lasting, short=short, is_made=True) > 0
    print(f"trace {what}: failed at {len(places)} changes, all that was acknowledged is there")


def test_closing_that_failed_can_be_tried_again(tmp_path: Path) -> None:
    """Whatever fails while a trace is finished, a later close finishes it."""
    path = tmp_path / "x.trace"
    writer = TraceWriter(path)
    for step in range(100):
        writer.append(step)
    writer.flush()
    failed = 0
    for n in count():  # each time one change later
        try:
            with failing_at(n, errno.EIO):
                writer.close()
        except OSError:
            failed += 1
            continue
        break
    assert failed > 3
    assert [Trace.open(path).seek(step) for step in (0, 99)] == [0, 99]
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("mode", "code"), [("kill", "EIO"), ("torn", "EIO"), ("fail", "EIO"), ("fail-on", "ENOSPC")])
def test_nothing_is_lost_at_any_change_of_the_kernel(preload: Path, what: str, mode: str, code: str) -> None:
    stride = STRIDE * 2 if SHARE < 1 else 1
    at_changes_of_the_kernel(preload, "trace_campaign", (what, mode, code), stride, len(what) + len(mode))


def record_for_ever(path: Path, pipe: int) -> None:
    """Go on with a trace; what a flush returned for is told through the pipe."""
    writer = TraceWriter(path, retention=Aged(10), resume=True)
    for step in count(len(writer)):
        writer.append({"n": step}, error=float(-step), input=step + 1, ts_ns=step)
        if step % 7 == 0:
            writer.flush(sync=step % 70 == 0)
            os.write(pipe, f"{step + 1}\n".encode())
        if step % 1000 == 999:
            writer.close()
            writer = TraceWriter(path, retention=Aged(10), resume=True)


@pytest.mark.timeout(3600)
def test_killed_at_random_moments(tmp_path: Path) -> None:
    path, moments, kills, least = tmp_path / "x.trace", random.Random(3), 0, 0
    while kills < KILLS:
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                record_for_ever(path, writing)
            finally:
                os._exit(1)
        os.close(writing)
        time.sleep(moments.uniform(0.01, 0.5))
        os.kill(pid, signal.SIGKILL)
        assert os.WTERMSIG(os.waitpid(pid, 0)[1]) == signal.SIGKILL, "the recorder failed by itself"
        kills += 1
        with open(reading, "rb") as pipe:
            told = [int(line) for line in pipe.read().split(b"\n")[:-1]]
        least = max([least, *told])
        try:
            trace = Trace.open(path)
        except NotFound:
            assert least == 0
            continue
        steps = len(trace)
        assert steps >= least
        assert trace.timestamps.tolist() == list(range(steps))
        assert trace.errors.tolist() == [-float(step) for step in range(steps)]
        due = [s for s in range(steps) if s % tiers.resolution(tiers.tier(steps - 1 - s, Aged(10).tier_keeps)) == 0]
        assert trace.keyframes.tolist() == due
        assert [trace.seek(step)["n"] for step in due] == due
        assert [trace.input(step) for step in range(0, steps, 101)] == [step + 1 for step in range(0, steps, 101)]
        if moments.random() < 0.5:
            recover(path)
            assert len(Trace.open(path)) == steps
            sealed = Sealed(path)
            assert len(sealed.keyframes) <= Aged(10).most(steps)
            sealed.close()
    print(f"{kills} kills, {least} acknowledged steps, 0 lost")
