"""Play a real Atari game and record every frame: a few thousand steps, about ten seconds on one core.

The player is a random one that holds on to its action for a while, which is enough to see something on the screen. All
that Playhead needs is the line with `Recorder`.

    python examples/atari.py --store demo-store --game Breakout
"""

from __future__ import annotations

import argparse

import ale_py
import gymnasium
import numpy as np
from rich.progress import track

import playhead
from playhead.integrations.gymnasium import Recorder


def play(store: playhead.Store, game: str, steps: int, seed: int) -> str:
    """Play and record; give the id of the run."""
    generator = np.random.default_rng(seed)
    with store.run("atari", game.lower(), config={"game": game, "seed": seed}, tags=["demo"]) as run:
        run.set_primary_metric("return", mode="max")
        env = Recorder(gymnasium.make(f"ALE/{game}-v5"), run)
        env.reset(seed=seed)
        action, total = 0, 0.0
        for _ in track(range(steps), description=f"Playing {game}"):
            if generator.random() < 0.25:
                action = int(generator.integers(env.action_space.n))
            _, reward, terminated, truncated, _ = env.step(action)
            total += float(reward)
            if terminated or truncated:
                run.log({"return": total})
                env.reset()
                total = 0.0
        env.close()
    return run.id


def main() -> None:
    """Play and say what to look at."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", default="store")
    parser.add_argument("--game", default="Breakout")
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    with playhead.open(arguments.store) as store:
        run_id = play(store, arguments.game, arguments.steps, arguments.seed)
        best = max(store.runs[run_id].episodes, key=lambda episode: episode.total_reward)
        bytes_used = sum(path.stat().st_size for path in (store.path / "replay").glob(f"{run_id}*.h5"))
        print(f"{len(store.runs[run_id].episodes)} episodes, {bytes_used / arguments.steps:.0f} bytes a step")
        print(f"The best one: {best}")
        print(f"Watch it: playhead replay {run_id} {best.id} --store {arguments.store}")


if __name__ == "__main__":
    main()
