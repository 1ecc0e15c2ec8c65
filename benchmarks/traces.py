"""What a trace costs beside the caller's own work: recording a step, seeking one, scrubbing back, and bytes on disk.

Run: python -m benchmarks.traces [--steps 100000]

The step function is next to nothing, and a bare loop of the same calls is taken off, so that what is left is the
trace's own. States are of 1 kB, and an input is a gradient of as many numbers. Times are CPU of the calling thread; the
best of several rounds counts, since what disturbs one only adds to it. Sizes are those of a fit whose every state is
other, beside all states as JSON lines and as Zstandard in one stream.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import zstandard

from benchmarks.measure import report
from playhead import strictjson
from playhead.lanes.keyframes import tiers, tree
from playhead.trace import Trace, TraceWriter

NUMBERS = 120  # 1 kB with keys
ROUNDS = 5


def same(state: Any, given: Any) -> Any:  # noqa: ARG001
    """Do nothing."""
    return state


def update(state: Any, gradient: Any) -> Any:
    """Take one step of a fit."""
    return {"n": state["n"] + 1, "w": state["w"] - 0.01 * gradient}


def recorded(path: Path, steps: int, inputs: list[Any]) -> float:
    """Record one state over and over; give microseconds of the caller's thread for a step between keyframes."""
    state = {"n": 0, "w": np.random.default_rng(0).normal(size=NUMBERS)}
    last = tiers.tier(steps - 1)
    begin, apart, costs = tiers.tier_start(last), tiers.resolution(last), []
    given = [inputs[step % len(inputs)] for step in range(apart)]
    with TraceWriter(path, step=same) as writer:
        for step in range(-(-begin // apart) * apart):
            writer.append(state, error=1.0, input=given[step % apart])
        for _ in range(len(writer), steps - apart, apart):
            writer.append(state, error=1.0, input=given[0])
            start = time.thread_time_ns()
            for one in given[1:]:
                writer.append(state, error=1.0, input=one)
            costs.append((time.thread_time_ns() - start) / (apart - 1))
    return float(np.median(costs)) / 1e3


def seeks(path: Path, places: list[int]) -> float:
    """Seek each of some steps, none of them twice; give the mean of microseconds."""
    found = []
    for _ in range(ROUNDS):
        trace = Trace.open(path, same)
        trace.seek(0)
        start = time.thread_time_ns()
        for place in places:
            trace.seek(place)
        found.append((time.thread_time_ns() - start) / len(places) / 1e3)
        trace.close()
    return min(found)


def bare(calls: int) -> float:
    """Give microseconds of one call of the step function in a loop."""
    state = {"n": 0}
    found = []
    for _ in range(ROUNDS):
        start = time.thread_time_ns()
        for _ in range(calls):
            state = same(state, None)
        found.append((time.thread_time_ns() - start) / calls / 1e3)
    return min(found)


def seeking(path: Path, steps: int, what: str) -> None:
    """Tell what seeking costs: at keyframes, and for each step behind one."""
    rng = random.Random(1)
    trace = Trace.open(path)
    keyframes = [int(step) for step in trace.keyframes if step > steps // 2]
    trace.close()
    chosen = rng.sample(keyframes[:-1], min(1000, len(keyframes) - 1))
    resolution = tiers.resolution(tiers.tier(steps - 1))
    ends = [step + tiers.resolution(tiers.tier(step)) - 1 for step in chosen]
    lengths = float(np.mean([end - step for end, step in zip(ends, chosen, strict=True)]))
    at_keyframe, at_end = seeks(path, chosen), seeks(path, ends)
    report(f"a seek, {what}, beside the calls", at_keyframe, "µs", 50)
    report(f"a replayed step, {what}, beside its call", (at_end - at_keyframe) / lengths - bare(10_000), "µs", 2)
    fresh, most = Trace.open(path, same), 0
    for place in rng.sample(range(steps), 1000):
        before = fresh.calls
        fresh.seek(place)
        most = max(most, fresh.calls - before)
    report(f"most calls of one of 1,000 random seeks, {what}", most, "calls", resolution - 1)


def scrubbing(path: Path, steps: int) -> None:
    """Tell what going back over a thousand steps costs."""
    stop = steps - 500
    forwards, backwards = Trace.open(path, same), Trace.open(path, same)
    for place in range(stop - 1000, stop):
        forwards.seek(place)
    for place in reversed(range(stop - 1000, stop)):
        backwards.seek(place)
    report("calls of a scrub back over 1,000 steps, of one forwards", backwards.calls / forwards.calls, "×", 2.5)


def sizes(folder: Path, steps: int) -> None:
    """Tell how many bytes a step of a fit takes, in every way."""
    rng = np.random.default_rng(2)
    state: Any = {"n": 0, "w": rng.normal(size=NUMBERS)}
    compressor = zstandard.ZstdCompressor(level=3).compressobj()
    json_bytes = stream_bytes = 0
    with (
        TraceWriter(folder / "fit.trace", bucket=100) as bare_trace,
        TraceWriter(folder / "in.trace", bucket=100) as full,
    ):
        for _ in range(steps):
            gradient = np.round(state["w"] * 0.1 + rng.normal(size=NUMBERS) * 0.01, 4).astype(np.float32)
            bare_trace.append(state, error=1.0)
            full.append(state, error=1.0, input=gradient)
            json_bytes += len(strictjson.encode(strictjson.plain(state))) + 1
            stream_bytes += len(compressor.compress(tree.pack(state)))
            state = update(state, gradient)
    stream_bytes += len(compressor.flush())
    print(f"  bytes a step of {steps:,}, states of {len(tree.pack(state))} bytes, a bucket of 100:")
    report("  every state as JSON", json_bytes / steps, "bytes")
    report("  every state in one stream of Zstandard", stream_bytes / steps, "bytes")
    report("  a trace with inputs of 480 bytes", (folder / "in.trace").stat().st_size / steps, "bytes")
    report("  a trace without inputs", (folder / "fit.trace").stat().st_size / steps, "bytes")


def main() -> None:
    """Measure all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=100_000)
    steps = parser.parse_known_args()[0].steps
    print(f"Traces: {steps:,} steps, a bucket of {tiers.DEFAULT_BUCKET}")
    rng = np.random.default_rng(1)
    gradients = [rng.normal(size=NUMBERS) for _ in range(64)]
    with tempfile.TemporaryDirectory(prefix="playhead-bench-") as name:
        folder = Path(name)
        report("recording a step between keyframes", recorded(folder / "bare.trace", steps, [None]), "µs", 10)
        cost = recorded(folder / "inputs.trace", steps, gradients)
        report("recording a step between keyframes, with an input of 1 kB", cost, "µs", 10)
        seeking(folder / "bare.trace", steps, "no inputs")
        recorded(folder / "actions.trace", steps, list(range(18)))
        seeking(folder / "actions.trace", steps, "an action each")
        seeking(folder / "inputs.trace", steps, "inputs of 1 kB")
        scrubbing(folder / "inputs.trace", steps)
        sizes(folder, min(steps, 20_000))


if __name__ == "__main__":
    main()
