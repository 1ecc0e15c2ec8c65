"""Six real Atari games from ale-py: played once by a seeded random policy, or as environments to be recorded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import ale_py
import gymnasium
import numpy as np
from numpy.typing import NDArray
from PIL import Image

GAMES = ("Pong", "Breakout", "MsPacman", "Qbert", "Seaquest", "SpaceInvaders")
STEPS = 1_000
SIDE, STACK = 84, 4

ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
gymnasium.register_envs(ale_py)

Step = tuple[dict[str, Any], float, bool, bool, dict[str, Any]]


class SmallGrey(gymnasium.Wrapper):
    """Observations as agents get them: grey, 84 × 84, the last four in the last axis."""

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__(env)
        self.observation_space = gymnasium.spaces.Box(0, 255, (SIDE, SIDE, STACK), np.uint8)
        self._stack = np.zeros((SIDE, SIDE, STACK), np.uint8)

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        grey, info = self.env.reset(**options)
        self._stack = np.repeat(shrunk(grey)[:, :, None], STACK, axis=2)
        return self._stack, info

    def step(self, action: Any) -> Any:
        grey, *rest = self.env.step(action)
        self._stack = np.concatenate([self._stack[:, :, 1:], shrunk(grey)[:, :, None]], axis=2)
        return self._stack, *rest


class Shrunk(gymnasium.ObservationWrapper):
    """One grey 84 × 84 frame, for `FrameStackObservation` to stack."""

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__(env)
        self.observation_space = gymnasium.spaces.Box(0, 255, (SIDE, SIDE), np.uint8)

    def observation(self, grey: Any) -> Any:
        return shrunk(grey)


def shrunk(grey: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.asarray(Image.fromarray(grey).resize((SIDE, SIDE), Image.Resampling.BOX))


def environment(game: str, *, stacked_by: str = "the last axis") -> gymnasium.Env:
    """Make a game with small grey stacks as observations and RGB frames to render.

    Args:
        game: Its name.
        stacked_by: `the last axis` for 84 × 84 × 4 arrays, `FrameStackObservation` for Gymnasium's own.
    """
    env = gymnasium.make(f"ALE/{game}-v5", frameskip=4, obs_type="grayscale", render_mode="rgb_array")
    if stacked_by == "FrameStackObservation":
        return gymnasium.wrappers.FrameStackObservation(Shrunk(env), STACK)
    return SmallGrey(env)


def policy(env: gymnasium.Env, seed: int) -> Iterator[int]:
    """Act at random, keeping to an action for four steps on average."""
    rng, count = np.random.default_rng(seed), int(env.action_space.n)
    action = 0
    while True:
        if rng.random() < 0.25:
            action = int(rng.integers(count))
        yield action


@dataclass
class Played:
    """Steps of a game: row i is what was seen, what was done then, and what came of it."""

    game: str
    frames: NDArray[np.uint8]
    observations: NDArray[np.uint8]
    actions: list[int]
    rewards: list[float]
    terminated: list[bool]
    truncated: list[bool]
    infos: list[dict[str, Any]]

    def __len__(self) -> int:
        return len(self.actions)

    @cached_property
    def steps(self) -> list[Step]:
        """Each step as what is recorded of it: arrays, reward, terminated, truncated, info."""
        seen = zip(self.frames, self.observations, self.actions, strict=True)
        arrays = [{"frames": frame, "observations": small, "actions": action} for frame, small, action in seen]
        return list(zip(arrays, self.rewards, self.terminated, self.truncated, self.infos, strict=True))


def play(game: str, steps: int = STEPS, seed: int = 0) -> Played:
    """Play a game for so many steps, over several episodes where it ends before."""
    env = environment(game)
    frames = np.empty((steps, 210, 160, 3), np.uint8)
    observations = np.empty((steps, SIDE, SIDE, STACK), np.uint8)
    rest: list[tuple[int, float, bool, bool, dict[str, Any]]] = []
    observation, _ = env.reset(seed=seed)
    for i, action in zip(range(steps), policy(env, seed), strict=False):
        frames[i], observations[i] = env.render(), observation
        observation, reward, terminated, truncated, info = env.step(action)
        rest.append((action, float(reward), terminated, truncated, info))
        if terminated or truncated:
            observation, _ = env.reset()
    env.close()
    return Played(game, frames, observations, *map(list, zip(*rest, strict=True)))


def play_all(steps: int = STEPS) -> list[Played]:
    """Play all six games."""
    return [play(game, steps) for game in GAMES]
