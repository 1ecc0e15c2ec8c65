"""A bit that flips anywhere is found by `verify`, or every reader gives the same values as before.

Here a tenth of 500 flips; `make campaign` does all of them.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from playhead.care import verify
from tests.care.everything import make, values_of

SHARE = float(os.environ.get("PLAYHEAD_CAMPAIGN", "0.1"))
FLIPS = round(500 * SHARE)

# What is in the store, by the ends of names; `meta.json` of episodes carries no checksum and is not promised.
KINDS = {
    "journals": ("*.seg",),
    "HDF5": ("*.h5",),
    "Parquet": ("*.parquet",),
    "MP4": ("*.mp4",),
    "tables": ("metadata.db", "steps.npy", "manifest.json"),
    "catalogue": ("playhead.db",),
    "traces": ("*.trace",),
    "pool": ("artifacts/.dedup/*/*",),
    "media": ("runs/*/media/*", "static.json"),
    "texts": tuple(f"runs/*/{name}" for name in ("*.json", "events*.jsonl", "logs.txt")),
    "manifests": ("artifacts/*/*/versions.json", "artifacts/*/*/*/metadata.json", "artifacts/*/*/*/manifest.json"),
}


def files_of(path: Path, kind: str) -> list[Path]:
    return sorted(
        {file for pattern in KINDS[kind] for file in path.rglob(pattern) if file.is_file() and file.stat().st_size}
    )


def found_in(path: Path) -> set[str]:
    return {str(finding) for finding in verify(path, full=True)}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("flips") / "store"
    make(path)
    return path


def flipped(file: Path, bit: int) -> None:
    mode = file.stat().st_mode
    file.chmod(0o644)
    with file.open("r+b") as opened:
        opened.seek(bit // 8)
        (value,) = opened.read(1)
        opened.seek(bit // 8)
        opened.write(bytes([value ^ 1 << bit % 8]))
    file.chmod(mode)


def places(path: Path) -> Iterator[tuple[str, Path, int]]:
    """Choose places: each kind has its turn, and each file of it."""
    chance = random.Random(11)
    for number in range(FLIPS):
        kind = list(KINDS)[number % len(KINDS)]
        file = chance.choice(files_of(path, kind))
        data = file.read_bytes()
        # Pages of a small database are mostly empty: three of four times a byte that says something is chosen.
        used = [place for place, value in enumerate(data) if value] if chance.random() < 0.75 else range(len(data))
        yield kind, file, 8 * chance.choice(used) + chance.randrange(8)


@pytest.mark.timeout(1200)
def test_every_flip_is_found_or_harmless(store: Path) -> None:
    before, known = values_of(store), found_in(store)
    outcome: Counter[tuple[str, str]] = Counter()
    for kind, file, bit in places(store):
        flipped(file, bit)
        try:
            if found_in(store) - known:
                outcome[kind, "found"] += 1
            else:
                where = f"bit {bit} of {file.relative_to(store)}: not found, and something else is read"
                assert values_of(store) == before, where
                outcome[kind, "harmless"] += 1
        finally:
            flipped(file, bit)
    assert values_of(store) == before
    print({f"{kind} {what}": count for (kind, what), count in sorted(outcome.items())})
    assert sum(outcome.values()) == FLIPS
    assert sum(count for (_, what), count in outcome.items() if what == "found") > FLIPS / 2
