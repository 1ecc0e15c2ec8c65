"""Reading a trace while another process records it, makes its file anew, finishes it and goes on."""

from __future__ import annotations

import os
import random
import signal
import time
from itertools import count
from pathlib import Path

import pytest

from playhead.errors import NotFound
from playhead.lanes.keyframes import tape
from playhead.lanes.keyframes.retention import Aged
from playhead.trace import Trace, TraceWriter

SECONDS = 2.5


def follow(state: dict[str, int], given: int) -> dict[str, int]:
    """Count on."""
    return {"n": state["n"] + given}


def record_for_ever(path: Path) -> None:
    tape.INTERVAL = 0.01  # the file is made anew many times a second
    while True:
        with TraceWriter(path, step=follow, retention=Aged(10), resume=True) as writer:
            for step in count(len(writer)):
                writer.append({"n": step}, error=float(-step), input=1, ts_ns=step)
                if step % 50 == 0:
                    time.sleep(0.002)
                if step % 3000 == 2999:
                    break


@pytest.mark.parametrize("name", ["x.trace", "x.json"])
def test_a_reader_beside_the_recorder_is_never_wrong(tmp_path: Path, name: str) -> None:
    path, rng = tmp_path / name, random.Random(1)
    pid = os.fork()
    if pid == 0:
        try:
            record_for_ever(path)
        finally:
            os._exit(1)
    try:
        looks, grown = 0, set()
        end = time.monotonic() + SECONDS
        trace = None
        while time.monotonic() < end:
            try:
                if trace is None or rng.random() < 0.1:
                    trace = Trace.open(path, follow)
                trace.refresh()
            except NotFound:
                assert looks == 0
                continue
            looks += 1
            grown.add(len(trace))
            assert trace.errors.tolist() == [-float(step) for step in range(len(trace))]
            for _ in range(20):
                step = rng.randrange(len(trace)) if len(trace) else None
                if step is not None:
                    assert trace.seek(step) == {"n": step}
                    assert trace.input(step) == 1
            for step in rng.sample(trace.keyframes.tolist(), min(5, len(trace.keyframes))):
                assert trace.seek(step) == {"n": step}
    finally:
        assert os.waitpid(pid, os.WNOHANG) == (0, 0), "the recorder failed by itself"
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    assert looks > 10
    assert len(grown) > 5


@pytest.mark.parametrize("name", ["x.trace", "x.json"])
@pytest.mark.parametrize("is_closed", [False, True])
def test_states_of_a_recording_that_another_took_the_place_of_are_forgotten(
    tmp_path: Path, name: str, is_closed: bool
) -> None:
    path = tmp_path / name

    def recorded(given: int) -> TraceWriter:
        writer = TraceWriter(path, step=follow, bucket=2)
        for step in range(100):  # at the same times, as those of a simulation are
            writer.append({"n": given * step}, error=1.0, input=given, ts_ns=step)
        writer.flush()
        return writer

    writer = recorded(1)
    trace = Trace.open(path, follow)
    assert [trace.seek(step) for step in range(100)] == [{"n": step} for step in range(100)]
    if is_closed:
        writer.close()
        path.unlink()
    else:
        writer.abort()
    with recorded(3):
        trace.refresh()
        assert [trace.seek(step) for step in range(100)] == [{"n": 3 * step} for step in range(100)]
    trace.refresh()
    assert [trace.seek(step) for step in range(100)] == [{"n": 3 * step} for step in range(100)]
