"""The care of a store: a check of 100,000 contents without reading them, garbage among them, and what takes the space.

Run: python -m benchmarks.care [--blobs 100000] [--runs 1000] [--folder PATH]
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import playhead
from benchmarks.measure import report
from playhead.care import collecting, usage, verify
from playhead.layout import Layout

BLOBS, RUNS, A_VERSION, POINTS = 100_000, 1_000, 10_000, 200
BAR_SECONDS = 5.0


def make(folder: Path, blobs: int, runs: int) -> Path:
    """Make a store of so many contents, in versions of ten thousand, and of so many runs."""
    sources = folder / "sources"
    for number in range(blobs):
        file = sources / f"{number // A_VERSION}" / f"{number % A_VERSION // 100}" / f"{number}.bin"
        if not number % 100:
            file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(number.to_bytes(8, "little"))
    with playhead.open(folder / "store") as store:
        with store.run("bench", "save", environment=False) as run:
            for part in sorted(os.listdir(sources)):
                run.log_artifact(f"files-{part}", sources / part, type="dataset", progress=False)
        for _ in range(runs):
            with store.run("bench", "run", environment=False) as run:
                for step in range(POINTS):
                    run.log({"loss": 1 / (step + 1)}, step=step)
    return folder / "store"


def measured(what: str, work: Callable[[], object], bar: float | None = None) -> None:
    """Print wall and CPU time of some work, the better of two times."""
    best = cpu = float("inf")
    for _ in range(2):
        start, spent = time.perf_counter(), time.process_time()
        work()
        best, cpu = min(best, time.perf_counter() - start), min(cpu, time.process_time() - spent)
    report(what, best, "s", bar)
    report("  CPU", cpu, "s")


def main(blobs: int = BLOBS, runs: int = RUNS, folder: Path | None = None) -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        store = make(Path(scratch), blobs, runs)
        layout = Layout(store)
        print(f"The care of a store with {blobs:,} contents of artifacts and {runs:,} runs of {POINTS} points")
        measured("verify --fast", lambda: _sound(store, full=False), BAR_SECONDS * blobs / BLOBS)
        measured("verify --full", lambda: _sound(store, full=True))
        with playhead.open(store) as opened:
            measured("gc that finds nothing", lambda: collecting.collect(opened._home))
        measured("du", lambda: usage.measure(layout))


def _sound(store: Path, *, full: bool) -> None:
    found = [finding for finding in verify(store, full=full) if not finding.is_harmless]
    assert not found, found[:3]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--blobs", type=int, default=BLOBS)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    main(given.blobs, given.runs, given.folder)
