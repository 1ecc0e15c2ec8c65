"""Saving artifacts: large files beside what reading, SHA-256 and writing cost, 10,000 small ones, again, one changed.

Run: python -m benchmarks.artifacts [--bytes 2000000000] [--files 10000] [--artifacts 10000] [--folder PATH]
"""

from __future__ import annotations

import argparse
import hashlib
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

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
    parser.add_argument("--folder", type=Path)
    given, _ = parser.parse_known_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as scratch:
        folder = Path(scratch)
        with playhead.open(folder / "store") as store:
            large(store, folder, given.bytes)
            small(store, folder, given.files)
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


def small(store: playhead.Store, folder: Path, count: int) -> None:
    """Save many small files, once more, and with one changed."""
    print(f"Artifacts: {count:,} files of {SMALL} bytes")
    source = folder / "small"
    make_small(source, count)
    first = seconds(lambda: store.artifacts.save("small", source, progress=False))
    report("saving", first, "s")
    again = seconds(lambda: store.artifacts.save("small", source, progress=False))
    report("saving again, unchanged, of the first time", 100 * again / first, "%", 5)
    (source / "0" / "7.bin").write_bytes(b"changed")
    before = sum(path.stat().st_size for path in store.path.glob("artifacts/.dedup/??/*"))
    changed = seconds(lambda: store.artifacts.save("small", source, progress=False))
    after = sum(path.stat().st_size for path in store.path.glob("artifacts/.dedup/??/*"))
    report("one changed, of the first time", 100 * changed / first, "%")
    report("bytes that the pool grew by", after - before, "bytes", 7)
    target = folder / "out"
    report("download", seconds(lambda: store.artifacts["small:latest"].download(target, progress=False)), "s")


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
