"""Record an Atari game without its frames, seek in it, prove it, and store it after all: a few seconds on one core.

python examples/resimulate.py --store demo-store --game Breakout
"""

from __future__ import annotations

import argparse
import time

import ale_py
import gymnasium
import numpy as np

import playhead
from playhead.check import verify_replay
from playhead.integrations.gymnasium import Recorder
from playhead.integrations.gymnasium.converting import to_stored


def play(store: playhead.Store, game: str, steps: int) -> str:
    """Play and record; give the id of the run."""
    with store.run("atari", f"{game.lower()}-resimulated", tags=["demo"]) as run:
        env = Recorder(gymnasium.make(f"ALE/{game}-v5"), run, frames="resimulate")
        env.action_space.seed(0)
        env.reset(seed=0)
        for _ in range(steps):
            _, _, terminated, truncated, _ = env.step(env.action_space.sample())
            if terminated or truncated:
                env.reset()
        env.close()
    return run.id


def main() -> None:
    """Play, seek, prove, convert."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", default="store")
    parser.add_argument("--game", default="Breakout")
    parser.add_argument("--steps", type=int, default=1000)
    arguments = parser.parse_args()
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    with playhead.open(arguments.store) as store:
        run_id = play(store, arguments.game, arguments.steps)
        episodes = list(store.runs[run_id].episodes)
        episode = max(episodes, key=lambda one: one.length)
        episode["frame"][1]  # the environment is made
        begun = time.perf_counter()
        places = np.random.default_rng(0).integers(0, episode.length, 20).tolist()
        for place in places:
            episode["frame"][place]
        print(f"{(time.perf_counter() - begun) / len(places) * 1e3:.0f} ms for a frame that was never stored")
        findings = [finding for one in episodes for finding in verify_replay(one)]
        print(f"{len(episodes)} episodes played again: {len(findings)} differences")
        with store.run("atari", f"{arguments.game.lower()}-stored", tags=["demo"]) as run:
            done = to_stored(episodes, run)
        before, after = done.bytes_before / done.steps, done.bytes_after / done.steps
        print(f"{before:.0f} bytes a step without frames, {after:.0f} with them")


if __name__ == "__main__":
    main()
