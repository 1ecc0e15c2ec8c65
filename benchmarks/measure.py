"""Measuring on a noisy machine: medians, CPU time beside wall time, and one way to print a figure."""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Callable

import numpy as np


def median_ms(work: Callable[[], object], repeats: int = 15) -> float:
    """Give the median wall time of some work in milliseconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter_ns()
        work()
        times.append(time.perf_counter_ns() - start)
    return statistics.median(times) / 1e6


def cpu_seconds() -> float:
    """Give the CPU time of this process and its ended children, all threads, user and system."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + ended.ru_utime + ended.ru_stime


def median_of(values: list[float]) -> tuple[float, float, float]:
    """Give the median, and between which values it lies for 95 of 100 samples that are drawn anew."""
    draws = np.random.default_rng(0).choice(values, (2000, len(values)))
    low, high = np.percentile(np.median(draws, axis=1), [2.5, 97.5])
    return statistics.median(values), float(low), float(high)


def report(what: str, found: float, unit: str, bar: float | None = None) -> None:
    """Print a figure beside its bar."""
    verdict = "" if bar is None else f"   at most {bar:g}: {'ok' if found <= bar else 'MISSED'}"
    print(f"  {what:<58}{found:>10.2f} {unit:<12}{verdict}")
