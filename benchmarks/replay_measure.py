"""Measuring replays: CPU time of the process, in turns, and figures that must be at least so large."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping


def cpu_s(work: Callable[[], object]) -> float:
    """Give the CPU seconds of some work, of all threads and the kernel."""
    start = time.process_time_ns()
    work()
    return (time.process_time_ns() - start) / 1e9


def medians(works: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Do several things in turns; give the median CPU seconds of each."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            times[name].append(cpu_s(work))
    return {name: statistics.median(found) for name, found in times.items()}


def at_least(what: str, found: float, unit: str, bar: float) -> None:
    """Print a figure beside the bar that it must reach."""
    verdict = f"   at least {bar:,g}: {'ok' if found >= bar else 'MISSED'}"
    print(f"  {what:<58}{found:>10,.2f} {unit:<12}{verdict}", flush=True)
