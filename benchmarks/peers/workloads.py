"""The measurements, as they run in a peer's own Python."""

import itertools
import os
import resource
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks.peers.adapter import Adapter
from benchmarks.peers.processes import descendants, peak_memory

Figures = dict[str, object]

METRICS = 10
WARM_UP_CALLS = 20
CALIBRATION_CALLS = 2000
KILL_INTERVAL_S = 0.002
LISTING_REPEATS = 5


def _values(count: int = 997) -> Iterator[dict[str, float]]:
    """Make ready-built values with full-length fractions, so that building them is not measured with the call."""
    made = [
        {f"metric_{k}": (0.6180339887498949 * (i + 1) * (k + 1)) % 1.0 for k in range(METRICS)} for i in range(count)
    ]
    return itertools.cycle(made)


def measure_calls(adapter: Adapter, folder: Path, calls: int, seconds: float) -> Figures:
    """Log ten scalars back to back; every other call is timed by CPU of its thread, the others by the wall.

    What reading a clock costs by itself (near 1 µs for the CPU's) is taken off, for every peer alike.
    """
    cpu_clock, wall_clock = _cost_of(time.thread_time_ns), _cost_of(time.perf_counter_ns)
    session = adapter.start(folder)
    log, values = session.log, _values()
    for step in range(WARM_UP_CALLS):
        log(next(values), step=step)
    cpu: list[int] = []
    wall: list[int] = []
    deadline = time.monotonic() + seconds
    for step in range(WARM_UP_CALLS, WARM_UP_CALLS + calls, 2):
        _timed(time.thread_time_ns, log, next(values), step, cpu)
        _timed(time.perf_counter_ns, log, next(values), step + 1, wall)
        if time.monotonic() > deadline:
            break
    started = time.perf_counter()
    session.finish()
    return {
        "calls": len(cpu) + len(wall),
        "cpu_us_median": (_quantile(cpu, 0.5) - cpu_clock) / 1e3,
        "cpu_us_p99": (_quantile(cpu, 0.99) - cpu_clock) / 1e3,
        "wall_us_median": (_quantile(wall, 0.5) - wall_clock) / 1e3,
        "wall_us_p99": (_quantile(wall, 0.99) - wall_clock) / 1e3,
        "finish_s": time.perf_counter() - started,
    }


def _timed(
    clock: Callable[[], int], log: Callable[..., object], values: dict[str, float], step: int, into: list[int]
) -> None:
    before = clock()
    log(values, step=step)
    into.append(clock() - before)


def _cost_of(clock: Callable[[], int]) -> float:
    samples: list[int] = []
    for step in range(CALIBRATION_CALLS):
        _timed(clock, lambda *_values, **_step: None, {}, step, samples)
    return _quantile(samples, 0.5)


def _quantile(samples: Sequence[int], fraction: float) -> float:
    return float(sorted(samples)[min(len(samples) - 1, int(fraction * len(samples)))])


def measure_million(adapter: Adapter, folder: Path, points: int, seconds: float) -> Figures:
    """Log points ten a call until all are logged or the time is up, finish, and scale what was left out.

    Counted from the moment the run has started, so that a fixed cost of the first run is not scaled.
    """
    session = adapter.start(folder)
    log, values = session.log, _values()
    cpu_before, bytes_before, started = _cpu_seconds(), _bytes_under(folder), time.monotonic()
    logged = 0
    for step in range(points // METRICS):
        log(next(values), step=step)
        logged += METRICS
        if step % 100 == 0 and time.monotonic() - started > seconds:
            break
    helpers = sum(peak_memory(pid) for pid in descendants(os.getpid()))
    session.finish()
    scale = points / logged
    return {
        "points": logged,
        "wanted": points,
        "scaled": scale > 1,
        "cpu_s": (_cpu_seconds() - cpu_before) * scale,
        "wall_s": (time.monotonic() - started) * scale,
        "bytes_per_point": (_bytes_under(folder) - bytes_before) / logged,
        "peak_mb": (peak_memory(os.getpid()) + helpers) / 1e6,
    }


def _cpu_seconds() -> float:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def _bytes_under(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def log_and_finish(adapter: Adapter, folder: Path, steps: int) -> None:
    """Log one scalar a step and end as one should; the same reader must then find all of them."""
    session = adapter.start(folder)
    for step in range(steps):
        session.log({"loss": 1.0 / (step + 1)}, step=step)
    session.finish()


def log_until_killed(adapter: Adapter, folder: Path, acknowledge: Callable[[bytes], object]) -> None:
    """Log one scalar every few milliseconds for ever, and tell each step once ``log`` has returned."""
    session = adapter.start(folder)
    for step in itertools.count():
        session.log({"loss": 1.0 / (step + 1)}, step=step)
        acknowledge(b"%d\n" % step)
        time.sleep(KILL_INTERVAL_S)


def find_survivors(adapter: Adapter, folder: Path) -> Figures:
    """Read back the steps that a killed process left."""
    return {"steps": sorted(set(adapter.surviving_steps(folder)))}


def measure_listing(adapter: Adapter, folder: Path, runs: int) -> Figures:
    """Time the ways to list runs; each must list the runs that are there."""
    listing = adapter.listing(folder)
    figures: Figures = {"runs": runs, **_medians("first_100", lambda: listing.first(100), min(100, runs))}
    figures |= _medians("all", listing.everything, runs)
    return figures | _medians("all_with_parameters", listing.with_parameters, runs)


def _medians(name: str, list_runs: Callable[[], int] | None, expected: int) -> Figures:
    if list_runs is None:
        return {f"{name}_wall_ms": None, f"{name}_cpu_ms": None}
    wall: list[float] = []
    cpu: list[float] = []
    for _ in range(LISTING_REPEATS):
        before, cpu_before = time.perf_counter(), time.process_time()
        found = list_runs()
        cpu.append(time.process_time() - cpu_before)
        wall.append(time.perf_counter() - before)
        if found != expected:
            raise ValueError(f"expected {expected} runs in the list, found {found}")
    return {f"{name}_wall_ms": statistics.median(wall) * 1e3, f"{name}_cpu_ms": statistics.median(cpu) * 1e3}
