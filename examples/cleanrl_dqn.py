"""DQN in one file, as CleanRL has it, that records all of its training: half a minute on one core, and only NumPy.

Every step that the agent takes is recorded as it learns, without frames; so are its losses and returns. At the end it
plays some episodes with frames, and its weights are kept as an artifact of the run.

    python examples/cleanrl_dqn.py --store demo-store
    playhead replay last --store demo-store
"""

from __future__ import annotations

import argparse
import itertools
import os
import tempfile
from dataclasses import asdict, dataclass, fields
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # networks this small are faster without threads

import gymnasium
import numpy as np

import playhead
from playhead.integrations.gymnasium import Recorder


@dataclass
class Args:
    """What can be given on the command line, each as `--name value`."""

    store: str = "store"
    env_id: str = "CartPole-v1"
    seed: int = 1
    total_timesteps: int = 15_000
    learning_rate: float = 1e-3
    buffer_size: int = 10_000
    gamma: float = 0.99
    target_network_frequency: int = 250
    batch_size: int = 64
    start_e: float = 1.0
    end_e: float = 0.05
    exploration_fraction: float = 0.4
    learning_starts: int = 1_000
    train_frequency: int = 2
    eval_episodes: int = 5


class QNetwork:
    """Two hidden layers of rectified units, with Adam, written out."""

    def __init__(self, sizes: list[int], rng: np.random.Generator) -> None:
        self.weights: list[np.ndarray] = []
        for size, following in itertools.pairwise(sizes):
            for shape in ((size, following), (following,)):
                self.weights.append((rng.uniform(-1, 1, shape) / np.sqrt(size)).astype(np.float32))
        self.moments = [(np.zeros_like(weight), np.zeros_like(weight)) for weight in self.weights]
        self.updates = 0

    def layers(self, observations: np.ndarray) -> list[np.ndarray]:
        """Give the values of all layers; the last are those of the actions."""
        values = [observations]
        for number in range(0, len(self.weights), 2):
            out = values[-1] @ self.weights[number] + self.weights[number + 1]
            values.append(np.maximum(out, 0) if number + 2 < len(self.weights) else out)
        return values

    def __call__(self, observations: np.ndarray) -> np.ndarray:
        return self.layers(observations)[-1]

    def learn(self, observations: np.ndarray, actions: np.ndarray, targets: np.ndarray, rate: float) -> float:
        """Step towards the targets; give the mean squared error before."""
        values = self.layers(observations)
        rows = np.arange(len(actions))
        error = values[-1][rows, actions] - targets
        slope = np.zeros_like(values[-1])
        slope[rows, actions] = 2 * error / len(error)
        slopes: list[np.ndarray] = []
        for number in range(len(self.weights) - 2, -1, -2):
            slopes = [values[number // 2].T @ slope, slope.sum(axis=0), *slopes]
            slope = (slope @ self.weights[number].T) * (values[number // 2] > 0)
        self.updates += 1
        for number, slope in enumerate(slopes):
            first, second = self.moments[number]
            first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
            self.moments[number] = first, second
            step = first / (1 - 0.9**self.updates) / (np.sqrt(second / (1 - 0.999**self.updates)) + 1e-8)
            self.weights[number] -= np.float32(rate) * step.astype(np.float32)
        return float(np.mean(error**2))

    def copy_from(self, other: QNetwork) -> None:
        """Take over the weights of another network."""
        self.weights = [weight.copy() for weight in other.weights]


def linear_schedule(start_e: float, end_e: float, duration: float, t: int) -> float:
    """Give how often the agent explores at a step."""
    return max(start_e + (end_e - start_e) / duration * t, end_e)


def evaluate(run: playhead.RunWriter, q_network: QNetwork, args: Args) -> float:
    """Play with what was learned, and record it with frames; give the mean return."""
    env = Recorder(gymnasium.make(args.env_id, render_mode="rgb_array"), run, every=2)
    returns = []
    for episode in range(args.eval_episodes):
        obs, _ = env.reset(seed=10_000 + episode)
        total, done = 0.0, False
        while not done:
            obs, reward, terminated, truncated, _ = env.step(int(np.argmax(q_network(obs))))
            total, done = total + float(reward), terminated or truncated
        returns.append(total)
    env.close()
    return float(np.mean(returns))


def main() -> None:
    """Train once, and say where to look."""
    parser = argparse.ArgumentParser(description="DQN in one file, recorded.")
    for option in fields(Args):
        parser.add_argument(f"--{option.name.replace('_', '-')}", type=type(option.default), default=option.default)
    args = Args(**vars(parser.parse_args()))
    rng = np.random.default_rng(args.seed)

    with playhead.open(args.store) as store, store.run("cleanrl", "dqn", config=asdict(args), tags=["demo"]) as run:
        run.set_primary_metric("charts/episodic_return", mode="max")
        env = Recorder(gymnasium.make(args.env_id), run, frames=None)
        size, actions = env.observation_space.shape[0], int(env.action_space.n)
        q_network, target_network = (QNetwork([size, 64, 64, actions], rng) for _ in range(2))
        target_network.copy_from(q_network)
        seen, following = np.zeros((2, args.buffer_size, size), np.float32)
        chosen, rewards = np.zeros(args.buffer_size, np.int64), np.zeros(args.buffer_size, np.float32)
        dones = np.zeros(args.buffer_size, np.float32)

        obs, _ = env.reset(seed=args.seed)
        episodic_return, episodes, loss = 0.0, 0, 0.0
        for global_step in range(args.total_timesteps):
            # Explore, or do what is best as far as is known.
            epsilon = linear_schedule(
                args.start_e, args.end_e, args.exploration_fraction * args.total_timesteps, global_step
            )
            explores = rng.random() < epsilon
            action = int(rng.integers(actions)) if explores else int(np.argmax(q_network(obs)))
            next_obs, reward, terminated, truncated, _ = env.step(action)
            place = global_step % args.buffer_size
            seen[place], following[place], chosen[place], rewards[place] = obs, next_obs, action, reward
            dones[place] = terminated
            obs = next_obs
            episodic_return += float(reward)
            if terminated or truncated:
                values = {"charts/episodic_return": episodic_return, "charts/epsilon": epsilon}
                run.log(values | {"losses/td_loss": loss}, step=global_step)
                episodes, episodic_return = episodes + 1, 0.0
                obs, _ = env.reset()

            # Learn from what was lived through.
            if global_step >= args.learning_starts and global_step % args.train_frequency == 0:
                batch = rng.integers(min(global_step + 1, args.buffer_size), size=args.batch_size)
                best = q_network(following[batch]).argmax(axis=1)  # chosen by one network, valued by the other
                ahead = target_network(following[batch])[np.arange(len(batch)), best]
                targets = rewards[batch] + args.gamma * (1 - dones[batch]) * ahead
                loss = q_network.learn(seen[batch], chosen[batch], targets, args.learning_rate)
            if global_step % args.target_network_frequency == 0:
                target_network.copy_from(q_network)
        env.close()

        mean = evaluate(run, q_network, args)
        run.log({"eval/mean_return": mean}, step=args.total_timesteps)
        run.summary({"episodes": episodes, "eval return": mean})
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "q_network.npz"
            np.savez(path, *q_network.weights)
            run.log_artifact("dqn", path, metadata={"mean_return": mean})
    print(f"Recorded {run.id}: {episodes} episodes of training, then {mean:.0f} steps on average.")


if __name__ == "__main__":
    main()
