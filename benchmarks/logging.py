"""What it costs to log: one call, a million points, a run, a status.

python -m benchmarks.logging
"""

from __future__ import annotations

import os
import resource
import statistics
import tempfile
import time
from pathlib import Path

import orjson

import playhead
from benchmarks.measure import cpu_seconds, median_ms, report
from playhead import recording

TEN = {f"metric_{n}": 0.1 + n / 7 for n in range(10)}


def call_cost(folder: Path, calls: int = 100_000) -> None:
    """Median CPU time of a back-to-back call, beside the floor: encode and append."""
    fd = os.open(folder / "floor", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    floor = _thread_us(lambda _n: os.write(fd, orjson.dumps(TEN)), calls)
    with playhead.open(folder / "call") as store, store.run("bench", "call", environment=False) as run:
        median = _thread_us(lambda n: run.log(TEN, step=n), calls)
    os.close(fd)
    report("log of ten values, median CPU of the calling thread", median, "µs", 8)
    report("  of which reading the CPU clock", _thread_us(lambda _n: None, calls), "µs")
    report("  the floor, orjson and os.write alone", floor, "µs")
    report("  ratio to the floor", median / floor, "×")


def _thread_us(work, calls: int) -> float:  # type: ignore[no-untyped-def]
    times = []
    for number in range(calls):
        start = time.thread_time_ns()
        work(number)
        times.append(time.thread_time_ns() - start)
    return statistics.median(times) / 1e3


def million(folder: Path, per_call: int, cpu_bar: float, bytes_bar: float) -> None:
    """CPU and bytes of a million points, files and catalogue together."""
    values = {f"metric_{n}": 0.0 for n in range(per_call)}
    before = cpu_seconds()
    store_path = folder / f"million_{per_call}"
    with playhead.open(store_path) as store, store.run("bench", "million", environment=False) as run:
        for call in range(1_000_000 // per_call):
            for number, name in enumerate(values):
                values[name] = 0.1 + call / 7 + number
            run.log(values)
    used = cpu_seconds() - before
    size = sum(path.stat().st_size for path in store_path.rglob("*") if path.is_file())
    with playhead.open(store_path) as store:
        assert store.runs[0].points == 1_000_000
    report(f"a million points, {per_call} a call: CPU", used, "s", cpu_bar)
    report(f"a million points, {per_call} a call: bytes", size / 1e6, "bytes/point", bytes_bar)
    report("  peak memory of the process so far", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "MB")


def runs(folder: Path, count: int = 100) -> None:
    """Wall time of making a run, ending it, and changing a status."""
    config = {f"p{n}": n / 3 for n in range(10)}
    with playhead.open(folder / "runs") as store:
        making, ending = [], []
        for _ in range(count):
            start = time.perf_counter_ns()
            run = store.run("bench", "run", config=config)
            making.append(time.perf_counter_ns() - start)
            run.log(TEN)
            start = time.perf_counter_ns()
            run.finish()
            ending.append(time.perf_counter_ns() - start)
        changing = median_ms(lambda: recording.end(store._home, run._row.run_dir, "failed", "why"), count)
        report("making a run", statistics.median(making) / 1e6, "ms", 10)
        report("changing a status", changing, "ms", 2)
        report("ending a run: drained, environment noted", statistics.median(ending) / 1e6, "ms")


def main() -> None:
    """Print all figures."""
    print("Logging")
    with tempfile.TemporaryDirectory(dir=".") as scratch:
        folder = Path(scratch)
        call_cost(folder)
        million(folder, 10, 5, 80)
        million(folder, 1, 12, 170)
        runs(folder)


if __name__ == "__main__":
    main()
