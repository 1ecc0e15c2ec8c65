"""What it costs to append a sample and to find one by time, beside bare NumPy in the same process.

Run: python -m benchmarks.signals [--records 1000000]

CPU is that of the calling thread. Where two ways are compared they take turns, and the best round of each counts, since
what disturbs one only adds to it.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import report
from playhead import sampling
from playhead.episode import DiskEpisodeWriter
from playhead.lanes.vectors import SimpleSignal, SimpleSignalWriter
from playhead.signal import Signal

ROUNDS = 15
BLOCK = 50  # calls at a time, since reading the clock costs more than one
TICK = 5_000_000
FRAME = (480, 640, 3)


def thread_us(work: Callable[[int], object], calls: int) -> float:
    """Give the median CPU time of the calling thread over blocks of calls, for one call."""
    times = []
    for first in range(0, calls, BLOCK):
        start = time.thread_time_ns()
        for number in range(first, first + BLOCK):
            work(number)
        times.append(time.thread_time_ns() - start)
    return statistics.median(times) / BLOCK / 1e3


def in_turns(ours: Callable[[], object], bare: Callable[[], object], count: int = 1) -> tuple[float, float]:
    """Run two ways in turns; give the CPU time of each best round in µs for each of `count` things."""
    best = [float("inf")] * 2
    for _ in range(ROUNDS):
        for way, work in enumerate((ours, bare)):
            start = time.thread_time_ns()
            work()
            best[way] = min(best[way], (time.thread_time_ns() - start) / 1e3 / count)
    return best[0], best[1]


def appending(folder: Path, calls: int) -> None:
    """What the caller pays for a sample of an episode."""
    with DiskEpisodeWriter(folder / "appending") as episode:

        def into(name: str, value: Callable[[int], Any]) -> float:
            return thread_us(lambda n: episode.append(name, value(n), n * TICK), calls)

        vector, pose = np.arange(14, dtype=np.float32), np.eye(4)
        report("append a float, median CPU of the caller", into("float", float), "µs", 5)
        report("append an int", into("int", lambda n: n), "µs", 5)
        report("append a bool", into("bool", lambda n: n % 2 == 0), "µs", 5)
        report("append a text", into("text", lambda _n: "pick"), "µs", 5)
        report("append a 14-vector", into("vector", lambda _n: vector), "µs", 8)
        report("append a pose of 4×4", into("pose", lambda _n: pose), "µs")


def appending_frames(folder: Path, frames: int) -> None:
    """What the caller pays for a frame: one copy, not two. The encoder is never left behind."""
    rng = np.random.default_rng(0)
    pictures = [rng.integers(0, 255, FRAME, np.uint8) // 8 + np.uint8(k) for k in range(16)]
    ring = [np.empty(FRAME, np.uint8) for _ in range(8)]
    appends: list[float] = []
    copies: list[float] = []
    into_ring: list[float] = []
    with DiskEpisodeWriter(folder / "frames") as episode:

        def measured(times: list[float], work: Callable[[], object]) -> None:
            start = time.thread_time_ns()
            work()
            times.append((time.thread_time_ns() - start) / 1e3)

        for number in range(frames):
            one, other, third = (pictures[(number * 3 + k) % len(pictures)] for k in range(3))  # none is in the cache
            measured(appends, lambda: episode.append("camera", one, number * TICK))  # noqa: B023
            measured(copies, other.copy)
            measured(into_ring, lambda: np.copyto(ring[number % len(ring)], third))  # noqa: B023
            if number % len(ring) == 0:
                episode.flush()
    append, copy, queued = map(statistics.median, (appends, copies, into_ring))
    report("append a frame of 640×480, median CPU of the caller", append, "µs")
    report("  frame.copy(), whose memory stays in the cache", copy, "µs")
    report("  ratio", append / copy, "×")
    report("  a copy into one of eight buffers, as a queue needs", queued, "µs")
    report("  ratio; one copy, not two", append / queued, "×", 1.5)


def recorded(folder: Path, count: int, width: int = 0) -> SimpleSignal[Any]:
    """Record a signal at 200 Hz with a little jitter, and load it."""
    jitter = random.Random(0)
    vector = np.arange(width, dtype=np.float32)
    path = folder / f"{count}_{width}.parquet"
    with SimpleSignalWriter[Any](path) as writer:
        for number in range(count):
            writer.append(vector + number if width else number / 7, number * TICK + jitter.randrange(1000))
    signal: SimpleSignal[Any] = SimpleSignal(path)
    assert len(signal.values) == len(signal.timestamps) == count
    return signal


def times_in(signal: Signal[Any], count: int) -> list[int]:
    """Choose times at random."""
    chosen = random.Random(1)
    return [chosen.randrange(signal.start_ts, signal.last_ts) for _ in range(count)]


def single(signal: Signal[Any]) -> None:
    """The newest sample at or before a time."""
    times, stamps, values = times_in(signal, 5_000), signal.timestamps, signal.values

    def ours() -> None:
        for t in times:
            signal.time[t]

    def bare() -> None:
        for t in times:
            position = stamps.searchsorted(t, "right") - 1
            values[position], stamps[position]

    found, floor = in_turns(ours, bare, len(times))
    report(f"signal.time[t] among {len(signal):,}, CPU", found, "µs", 5)
    report("  searchsorted and two lookups", floor, "µs")
    report("  ratio", found / floor, "×")


def windows(signals: list[Signal[Any]]) -> None:
    """A window by time, whose cost must not grow with the signal nor with the window."""
    costs = []
    for signal in signals:
        span = (signal.last_ts - signal.start_ts) // 2
        starts = [t - span // 2 for t in times_in(signal, 2_000)]

        def ours(signal: Signal[Any] = signal, span: int = span, starts: list[int] = starts) -> None:
            for t in starts:
                signal.time[t : t + span]

        costs.append(in_turns(ours, lambda: None, len(starts))[0])
        middle = signal.time[signal.start_ts + span // 2 : signal.start_ts + span]
        assert np.shares_memory(middle.values, signal.values), "a window was copied"
        assert np.shares_memory(middle.timestamps, signal.timestamps), "the stamps of a window were copied"
        report(f"signal.time[a:b], half of {len(signal):,}; nothing is copied", costs[-1], "µs")
    report(f"  from {len(signals[0]):,} to {len(signals[-1]):,} samples it grows by", costs[-1] / costs[0], "×", 2)


def many(signal: Signal[Any], what: str, count: int = 10_000) -> None:
    """Samples at many times: in order, as a policy asks at its rate, and at random, as training does."""
    stamps, values = signal.timestamps, signal.values
    at_random = np.array(times_in(signal, count))
    for order, times in (("in order", np.sort(at_random)), ("at random", at_random)):

        def bare(times: Any = times) -> Any:
            return values.take(stamps.searchsorted(times, "right") - 1, axis=0)

        for way, ours in _ways(signal, times):
            assert np.array_equal(ours(), bare())
            found, floor = in_turns(ours, bare)
            report(f"{way}, {count:,} times of {what} {order}", found, "µs")
            report("  ratio to searchsorted and take", found / floor, "×", 2)


def _ways(signal: Signal[Any], times: np.ndarray) -> Iterator[tuple[str, Callable[[], Any]]]:
    yield "time[times].values", lambda: signal.time[times].values
    yield "sample(times)", lambda: sampling.sample({"s": signal}, times)["s"]


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=1_000_000, help="samples of the longest signal")
    parser.add_argument("--calls", type=int, default=100_000, help="appends of each kind")
    parser.add_argument("--frames", type=int, default=160, help="frames to append")
    options = parser.parse_args()
    print("Signals")
    with tempfile.TemporaryDirectory(dir=".") as scratch:
        folder = Path(scratch)
        appending(folder, options.calls)
        appending_frames(folder, options.frames)
        scalars = [recorded(folder, count) for count in (1_000, options.records)]
        single(scalars[-1])
        windows(list(scalars))
        many(scalars[-1], "a scalar")
        many(recorded(folder, options.records // 10, 14), "a 14-vector")


if __name__ == "__main__":
    main()
