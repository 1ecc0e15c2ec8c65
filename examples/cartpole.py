"""Train a small agent on CartPole and record all of it in one run: a few seconds on one core.

A linear policy, improved by the cross-entropy method: sample policies, keep the best, sample around them. The
environment is Gymnasium's and the learning is real. The run gets the metrics, a trace of the search, from which any of
its states comes back, the policy as a version of an artifact, and an episode that it plays, with every frame.

    python examples/cartpole.py --store demo-store
    cd examples; playhead trace seek last/search 5 --step cartpole:improve --store ../demo-store
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

import gymnasium
import numpy as np
from rich.progress import track

import playhead
from playhead.integrations.gymnasium import Recorder

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # the renderer needs no screen

Search = dict[str, np.ndarray]


def improve(_state: Search, elite: np.ndarray) -> Search:
    """Make the next state of the search of the best policies of this one."""
    return {"mean": elite.mean(axis=0), "spread": elite.std(axis=0) + 0.02}


def episode_return(env: gymnasium.Env, weights: np.ndarray, seed: int) -> float:
    """Play one episode with a linear policy."""
    observation, _ = env.reset(seed=seed)
    total = 0.0
    while True:
        action = int(observation @ weights[:4] + weights[4] > 0)
        observation, reward, terminated, truncated, _ = env.step(action)
        total += float(reward)
        if terminated or truncated:
            return total


def mean_return(env: gymnasium.Env, weights: np.ndarray, seeds: list[int]) -> float:
    """Play several episodes."""
    return float(np.mean([episode_return(env, weights, seed) for seed in seeds]))


def train(store: playhead.Store, config: dict[str, float | int]) -> str:
    """Improve a policy and record how; give the id of the run."""
    generator = np.random.default_rng(int(config["seed"]))
    env = gymnasium.make("CartPole-v1")
    state = {"mean": np.zeros(5), "spread": np.full(5, config["spread"])}
    keep = int(config["population"] * config["elite"])
    with (
        store.run("cartpole", "cross-entropy", config=config, tags=["demo"]) as run,
        run.trace("search", improve, bucket=2) as trace,
    ):
        run.set_primary_metric("return/mean", mode="max")
        for iteration in track(range(int(config["iterations"])), description="Training"):
            population = generator.normal(state["mean"], state["spread"], (int(config["population"]), 5))
            seeds = [3 * iteration + episode for episode in range(3)]
            returns = np.array([mean_return(env, w, seeds) for w in population])
            elite = population[np.argsort(returns)[-keep:]]
            trace.append(state, error=500 - returns.mean(), input=elite)
            state = improve(state, elite)
            run.log({"return/mean": returns.mean(), "return/best": returns.max(), "spread": state["spread"].mean()})
        mean = state["mean"]
        final = mean_return(env, mean, list(range(1000, 1010)))
        run.log({"return/final": final}, stage="eval")
        run.log_image("policy", np.abs(mean)[None, :] / np.abs(mean).max(), caption="weight of each observation")
        run.log_text(f"the mean policy balances for {final:.0f} of 500 steps")
        run.summary({"final return": final})
        keep_policy(run, mean, final)
        recorded = Recorder(gymnasium.make("CartPole-v1", render_mode="rgb_array"), run, every=5)
        episode_return(recorded, mean, seed=1000)
        recorded.close()
    return run.id


def keep_policy(run: playhead.RunWriter, weights: np.ndarray, final: float) -> None:
    """Save a policy as a version of an artifact."""
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "weights.npy", weights)
        run.log_artifact("policy", Path(folder) / "weights.npy", aliases=["best"], metadata={"return": final})


def main() -> None:
    """Train once and say where to look."""
    parser = argparse.ArgumentParser(description="Train a small agent on CartPole and record it.")
    parser.add_argument("--store", default="store")
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    config = {
        "iterations": arguments.iterations,
        "seed": arguments.seed,
        "population": 20,
        "elite": 0.2,
        "spread": 1.0,
    }
    with playhead.open(arguments.store) as store:
        run_id = train(store, config)
        run = store.runs[run_id]
        print(f"Recorded {run_id}: the policy now balances for {run.summary()['final return']:.0f} of 500 steps.")
        for kind, line in run.holdings.lines().items():
            print(f"  {kind}: {line}")


if __name__ == "__main__":
    main()
