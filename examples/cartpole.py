"""Train a small agent on CartPole and record it: about ten seconds on one core.

A linear policy, improved by the cross-entropy method: sample policies, keep the best, sample around them. The
environment is Gymnasium's, the learning is real, and every iteration is logged.

    python examples/cartpole.py --store demo-store
"""

from __future__ import annotations

import argparse

import gymnasium
import numpy as np
from rich.progress import track

import playhead


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
    mean, spread = np.zeros(5), np.full(5, config["spread"])
    keep = int(config["population"] * config["elite"])
    with store.run("cartpole", "cross-entropy", config=config, tags=["demo"]) as run:
        run.set_primary_metric("return/mean", mode="max")
        for iteration in track(range(int(config["iterations"])), description="Training"):
            population = generator.normal(mean, spread, (int(config["population"]), 5))
            seeds = [3 * iteration + episode for episode in range(3)]
            returns = np.array([mean_return(env, w, seeds) for w in population])
            best = population[np.argsort(returns)[-keep:]]
            mean, spread = best.mean(axis=0), best.std(axis=0) + 0.02
            run.log({"return/mean": returns.mean(), "return/best": returns.max(), "spread": spread.mean()})
        final = mean_return(env, mean, list(range(1000, 1010)))
        run.log({"return/final": final}, stage="eval")
        run.log_image("policy", np.abs(mean)[None, :] / np.abs(mean).max(), caption="weight of each observation")
        run.log_text(f"the mean policy balances for {final:.0f} of 500 steps")
        run.summary({"final return": final})
    return run.id


def main() -> None:
    """Train once and say where to look."""
    parser = argparse.ArgumentParser(description="Train a small agent on CartPole and record it.")
    parser.add_argument("--store", default="store")
    parser.add_argument("--iterations", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    config = {
        "iterations": arguments.iterations,
        "seed": arguments.seed,
        "population": 25,
        "elite": 0.2,
        "spread": 1.0,
    }
    with playhead.open(arguments.store) as store:
        run_id = train(store, config)
        final = store.runs[run_id].summary()["final return"]
    print(f"Recorded {run_id}: the policy now balances for {final:.0f} of 500 steps.")


if __name__ == "__main__":
    main()
