"""What reaches the medium by itself, a while after it was recorded: no call waits for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import playhead
from playhead.lanes.arrays.config import ReplayConfig
from tests.crash.power.workloads.whole import hold_together, most
from tests.crash.replays import FACTS, arrays_of, check_steps

POINTS = 10
UID = "1" * 32
_WHILE = 2.0  # seconds: more than any of the promises, for a machine that is busy
_CONFIG = ReplayConfig(segment_bytes=1 << 16, chunk=4, interval=0.1, sync=0.2)


def work(path: Path, tell: Callable[[str], None]) -> None:
    """Log with `sync_every`, play with `ReplayConfig(sync=)`, append to an episode and to a trace; wait for nothing."""
    with playhead.open(path) as store:
        with store.run("p", "played", run_id="played", environment=False, sync_every=0.2) as run:
            reel = run.new_reel(facts=FACTS, config=_CONFIG)
            reel.begin({"first": 0})
            episode = store.dataset("d").new_episode(uid=UID)
            trace = run.trace("fit")
            for half in (1, 2):
                for number in range(half * POINTS - POINTS, half * POINTS):
                    run.log({"x": number}, step=number)
                    reel.step(arrays_of(number), number / 2, False, False, b'{"row":%d}' % number)
                    episode.append("x", float(number), number)
                    trace.append(number, input=number)
                if half == 1:
                    time.sleep(_WHILE)
                    for what in ("points", "steps", "samples", "states"):
                        tell(f"{what} {POINTS}")
            reel.step(arrays_of(2 * POINTS), POINTS, True, False, b'{"row":%d}' % (2 * POINTS))
            reel.end("terminated", {"observations": arrays_of(2 * POINTS + 1)["observations"]})
            episode.close()
            tell(f"samples {2 * POINTS}")
        for what in ("points", "steps", "states"):
            tell(f"{what} {2 * POINTS}")


def hold(path: Path, told: Sequence[str]) -> None:
    """All that had its time is there, each as it was recorded."""
    with playhead.open(path) as store:
        is_there = "played" in store.runs
        run = store.runs["played"] if is_there else None
        points = run["x"].values.tolist() if run is not None and "x" in run.metric_names() else []
        assert points == [*range(len(points))]
        assert len(points) >= most(told, "points"), f"{len(points)} points"
        steps = check_steps(store) if is_there else 0
        assert steps >= most(told, "steps"), f"{steps} steps"
        states = _states(run) if run is not None else 0
        assert states >= most(told, "states"), f"{states} states"
        samples = _samples(store)
        assert samples >= most(told, "samples"), f"{samples} samples"
    hold_together(path)


def _states(run: playhead.Run) -> int:
    if "fit" not in run.traces:
        return 0
    trace = run.traces.open("fit")
    assert [trace.input(step) for step in range(len(trace))] == [*range(len(trace))]
    return len(trace)


def _samples(store: playhead.Store) -> int:
    for unfinished in store.dataset("d").unfinished:
        try:
            unfinished.recover()
        except playhead.NotFound:
            unfinished.discard()
        except playhead.Damaged:
            unfinished.recover(salvage=True)
    found = [[*episode["x"]] for episode in store.dataset("d") if "x" in episode.signals]
    assert all(value == stamp for samples in found for value, stamp in samples)
    assert len(found) <= 1
    return max(map(len, found), default=0)
