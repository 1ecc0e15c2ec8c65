"""Part 4: episodes and single frames out of a store."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import zstandard
from numpy.typing import NDArray

import playhead
from benchmarks.measure import report
from benchmarks.replay_baselines import JsonDatabase
from benchmarks.replay_games import Played
from benchmarks.replay_measure import at_least, cpu_s, medians
from benchmarks.replay_writing import record
from playhead import memory
from playhead.replay.resolver import FrameResolver

ROUNDS, JSON_STEPS, SINGLES, SCATTERED = 7, 20, 64, 1_000
CHUNK = 16  # frames that are compressed together
SHOWN = {
    "load": "loaded in",
    "anew": "into new memory in",
    "least": "only decompressed in",
    "copy": "copied in",
}


def episodes(folder: Path, games: Sequence[Played]) -> None:
    """Load whole episodes, ours against copying in memory and against SQLite with JSON."""
    print(f"\n4. An episode of {len(games[0]):,} steps with frames and scalars, opened each time, CPU")
    slow = JsonDatabase(folder / "json.db")
    ratios, anew, least, loads, seconds_of_json = [], [], [], [], []
    with playhead.open(folder / "episodes") as store:
        with store.run("bench", "episodes", environment=False) as run:
            ids = [f"{record(run, played, one_episode=True)}-ep0000" for played in games]
        for episode_id, played in zip(ids, games, strict=True):
            check(store, episode_id, played)
            chunks = compressed(played)
            works = {
                "copy": partial(np.copy, played.frames),
                "least": partial(decompressed, chunks, played.frames.shape),
                "anew": partial(load_anew, store, episode_id),
                "load": partial(load, store, episode_id),
            }
            found = medians(works, ROUNDS)
            slow.record(played, JSON_STEPS)
            json = cpu_s(partial(slow.load, played.game)) * len(played) / JSON_STEPS
            ratios.append(found["load"] / found["copy"])
            anew.append(found["anew"] / found["copy"])
            least.append(found["load"] / found["least"])
            loads.append(found["load"] * 1e3)
            seconds_of_json.append(json)
            times = [f"{what} {found[name] * 1e3:.1f} ms" for name, what in SHOWN.items()]
            print(f"  {played.game:<16}{', '.join(times)}, SQLite with JSON {json:.1f} s", flush=True)
    slow.close()
    report("against copying the frames in memory, median of games", statistics.median(ratios), "×", 2.5)
    report("  the first one, into memory that is new, too", statistics.median(anew), "×")
    report("against decompressing them, and nothing else", statistics.median(least), "×")
    report("the slowest game", max(loads), "ms", 40)
    faster = min(json * 1e3 / ours for json, ours in zip(seconds_of_json, loads, strict=True))
    at_least("SQLite with JSON takes longer, at least", faster, "×", 100)


def load(store: Any, episode_id: str) -> tuple[Any, ...]:
    """Load an episode as one who watches it does."""
    episode = store.episode(episode_id)
    return tuple(episode[name].values for name in ("frame", "reward", "action"))


def load_anew(store: Any, episode_id: str) -> tuple[Any, ...]:
    """Load an episode as the first one: no memory is there that another was in."""
    memory.forget()
    return load(store, episode_id)


def compressed(played: Played) -> list[bytes]:
    """Compress frames as the files hold them."""
    compressor = zstandard.ZstdCompressor(level=1)
    return [compressor.compress(played.frames[at : at + CHUNK].reshape(-1)) for at in range(0, len(played), CHUNK)]


def decompressed(chunks: list[bytes], shape: tuple[int, ...]) -> NDArray[np.uint8]:
    """Decompress into one new array."""
    out, at = np.empty(shape, np.uint8), 0
    flat, decompressor = memoryview(out.reshape(-1).data), zstandard.ZstdDecompressor()
    for chunk in chunks:
        with decompressor.stream_reader(chunk) as reader:
            at += reader.readinto(flat[at:])
    return out


def check(store: Any, episode_id: str, played: Played) -> None:
    frames, rewards, actions = load(store, episode_id)
    assert np.array_equal(frames, played.frames)
    assert rewards.tolist() == played.rewards
    assert actions.tolist() == played.actions
    assert np.array_equal(store.episode(episode_id)["observation"].values, played.observations)


def single_frames(folder: Path, games: Sequence[Played], count: int) -> None:
    """Fetch frames by their refs out of a long file; beside it h5py, on a file that it can read itself."""
    print(f"\n   Frames by ref out of a file of {count:,}, CPU")
    rng = np.random.default_rng(0)
    with playhead.open(folder / "long") as store:
        with store.run("bench", "long", environment=False) as run:
            recording = cpu_s(lambda: fill(run, games, count))
            run_id = run.id
        report("recording it", recording, "s")
        replay = store.path / "replay"

        def refs(number: int) -> list[str]:
            return [f"h5://{run_id}/frames/{index}" for index in rng.choice(count, number, replace=False)]

        with FrameResolver(replay) as resolver:
            assert_right(resolver, run_id, games, count)
            found = medians(
                {
                    "batch": lambda: resolver.resolve_batch(refs(SINGLES)),
                    "one by one": lambda: [resolver.resolve(ref) for ref in refs(SINGLES)],
                    "in order": lambda: [resolver.resolve(f"h5://{run_id}/frames/{i}") for i in range(SINGLES)],
                    "opened": lambda: fresh(replay, refs(SINGLES)),
                    "store": lambda: store.resolve(refs(1)[0]),
                },
                ROUNDS,
            )
            report(f"{SINGLES} at random, in a batch", found["batch"] * 1e3, "ms", 45)
            report(f"{SINGLES} at random, one by one", found["one by one"] * 1e3, "ms", 45)
            report("  with opening the file", found["opened"] * 1e3, "ms")
            report(f"{SINGLES} in order, one by one", found["in order"] * 1e3, "ms")
            report("store.resolve of one", found["store"] * 1e3, "ms")
            scattered(folder, games, lambda: resolver.resolve_batch(refs(SCATTERED)))


def fill(run: Any, games: Sequence[Played], count: int) -> None:
    """Record frames of all games over and over, in stretches of 500 steps."""
    reel = run.new_reel(facts={"env": "all"})
    for row in range(count):
        if row % 500 == 0:
            reel.begin()
        frames = games[row // 500 % len(games)].frames
        reel.step({"frames": frames[row % len(frames)]}, 0.0, False, False)
    reel.close()


def fresh(replay: Path, refs: list[str]) -> None:
    with FrameResolver(replay) as resolver:
        resolver.resolve_batch(refs)


def assert_right(resolver: FrameResolver, run_id: str, games: Sequence[Played], count: int) -> None:
    for row in (0, count // 2 + 7, count - 1):
        frames = games[row // 500 % len(games)].frames
        assert np.array_equal(resolver[f"h5://{run_id}/frames/{row}"], frames[row % len(frames)])


def scattered(folder: Path, games: Sequence[Played], ours: Any) -> None:
    """Compare with h5py's fancy indexing, which has nothing to decompress here and a file fifty times smaller."""
    rng = np.random.default_rng(1)
    with h5py.File(folder / "plain.h5", "w") as file:
        shape = games[0].frames.shape[1:]
        total = sum(map(len, games))
        plain = file.create_dataset("frames", (total, *shape), np.uint8, chunks=(CHUNK, *shape))
        at = 0
        for played in games:
            plain[at : at + len(played)] = played.frames
            at += len(played)
        indices = [np.sort(rng.choice(total, SCATTERED, replace=False)) for _ in range(2)]
        theirs = min(cpu_s(partial(plain.__getitem__, chosen)) for chosen in indices)
    mine = statistics.median(cpu_s(ours) for _ in range(3))
    report(f"{SCATTERED:,} scattered refs", mine * 1e3, "ms")
    report("  h5py's fancy indexing, not compressed", theirs * 1e3, "ms")
    at_least("  ours is", theirs / mine, "× faster", 20)
