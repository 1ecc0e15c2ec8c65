"""Environments that are played, and what was seen then."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import ale_py
import gymnasium
import numpy as np
from gymnasium import spaces

from playhead.integrations.gymnasium import Recorder
from playhead.replay import ReplayEpisode

GAMES = ("Pong", "Breakout", "MsPacman", "Qbert", "Seaquest", "SpaceInvaders")

ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
gymnasium.register_envs(ale_py)


def game(name: str, **options: Any) -> gymnasium.Env[Any, Any]:
    return gymnasium.make(f"ALE/{name}-v5", **options)


def stacked(name: str, **options: Any) -> gymnasium.Env[Any, Any]:
    """Give a game as most agents see it: grey, small, four frames at a time; what is rendered is in colour."""
    env = game(name, frameskip=1, render_mode="rgb_array")
    small = gymnasium.wrappers.AtariPreprocessing(env, **options)
    return gymnasium.wrappers.FrameStackObservation(small, 4)


@dataclass
class Seen:
    """What was seen in an episode: before each step, and at its end."""

    observations: list[Any] = field(default_factory=list)
    frames: list[Any] = field(default_factory=list)


def play(env: gymnasium.Env[Any, Any], steps: int, seed: int = 3) -> list[Seen]:
    """Act at random for so many steps, keeping to an action for four steps on average."""
    rng = np.random.default_rng(seed)
    env.action_space.seed(seed)
    episodes: list[Seen] = []

    def see(observation: Any) -> None:
        episodes[-1].observations.append(np.array(observation))
        episodes[-1].frames.append(np.array(env.render()) if env.render_mode == "rgb_array" else None)

    observation, _ = env.reset(seed=seed)
    episodes.append(Seen())
    see(observation)
    action = env.action_space.sample()
    for _ in range(steps):
        if rng.random() < 0.25:
            action = env.action_space.sample()
        observation, _, terminated, truncated, _ = env.step(action)
        see(observation)
        if terminated or truncated:
            observation, _ = env.reset()
            episodes.append(Seen())
            see(observation)
    return episodes if len(episodes[-1].observations) > 1 else episodes[:-1]


def record(run: Any, env: gymnasium.Env[Any, Any], steps: int, **options: Any) -> list[Seen]:
    recorded = Recorder(env, run, **({"frames": "resimulate"} | options))
    try:
        return play(recorded, steps)
    finally:
        recorded.close()


def assert_same(found: Any, expected: Any) -> None:
    expected = np.asarray(expected)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert found.tobytes() == expected.tobytes()


def assert_seeks(episodes: Any, seen: list[Seen], count: int, *, frames: bool = False, seed: int = 0) -> None:
    """Seek at random, over all episodes, and compare to the last bit."""
    rng = np.random.default_rng(seed)
    places = [(number, step) for number, one in enumerate(seen) for step in range(len(one.observations) - 1)]
    assert [episode.length for episode in episodes] == [len(one.observations) - 1 for one in seen]
    for at in rng.choice(len(places), min(count, len(places)), replace=False):
        number, step = places[at]
        episode: ReplayEpisode = episodes[number]
        assert_same(episode["observation"][step][0], seen[number].observations[step])
        if frames:
            assert_same(episode["frame"][step][0], seen[number].frames[step])


class Maze(gymnasium.Env[Any, Any]):
    """An environment of nobody's that saves itself; where asked to, it is not deterministic from some step on."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012

    def __init__(self, wrong_at: int | None = None, growing: bool = False) -> None:
        self.observation_space = spaces.Box(-9, 9, (3,), np.float32)
        self.action_space = spaces.Discrete(4)
        self.render_mode = "rgb_array"
        self._wrong_at = wrong_at
        self._growing = growing
        self.place, self.steps = 0, 0
        self.extra = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.place, self.steps = int(self.np_random.integers(100)), 0
        return self._seen(), {}

    def step(self, action: Any) -> Any:
        self.steps += 1
        self.place = (self.place * 5 + int(action) + int(self.np_random.integers(3))) % 251
        if self._wrong_at is not None and self.steps >= self._wrong_at:
            self.extra += 1  # is in no state
        return self._seen(), 1.0, self.steps >= 150, False, {}

    def _seen(self) -> Any:
        return np.array([self.place, self.steps, 0], np.float32)

    def render(self) -> Any:
        return np.full((24, 32, 3), (self.place * 7 + self.extra) % 256, np.uint8)

    def get_state(self) -> Any:
        state = {"place": self.place, "steps": self.steps, "random": self.np_random.bit_generator.state}
        return state | {"trail": bytes(self.steps * 40)} if self._growing else state

    def set_state(self, state: Any) -> None:
        self.place, self.steps = state["place"], state["steps"]
        self.np_random.bit_generator.state = state["random"]
