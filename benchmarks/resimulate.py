"""What it costs to make frames again instead of storing them, on six real Atari games.

Run: python -m benchmarks.resimulate [--steps 4000] [--seeks 1002] [--every 32 64] [--folder PATH]

Each game is played once by a seeded random policy with the defaults of its v5, sticky actions included, and recorded
three ways at once: re-simulated, with its frames in the array lane (Zstandard), and as H.264 in the video lane. Then
frames are sought at random. Bytes are those of all files, actions, rewards and infos included, but for H.264, which
holds frames alone and loses some of them. A seek is timed twice, in CPU: as a reader has it, who keeps states and
samples of what it did before, and with nothing kept.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np

import playhead
from benchmarks.measure import report
from benchmarks.replay_games import GAMES, policy
from playhead.integrations.gymnasium import Recorder
from playhead.lanes.video import VideoSignal, VideoSignalWriter
from playhead.replay import Resimulation

STEPS, SEEKS, EVERY = 4_000, 1_002, (32, 64)


class Figures(NamedTuple):
    """What one game gave: bytes a step, and the milliseconds of CPU of each seek."""

    bytes_a_step: dict[str, float]
    seeks: dict[str, list[float]]
    wrong: int


def game(store: playhead.Store, folder: Path, name: str, steps: int, seeks: int, every: int) -> Figures:
    """Record a game three ways, and seek in it."""
    video, index = folder / f"{name}.mp4", folder / f"{name}.frames.parquet"
    with (
        store.run("made", name, environment=False) as made,
        store.run("stored", name, environment=False) as stored,
        VideoSignalWriter(video, index) as film,
    ):
        inner = Recorder(gymnasium.make(f"ALE/{name}-v5"), made, frames="resimulate", keyframe_every=every)
        with Recorder(inner, stored) as env:
            observation, _ = env.reset(seed=0)
            for step, action in zip(range(steps), policy(env, 0), strict=False):
                film.append(observation, step)
                observation, _, terminated, truncated, _ = env.step(action)
                if terminated or truncated:
                    observation, _ = env.reset()
    sizes = {
        "made again": made.episodes[0].reel.files.size() / steps,
        "stored, zstd": stored.episodes[0].reel.files.size() / steps,
        "H.264, frames alone": video.stat().st_size / steps,
    }
    times, wrong = _sought(made, stored, VideoSignal(video, index), steps, seeks)
    return Figures(sizes, times, wrong)


def _sought(made: Any, stored: Any, film: VideoSignal, steps: int, seeks: int) -> tuple[dict[str, list[float]], int]:
    reels = {name: run.episodes[0].reel for name, run in (("made again", made), ("stored, zstd", stored))}
    maker = Resimulation.of(reels["made again"])
    times: dict[str, list[float]] = {"made again": [], "made again, nothing kept": [], "stored, zstd": [], "H.264": []}
    wrong = 0

    def timed(name: str, read: Callable[[], Any]) -> Any:
        start = time.process_time_ns()
        value = read()
        times[name].append((time.process_time_ns() - start) / 1e6)
        return value

    places = np.random.default_rng(1).integers(0, steps, seeks).tolist()
    reels["made again"].row("frames", 1)  # the environment is made
    for place in places:
        found = timed("made again", lambda place=place: reels["made again"].row("frames", place))
        expected = timed("stored, zstd", lambda place=place: reels["stored, zstd"].row("frames", place))
        timed("H.264", lambda place=place: film[place])
        wrong += found.tobytes() != expected.tobytes()
    for place in places[: max(1, seeks // 4)]:
        maker.forget()
        found = timed("made again, nothing kept", lambda place=place: reels["made again"].row("frames", place))
        wrong += found.tobytes() != reels["stored, zstd"].row("frames", place).tobytes()
    return times, wrong


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=STEPS, help="of each game")
    parser.add_argument("--seeks", type=int, default=SEEKS, help="over all games")
    parser.add_argument("--every", type=int, nargs="+", default=EVERY, help="steps from one state to the next")
    parser.add_argument("--folder", type=Path, default=Path(), help="where to write")
    options, _ = parser.parse_known_args()
    for every in options.every:
        measure(every, options.steps, options.seeks, options.folder)


def measure(every: int, steps: int, seeks: int, folder: Path) -> None:
    """Print the figures of one distance between states."""
    print(f"Frames of six Atari games made again, a state every {every} steps")
    found: list[Figures] = []
    with tempfile.TemporaryDirectory(prefix="bench-resimulate-", dir=folder) as scratch:
        with playhead.open(Path(scratch) / "store") as store:
            for name in GAMES:
                one = game(store, Path(scratch), name, steps, seeks // len(GAMES), every)
                found.append(one)
                sizes = ", ".join(f"{what} {size:,.0f}" for what, size in one.bytes_a_step.items())
                print(f"  {name:<14} bytes a step: {sizes}; wrong frames: {one.wrong}", flush=True)
    for what in found[0].bytes_a_step:
        bar = 130 if what == "made again" else None
        report(f"{what}: bytes a step, mean", statistics.mean(one.bytes_a_step[what] for one in found), "bytes", bar)
    for what in found[0].seeks:
        times = [each for one in found for each in one.seeks[what]]
        bar = 15 if "made" in what else None
        report(f"{what}: a random seek, median of {len(times)}", statistics.median(times), "ms CPU", bar)
    report("wrong frames", sum(one.wrong for one in found), "", 0)


if __name__ == "__main__":
    main()
