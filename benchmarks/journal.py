"""What a journal costs over writing the same bytes with `os.write`, and how fast it is read.

Run: python benchmarks/journal.py [--megabytes 200] [--folder PATH]

Both write into the page cache of the same file system in the same process, in alternating rounds. The
best round of each counts, since what disturbs one only adds to it. CPU is that of the process, kernel included.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from playhead.journal import JournalReader, JournalWriter, Position

ROUNDS = 9
SIZES = {"100 B": 100, "10 kB": 10_000, "1 MB": 1_000_000}


class Cost(NamedTuple):
    wall: float
    cpu: float


def cost_of(work: Callable[[], object], count: int) -> Cost:
    """Measure one round, in microseconds for each of `count` things."""
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return Cost((time.perf_counter() - wall) / count * 1e6, (time.process_time() - cpu) / count * 1e6)


def best(costs: list[Cost]) -> Cost:
    return Cost(min(cost.wall for cost in costs), min(cost.cpu for cost in costs))


def append_costs(folder: Path, size: int, count: int) -> tuple[Cost, Cost]:
    """Append and write in turns; give the costs of one append and one bare write."""
    payload, appends, writes = os.urandom(size), [], []
    frame = payload + bytes(24)
    fd = os.open(folder / "bare", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    with JournalWriter(folder / "journal") as writer:

        def append() -> None:
            for _ in range(count):
                writer.append(payload)

        def write() -> None:
            for _ in range(count):
                os.write(fd, frame)

        for _ in range(ROUNDS):
            writes.append(cost_of(write, count))
            os.fsync(fd)  # so that no round pays for another's bytes
            appends.append(cost_of(append, count))
            writer.sync()
    os.close(fd)
    return best(appends), best(writes)


def drain(records: Iterator[object]) -> None:
    for _ in records:
        pass


def read_costs(folder: Path, size: int, count: int) -> dict[str, Cost]:
    """Fill a journal and read it in every way; give the costs of one record."""
    payload = os.urandom(size)
    with JournalWriter(folder / "read") as writer:
        for _ in range(count):
            writer.append(payload)
    positions: list[Position] = list(JournalReader(folder / "read").poll_positions())

    def read_back() -> None:
        with JournalReader(folder / "read") as reader:
            for position in positions:
                reader.read(position)

    ways: dict[str, Callable[[], None]] = {
        "poll": lambda: drain(JournalReader(folder / "read").poll()),
        "positions": lambda: drain(JournalReader(folder / "read").poll_positions()),
        "hop": lambda: drain(JournalReader(folder / "read").poll_positions(verify=False)),
        "read": read_back,
    }
    return {name: best([cost_of(way, count) for _ in range(3)]) for name, way in ways.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=200, help="how much to write in a round, at most")
    parser.add_argument("--folder", type=Path, default=None, help="where to write; else the system's temporary folder")
    options = parser.parse_args()
    print(f"{'payload':>8} {'append µs':>10} {'CPU µs':>8} {'write µs':>9} {'CPU µs':>8} {'ratio':>6} {'CPU':>6}")
    for name, size in SIZES.items():
        count = max(20, min(50_000, options.megabytes * 1_000_000 // size // ROUNDS))
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            append, write = append_costs(Path(folder), size, count)
        print(
            f"{name:>8} {append.wall:10.2f} {append.cpu:8.2f} {write.wall:9.2f} {write.cpu:8.2f}"
            f" {append.wall / write.wall:6.2f} {append.cpu / write.cpu:6.2f}"
        )
    print(f"\n{'payload':>8} {'way':>10} {'µs a record':>12} {'CPU µs':>8} {'MB/s':>8}")
    for name, size in SIZES.items():
        count = max(20, min(50_000, options.megabytes * 1_000_000 // size))
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            for way, cost in read_costs(Path(folder), size, count).items():
                print(f"{name:>8} {way:>10} {cost.wall:12.2f} {cost.cpu:8.2f} {size / cost.wall:8.0f}")


if __name__ == "__main__":
    main()
