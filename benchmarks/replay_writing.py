"""Part 2 and 3: steps flat out through a run of a store, and the bytes that they take."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import orjson
import zstandard

import playhead
from benchmarks.measure import report
from benchmarks.replay_baselines import GzipWriter, JsonDatabase
from benchmarks.replay_games import Played
from benchmarks.replay_measure import at_least, cpu_s
from playhead.lanes.arrays.config import ReplayConfig

ROUNDS, GZIP_ROUNDS, PASSES, JSON_STEPS = 3, 2, 8, 10
ARRAYS = {"frames": 16, "observations": 32}  # and how many of each are compressed together


def record(
    run: Any, played: Played, *, passes: int = 1, one_episode: bool = False, config: ReplayConfig | None = None
) -> str:
    """Record a game as a reel of a run; give the id of the reel."""
    reel = run.new_reel(facts={"env": played.game}, config=config)
    for _ in range(passes):
        reel.begin()
        for arrays, reward, terminated, truncated, info in played.steps:
            reel.step(arrays, reward, terminated, truncated, orjson.dumps(info))
            if (terminated or truncated) and not one_episode:
                reel.end("terminated" if terminated else "truncated")
    reel.close()
    return str(reel.id)


def ours(folder: Path, games: Sequence[Played], passes: int = PASSES, *, background: bool = True) -> float:
    """Record all games in one run; give the CPU of a step, from the first one to the run's end."""
    config = ReplayConfig(background=background)
    with playhead.open(folder) as store:
        run = store.run("bench", "flat-out", environment=False)

        def work() -> None:
            for played in games:
                record(run, played, passes=passes, config=config)
            run.close()

        return cpu_s(work) / sum(map(len, games)) / passes


def only_compressed(games: Sequence[Played]) -> float:
    """Copy each array once and compress as many together as we do, and nothing else; give the CPU of a step."""
    compressor = zstandard.ZstdCompressor(level=1)

    def work() -> None:
        for played in games:
            arrays = [getattr(played, name) for name in ARRAYS]
            chunks = [
                np.empty((size, *found.shape[1:]), np.uint8)
                for found, size in zip(arrays, ARRAYS.values(), strict=True)
            ]
            for i in range(len(played)):
                for found, chunk in zip(arrays, chunks, strict=True):
                    chunk[i % len(chunk)] = found[i]
                    if i % len(chunk) == len(chunk) - 1:
                        compressor.compress(chunk.reshape(-1))

    return cpu_s(work) / sum(map(len, games))


def gzipped(path: Path, games: Sequence[Played]) -> tuple[float, dict[str, int]]:
    """Give the CPU of a step, and the bytes of each dataset."""
    sizes: dict[str, int] = {}

    def work() -> None:
        writer = GzipWriter(path)
        for played in games:
            for arrays, reward, terminated, truncated, _ in played.steps:
                writer.record_step(*arrays.values(), reward, terminated or truncated)
        sizes.update(writer.close())

    return cpu_s(work) / sum(map(len, games)), sizes


def as_json(path: Path, games: Sequence[Played]) -> float:
    """Give the CPU of a step."""

    def work() -> None:
        database = JsonDatabase(path)
        for played in games:
            database.record(played, JSON_STEPS)
        database.close()

    return cpu_s(work) / len(games) / JSON_STEPS


def flat_out(folder: Path, games: Sequence[Played]) -> None:
    """Print steps per CPU second, ours and theirs in turns, then the bytes."""
    costs: dict[str, list[float]] = {"ours": [], "alone": [], "least": [], "gzip": [], "json": []}
    sizes: dict[str, int] = {}
    for number in range(ROUNDS):
        costs["least"].append(only_compressed(games))
        costs["ours"].append(ours(folder / f"store-{number}", games))
        costs["alone"].append(ours(folder / f"alone-{number}", games, background=False))
        if number < GZIP_ROUNDS:
            cost, sizes = gzipped(folder / f"gzip-{number}.h5", games)
            costs["gzip"].append(cost)
            costs["json"].append(as_json(folder / f"json-{number}.db", games))
    mine, alone, least, gzip, json = (statistics.median(found) for found in costs.values())
    steps = sum(map(len, games)) * PASSES
    print(f"\n2. Flat out: {steps:,} steps of {len(games)} games, a run of a store, its catalogue and its sealed files")
    at_least("steps recorded and sealed", 1 / mine, "/CPU s", 15_000)
    at_least("  the best round", 1 / min(costs["ours"]), "/CPU s", 15_000)
    at_least("by the caller alone, background=False", 1 / alone, "/CPU s", 15_000)
    at_least("  the best round", 1 / min(costs["alone"]), "/CPU s", 15_000)
    report("copied and compressed, and nothing else", 1 / least, "/CPU s")
    report("  ours takes longer", mine / least, "×")
    report("HDF5 with gzip-4 behind a thread", 1 / gzip, "/CPU s")
    at_least("  ours is", gzip / mine, "× faster", 6)
    report(f"SQLite with JSON, {JSON_STEPS} steps a game", 1 / json, "/CPU s")
    at_least("  ours is", json / mine, "× faster", 200)
    ours(folder / "once", games, passes=1)
    bytes_of(folder / "once", games, sizes)


def bytes_of(place: Path, games: Sequence[Played], gzip_sizes: dict[str, int]) -> None:
    """Print what frames and observations take in files, and a step in the catalogue."""
    steps = sum(map(len, games))
    print("\n3. Bytes")
    found = dict.fromkeys(ARRAYS, 0)
    for path in sorted((place / "replay").glob("*.h5")):
        with h5py.File(path) as file:
            for name in ARRAYS:
                found[name] += file[name].id.get_storage_size()
    for name in ARRAYS:
        raw = sum(getattr(played, name).nbytes for played in games)
        report(f"{name}, of their bytes in memory 1 /", raw / found[name], "")
        report("  with gzip-4 1 /", raw / gzip_sizes[name], "")
    whole = sum(path.stat().st_size for path in (place / "replay").glob("*.h5"))
    report("the files as they lie there, a step", whole / steps, "bytes")
    ratio = sum(found.values()) / sum(gzip_sizes[name] for name in ARRAYS)
    report("frames and observations, of gzip-4's bytes", ratio, "×", 0.5)
    in_catalogue(place, steps)


def in_catalogue(place: Path, steps: int) -> None:
    """Print by how much the catalogue is larger than that of an empty store; closing puts its log into the file."""
    for folder in (place, place.with_name("empty")):
        playhead.open(folder).close()
    full, empty = (_database_bytes(folder) for folder in (place, place.with_name("empty")))
    report("the catalogue, a step", (full - empty) / steps, "bytes", 80)


def _database_bytes(place: Path) -> int:
    return sum(path.stat().st_size for path in place.glob("*.db*"))
