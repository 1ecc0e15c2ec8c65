"""Saving artifacts: large files beside what reading, SHA-256 and writing cost, 10,000 small ones, again, one changed.

Run: python -m benchmarks.artifacts [--bytes 2000000000] [--files 10000] [--rounds 3] [--artifacts 10000] [--folder F]
"""

from __future__ import annotations

import argparse
import hashlib
import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

import playhead
from benchmarks.measure import median_ms, report

BYTES, FILES, LARGE, SMALL, ARTIFACTS = 2_000_000_000, 10_000, 4, 4096, 10_000
BLOCK = 1 << 20


def main() -> None:
    """Print the figures beside their bars."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bytes", type=int, default=BYTES)
    parser.add_argument("--files", type=int, default=FILES)
    parser.add_argument("--artifacts", type=int, default=ARTIFACTS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path)
    given, _ = parser.parse_known_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as scratch:
        folder = Path(scratch)
        with playhead.open(folder / "store") as store:
            large(store, folder, given.bytes)
            small(folder, given.files, given.rounds)
            listing(store, folder, given.artifacts)


def seconds(work: Callable[[], object]) -> float:
    """Measure some work, after what others wrote is on the medium."""
    os.sync()
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def large(store: playhead.Store, folder: Path, size: int) -> None:
    """Save large files."""
    print(f"Artifacts: {size / 1e9:.1f} GB in {LARGE} files")
    source = folder / "large"
    source.mkdir()
    for number in range(LARGE):
        with (source / f"{number}.bin").open("wb") as file:
            for _ in range(size // LARGE // BLOCK):
                file.write(os.urandom(BLOCK))
    parts = {"reading": read, "SHA-256": hashed, "writing and fsync": lambda files: write(files, folder / "plain")}
    files = sorted(source.iterdir())
    cost = {name: seconds(lambda part=part: part(files)) for name, part in parts.items()}  # type: ignore[misc]
    for name, found in cost.items():
        report(name, found, "s")
    first = seconds(lambda: store.artifacts.save("large", source, progress=False))
    report("saving", first, "s", sum(cost.values()) / 0.8)
    again = seconds(lambda: store.artifacts.save("large", source, progress=False))
    report("saving again, unchanged, of the first time", 100 * again / first, "%", 5)
    report("use_artifact, which reads it", seconds(store.artifacts["large:latest"].check), "s")


def read(files: list[Path]) -> None:
    buffer = bytearray(BLOCK)
    for path in files:
        with path.open("rb", buffering=0) as file:
            while file.readinto(buffer):
                pass


def hashed(files: list[Path]) -> None:
    block = bytes(BLOCK)
    for path in files:
        digest = hashlib.sha256()
        for _ in range(path.stat().st_size // BLOCK):
            digest.update(block)


def write(files: list[Path], folder: Path) -> None:
    folder.mkdir()
    block = os.urandom(BLOCK)
    for path in files:
        with (folder / path.name).open("wb", buffering=0) as file:
            for _ in range(path.stat().st_size // BLOCK):
                file.write(block)
            os.fsync(file.fileno())


def make_small(source: Path, count: int) -> None:
    """Make small files in folders of a thousand."""
    for number in range(count):
        if number % 1000 == 0:
            (source / str(number // 1000)).mkdir(parents=True)
        (source / str(number // 1000) / f"{number}.bin").write_bytes(os.urandom(SMALL))


def small(folder: Path, count: int, rounds: int) -> None:
    """Save many small files, once more, and with one changed; each round in a store of its own, all counted alike."""
    print(f"Artifacts: {count:,} files of {SMALL} bytes, the median of {rounds} rounds")
    source = folder / "small"
    make_small(source, count)
    found: dict[str, list[tuple[float, float]]] = {"first": [], "again": [], "changed": []}
    grown = []
    for number in range(rounds):
        with playhead.open(folder / f"small store {number}") as store:
            work = partial(store.artifacts.save, "small", source, progress=False)
            found["first"].append(wall_and_cpu(work))
            found["again"].append(wall_and_cpu(work))
            (source / "0" / "7.bin").write_bytes(b"changed")
            before = pool_size(store)
            found["changed"].append(wall_and_cpu(work))
            grown.append(pool_size(store) - before)
            (source / "0" / "7.bin").write_bytes(os.urandom(SMALL))
    with playhead.open(folder / "small store 0") as store:
        version = store.artifacts["small:latest"]
        report("download", seconds(lambda: version.download(folder / "out", progress=False)), "s")
    wall, cpu = ({name: median(one[which] for one in each) for name, each in found.items()} for which in (0, 1))
    report("saving", wall["first"], "s")
    report("saving, CPU time", cpu["first"], "s")
    report("saving again, unchanged, of the first time", 100 * wall["again"] / wall["first"], "%", 5)
    report("saving again, unchanged, of the first CPU time", 100 * cpu["again"] / cpu["first"], "%", 5)
    report("one changed, of the first time", 100 * wall["changed"] / wall["first"], "%")
    report("one changed, of the first CPU time", 100 * cpu["changed"] / cpu["first"], "%")
    report("bytes that the pool grew by", max(grown), "bytes", 7)


def wall_and_cpu(work: Callable[[], object]) -> tuple[float, float]:
    """Measure some work as `seconds` does, and the CPU time of it, which says more on a busy machine."""
    os.sync()
    start, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start, time.process_time() - cpu


def pool_size(store: playhead.Store) -> int:
    """Add up the bytes of the pool."""
    return sum(path.stat().st_size for path in store.path.glob("artifacts/.dedup/??/*"))


def listing(store: playhead.Store, folder: Path, count: int) -> None:
    """List many artifacts."""
    print(f"Artifacts: a list of {count:,}")
    (folder / "one.txt").write_text("x")
    for number in range(count):
        store.artifacts.save(f"artifact-{number}", folder / "one.txt", progress=False)
    report("list", median_ms(lambda: list(store.artifacts), 5), "ms", 500)
    report("one looked up", median_ms(lambda: store.artifacts["artifact-7:latest"].files, 5), "ms")


if __name__ == "__main__":
    main()
