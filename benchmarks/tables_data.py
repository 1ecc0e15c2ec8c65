"""A large table to measure on, what other ways to take rows from it there are, and what memory they have."""

from __future__ import annotations

import ctypes
import os
import shutil
import statistics
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import cpu_seconds
from playhead.catalog.tables import GAME
from playhead.layout import TableFolder
from playhead.table.writing import TableWriter

STEP = np.dtype(
    [
        ("board", "<u8"),
        ("move", "u1"),
        ("ev_legal", "u1"),
        ("ev_values", "<f4", (4,)),
        ("run_id", "<u4"),
        ("step_index", "<u2"),
    ]
)
RUN_STEPS, AT_ONCE = 1_000, 1_000_000
AHEAD = 16  # rows that the loop in C asks for before it needs them

Take = Callable[[NDArray[np.int64]], object]


def some_steps(count: int = AT_ONCE, seed: int = 0) -> NDArray[Any]:
    """Make random steps, in games of a thousand."""
    rng = np.random.default_rng(seed)
    rows = np.frombuffer(rng.bytes(count * STEP.itemsize), STEP).copy()
    rows["step_index"] = np.arange(count) % RUN_STEPS
    rows["ev_values"] = rng.random((count, 4), np.float32)
    return rows


def add_rows(folder: Path, count: int, steps: NDArray[Any]) -> None:
    """Add steps over and over, no two alike, to a table; it is made where there is none."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(count)
    with TableWriter(TableFolder(folder), STEP, GAME) as writer:
        for start in range(0, count, len(steps)):
            some = steps[: min(len(steps), count - start)]
            some["board"] += np.uint64(1)
            writer.add(some, _games(len(some), rng))


def _games(steps: int, rng: np.random.Generator) -> list[dict[str, Any]]:
    sizes = [min(RUN_STEPS, steps - start) for start in range(0, steps, RUN_STEPS)]
    facts = {"highest_tile": 2048, "engine": "x", "start_time": 0, "elapsed_s": 1.0}
    scores = rng.integers(0, 50_000, len(sizes)).tolist()
    return [{"num_steps": size, "max_score": score, **facts} for size, score in zip(sizes, scores, strict=True)]


_SOURCE = """
#include <stdint.h>
#include <string.h>
void gather(const char *restrict rows, const int64_t *restrict places, int64_t count, char *restrict out) {
    for (int64_t i = 0; i < count; i++) {
        if (i + AHEAD < count) __builtin_prefetch(rows + places[i + AHEAD] * SIZE, 0, 0);
        memcpy(out + i * SIZE, rows + places[i] * SIZE, SIZE);
    }
}
"""


def loop_in_c(folder: Path, rows: NDArray[Any], out: NDArray[Any]) -> Take | None:
    """Compile the loop that a program in C would have: it checks nothing, and asks for rows ahead of need."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    (folder / "gather.c").write_text(_SOURCE)
    sizes = [f"-DSIZE={rows.dtype.itemsize}", f"-DAHEAD={AHEAD}"]
    library = folder / "gather.so"
    command = [compiler, "-O3", "-march=native", "-shared", "-fPIC", *sizes, "-o", str(library), "gather.c"]
    subprocess.run(command, cwd=folder, check=True)
    gather = ctypes.CDLL(str(library.absolute())).gather
    gather.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p]
    first, last = rows.ctypes.data, out.ctypes.data
    return lambda places: gather(first, places.ctypes.data, len(places), last)


class Cost(NamedTuple):
    """What a batch took, at the median, in microseconds."""

    wall: float
    cpu: float


def in_turns(ways: Mapping[str, Take], rows: int, batch: int, rounds: Mapping[str, int]) -> dict[str, Cost]:
    """Take random batches in every way, one after the other, each of rows that nobody took before."""
    rng = np.random.default_rng(1)
    most = max(rounds.values())
    wall: dict[str, list[int]] = {name: [] for name in ways}
    cpu: dict[str, list[int]] = {name: [] for name in ways}
    for turn in range(-2, most):
        for name, take in ways.items():
            if turn >= rounds[name]:
                continue
            places = rng.integers(0, rows, batch)
            before_cpu, before = time.process_time_ns(), time.perf_counter_ns()
            take(places)
            after, after_cpu = time.perf_counter_ns(), time.process_time_ns()
            if turn >= 0:
                wall[name].append(after - before)
                cpu[name].append(after_cpu - before_cpu)
    return {name: Cost(statistics.median(wall[name]) / 1e3, statistics.median(cpu[name]) / 1e3) for name in ways}


class Spent(NamedTuple):
    """What some work took, in seconds, and the most bytes of memory of its own that it had at a time.

    Of the CPU, `user` is what the kernel had no part in: how long it takes to write a page depends on whether the
    machine under a virtual one has it at hand, which differs tenfold and from write to write.
    """

    wall: float
    cpu: float
    memory: int
    user: float


def spent(work: Callable[[], object]) -> Spent:
    """Measure some work and throw away what it gives."""
    with _watched_memory() as memory:
        cpu, user, start = cpu_seconds(), os.times().user, time.perf_counter()
        found = work()
        wall, cpu, user = time.perf_counter() - start, cpu_seconds() - cpu, os.times().user - user
    del found
    return Spent(wall, cpu, max(memory), user)


@contextmanager
def _watched_memory() -> Iterator[list[int]]:
    before, is_over = private_bytes(), threading.Event()
    found = [0]

    def watch() -> None:
        while not is_over.wait(0.01):
            found.append(private_bytes() - before)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield found
    finally:
        found.append(private_bytes() - before)
        is_over.set()
        watcher.join()


def private_bytes() -> int:
    """Tell how much memory this process has that is not of a file: its own, and what it shares."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(("RssAnon:", "RssShmem:")))


def in_huge_pages(rows: NDArray[Any]) -> float:
    """Tell which share of the memory of some rows is in huge pages."""
    first, size, huge, is_inside = rows.ctypes.data, 1, 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        name, _, rest = line.partition(" ")
        if "-" in name and not name.endswith(":"):
            start, stop = (int(part, 16) for part in name.split("-"))
            is_inside = start <= first < stop
        elif is_inside and name == "Rss:":
            size = max(1, int(rest.split()[0]))
        elif is_inside and name in {"AnonHugePages:", "ShmemPmdMapped:"}:
            huge += int(rest.split()[0])
    return huge / size
