"""Part 1, with an agent: what recording adds to the loop of a DQN that acts and learns from what it sees."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from torch import nn

import playhead
from benchmarks.measure import report
from benchmarks.replay_games import GAMES, SIDE, STACK, environment, policy
from benchmarks.replay_loop import Rendering
from playhead.integrations.gymnasium import Recorder

STEPS, WARM, MEMORY, BATCH, LEARN_EVERY = 500, 50, 1_000, 32, 4
ROUNDS, LONG_ROUNDS = 4, 1  # where a step takes ten milliseconds


class Agent:
    """The network of the Atari DQN, and a memory of transitions in arrays.

    Args:
        actions: How many there are.
        learn_every: Steps between two updates; None never learns.
        device: Where its network is.
    """

    def __init__(self, actions: int, learn_every: int | None, device: str) -> None:
        self._learn_every, self._device = learn_every, device
        layers = [nn.Conv2d(STACK, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU()]
        layers += [nn.Conv2d(64, 64, 3), nn.ReLU(), nn.Flatten(), nn.Linear(3136, 512), nn.ReLU()]
        self._network = nn.Sequential(*layers, nn.Linear(512, actions)).to(device)
        self._optimizer = torch.optim.Adam(self._network.parameters(), 1e-4)
        self._seen = np.zeros((MEMORY, SIDE, SIDE, STACK), np.uint8)
        self._next = np.zeros_like(self._seen)
        self._done = np.zeros((MEMORY, 3), np.float32)  # action, reward, whether it ended
        self._rng, self._count = np.random.default_rng(0), 0

    def act(self, observation: Any) -> int:
        """Say what seems best."""
        with torch.no_grad():
            return int(self._values(observation[None]).argmax())

    def remember(self, seen: Any, action: int, reward: float, following: Any, ended: bool) -> None:
        """Keep a transition, and learn where that is due."""
        place = self._count % MEMORY
        self._seen[place], self._next[place], self._done[place] = seen, following, (action, reward, ended)
        self._count += 1
        if self._learn_every and self._count % self._learn_every == 0:
            self._learn(self._rng.integers(min(self._count, MEMORY), size=BATCH))

    def _learn(self, places: Any) -> None:
        action, reward, ended = torch.from_numpy(self._done[places]).to(self._device).T
        with torch.no_grad():
            wanted = reward + 0.99 * (1 - ended) * self._values(self._next[places]).amax(1)
        found = self._values(self._seen[places]).gather(1, action.long()[:, None])[:, 0]
        self._optimizer.zero_grad()
        nn.functional.smooth_l1_loss(found, wanted).backward()
        self._optimizer.step()

    def _values(self, observations: Any) -> torch.Tensor:
        pictures = torch.from_numpy(observations).to(self._device)
        return self._network(pictures.permute(0, 3, 1, 2).float() / 255)


def timed(env: gymnasium.Env, learn_every: int | None, device: str, seed: int) -> float:
    """Play, all that the agent does included; give the wall seconds of a step."""
    agent = Agent(int(env.action_space.n), learn_every, device)
    seen, _ = env.reset(seed=seed)
    started = 0
    for i, action in zip(range(STEPS), policy(env, seed), strict=False):
        if i == WARM:
            started = time.perf_counter_ns()
        agent.act(seen)  # the seeded policy is followed, so that both sides play the same
        following, reward, terminated, truncated, _ = env.step(action)
        agent.remember(seen, action, float(reward), following, terminated)
        seen = following if not terminated and not truncated else env.reset()[0]
    return (time.perf_counter_ns() - started) / 1e9 / (STEPS - WARM)


def with_an_agent(folder: Path) -> None:
    """Play each game bare and recorded in turns, and print what differs."""
    print("\n   With a DQN that chooses each action, frames rendered")
    kinds = [("cpu", threads, learn_every) for learn_every in (None, LEARN_EVERY) for threads in (1, 2)]
    if torch.cuda.is_available():
        kinds = [("cuda", 1, learn_every) for learn_every in (None, LEARN_EVERY)] + kinds
    with playhead.open(folder / "agent") as store, store.run("bench", "agent", environment=False) as run:
        for device, threads, learn_every in kinds:
            torch.set_num_threads(threads)
            bare, recorded = [], []
            for name in GAMES:
                plain, recorder = Rendering(environment(name)), Recorder(environment(name), run, frames="render")
                turns = [(bare, plain), (recorded, recorder)]
                for seed in range(LONG_ROUNDS if device == "cpu" and learn_every else ROUNDS):
                    for times, env in turns:
                        times.append(timed(env, learn_every, device, seed))
                    turns.reverse()
                recorder.close()
                plain.close()
            added = [mine / other - 1 for mine, other in zip(recorded, bare, strict=True)]
            what = "acts" if learn_every is None else f"acts, learns every {learn_every} steps"
            where = "on the GPU" if device == "cuda" else f"{threads} of PyTorch's threads"
            report(f"{what}, {where}: bare", float(np.median(bare)) * 1e3, "ms")
            report("  wall time added, median of rounds", float(np.median(added)) * 100, "%", 10)
