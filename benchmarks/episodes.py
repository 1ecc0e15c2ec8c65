"""What it costs to open and list episodes, and how long the end of a recording takes.

Run: python -m benchmarks.episodes [--episodes 10000] [--seconds 60]

The episodes of the list are made from a few recorded ones by hard links; each has a `meta.json` of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any

import numpy as np

import playhead
from benchmarks.measure import median_ms, report
from benchmarks.scene import camera
from playhead.dataset import LocalDataset, LocalDatasetWriter
from playhead.episode import DiskEpisode, DiskEpisodeWriter

RATE, FPS = 200, 30
SIGNALS: dict[str, Any] = {
    "joints": np.arange(14, dtype=np.float32),
    "action": np.arange(14, dtype=np.float32),
    "force": np.arange(6, dtype=np.float64),
    "gripper": 0.25,
    "contact": True,
}
TEMPLATES = 10


def record(episode: DiskEpisodeWriter, seconds: float, pictures: list[np.ndarray]) -> None:
    """Record five signals at 200 Hz and a camera at 30 Hz."""
    shown = 0
    for number in range(int(seconds * RATE)):
        stamp = number * 1_000_000_000 // RATE
        for name, value in SIGNALS.items():
            episode.append(name, value + number if isinstance(value, np.ndarray) else value, stamp)
        if pictures and number * FPS // RATE >= shown:
            episode.append("camera", pictures[shown % len(pictures)], stamp)
            shown += 1


def fill(root: Path, count: int) -> None:
    """Make many episodes of few."""
    writer = LocalDatasetWriter(root)
    small = camera(8, 48, 64)
    recorded = []
    for number in range(min(count, TEMPLATES)):
        with writer.new_episode() as episode:
            episode.set_static("task", f"task {number % 3}")
            record(episode, 1, small)
        recorded.append(episode.path)
    for number in range(len(recorded), count):
        template = recorded[number % len(recorded)]
        folder = root / f"{number // 1000 * 1000:012}" / f"{number:012}"
        folder.mkdir(parents=True)
        for entry in os.scandir(template):
            if entry.is_file() and entry.name != "meta.json":
                (folder / entry.name).hardlink_to(entry.path)
        meta = json.loads((template / "meta.json").read_bytes())
        meta |= {"uid": uuid.uuid4().hex, "created_ts_ns": meta["created_ts_ns"] + number}
        (folder / "meta.json").write_text(json.dumps(meta))


def listing(root: Path, count: int) -> None:
    """Find all, open one, and ask all for what needs no values."""
    report(f"listing {count:,} episodes", median_ms(lambda: len(LocalDataset(root)), 7) / 1e3, "s", 0.5)
    dataset = LocalDataset(root)
    assert len(dataset) == count
    chosen = random.Random(0)

    def one() -> DiskEpisode:
        return dataset[chosen.randrange(count)]  # type: ignore[return-value]

    report("opening one, its keys and identity", median_ms(lambda: (list(one().keys), one().uid), 201) / 2, "ms", 2)
    report("  and a sample of one signal by time", median_ms(lambda: one()["joints"].time[500_000_000], 201), "ms")
    report("  and a frame", median_ms(lambda: one()["camera"][-1], 51), "ms")
    report("  and all signals sampled at 30 Hz", median_ms(lambda: sampled(one()), 51), "ms")
    report("keys of all", median_ms(lambda: [list(episode.keys) for episode in dataset], 3) / 1e3, "s")
    report("durations of all", median_ms(lambda: [episode.duration_ns for episode in dataset], 3) / 1e3, "s")
    report("static items of all", median_ms(lambda: [episode.static for episode in dataset], 3) / 1e3, "s")


def sampled(episode: DiskEpisode) -> int:
    found = episode.sample(slice(episode.start_ts, None, 1_000_000_000 // FPS))
    return sum(len(found[name]) for name in SIGNALS)


def in_a_store(folder: Path, count: int) -> None:
    """The same folder as a dataset of a store, whose catalogue must learn it once."""
    with playhead.open(folder / "store") as store:
        place = store.dataset("bench").path
        place.parent.mkdir(parents=True, exist_ok=True)
        (folder / "listed").rename(place)
        start = time.perf_counter()
        assert len(store.dataset("bench")) == count
        report("a store learns of them, once", time.perf_counter() - start, "s")
        report("store.dataset, when it knows them", median_ms(lambda: len(store.dataset("bench")), 5) / 1e3, "s", 0.5)


def ending(folder: Path, seconds: float) -> None:
    """How long `close` holds up the caller, when the encoder has kept up."""
    pictures = camera()
    start, cpu = time.perf_counter(), time.process_time()
    with DiskEpisodeWriter(folder / "ending") as episode:
        record(episode, seconds, pictures)
        episode.flush()
        recorded, recorded_cpu = time.perf_counter(), time.process_time()
        episode.close()
        closed, closed_cpu = time.perf_counter(), time.process_time()
    found = DiskEpisode(episode.path)
    assert len(found["joints"]) == seconds * RATE
    assert len(found["camera"]) == seconds * FPS
    report(f"recording {seconds:g} s: CPU", recorded_cpu - cpu, "s")
    report("  wall, as fast as the encoder takes it", recorded - start, "s")
    report("closing it: the stall at its end", (closed - recorded) * 1e3, "ms")
    report("  CPU", (closed_cpu - recorded_cpu) * 1e3, "ms")
    report("  of the recorded time", (closed - recorded) / seconds * 100, "%")
    report("bytes", found.size_bytes / 1e6, "MB")


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=10_000, help="episodes to list")
    parser.add_argument("--seconds", type=float, default=60, help="length of the recording that is closed")
    options = parser.parse_args()
    print(f"Episodes: five signals at {RATE} Hz and a camera at {FPS} Hz")
    with tempfile.TemporaryDirectory(dir=".") as scratch:
        folder = Path(scratch)
        fill(folder / "listed", options.episodes)
        listing(folder / "listed", options.episodes)
        in_a_store(folder, options.episodes)
        ending(folder, options.seconds)


if __name__ == "__main__":
    main()
