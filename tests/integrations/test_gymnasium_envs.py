"""Environments for the tests of the recorders, and a witness that remembers what happened in one."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from playhead.integrations.gymnasium.spaces import restore
from playhead.replay import ReplayEpisode

LINE = spaces.Box(-9, 9, (2,), np.float32)
TWO = spaces.Discrete(2)


def line(*values: float) -> list[np.ndarray]:
    """Give points of `LINE`."""
    return [np.array([value, -value], np.float32) for value in values]


@dataclass
class Episode:
    """What happened from one reset to the next; `seen` has one more than all others."""

    seen: list[Any]
    actions: list[Any] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    ends: list[tuple[bool, bool]] = field(default_factory=list)
    infos: list[dict[str, Any]] = field(default_factory=list)
    shown: list[Any] = field(default_factory=list)


class Witness(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Remembers everything an environment gives and takes."""

    def __init__(self, env: gymnasium.Env[Any, Any], *, shows: bool = False) -> None:
        super().__init__(env)
        self.episodes: list[Episode] = []
        self._shows = shows

    def reset(self, **how: Any) -> tuple[Any, dict[str, Any]]:
        seen, info = self.env.reset(**how)
        self.episodes.append(Episode([deepcopy(seen)]))
        self._look()
        return seen, info

    def step(self, action: Any) -> Any:
        done = deepcopy(action)
        result = self.env.step(action)
        seen, reward, terminated, truncated, info = result
        now = self.episodes[-1]
        now.seen.append(deepcopy(seen))
        now.actions.append(done)
        now.rewards.append(float(reward))
        now.ends.append((bool(terminated), bool(truncated)))
        now.infos.append(deepcopy(info))
        self._look()
        return result

    def _look(self) -> None:
        if self._shows:
            self.episodes[-1].shown.append(np.array(self.env.render()))


class Wander(gymnasium.Env[Any, Any]):
    """A walk of random length; what is seen has parts, and is written into the same memory each time."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 25}  # noqa: RUF012
    observation_space = spaces.Dict(
        {
            "place": spaces.Box(-np.inf, np.inf, (2,), np.float32),
            "map": spaces.Box(0, 255, (3, 4), np.uint8),
            "more": spaces.Tuple((spaces.Discrete(1000), spaces.Text(6, charset="é0123456789"), spaces.MultiBinary(3))),
        }
    )
    action_space = spaces.Discrete(4)

    def __init__(self, render_mode: str | None = None, ends: float = 0.15, *, reuses: bool = True) -> None:
        self.render_mode = render_mode
        self._reuses = reuses
        self._ends = ends
        self._place = np.zeros(2, np.float32)
        self._map = np.zeros((3, 4), np.uint8)
        self._canvas = np.zeros((20, 24, 3), np.uint8)
        self.steps = 0

    def _see(self) -> dict[str, Any]:
        self._map[...] = self.np_random.integers(0, 256, (3, 4))
        number = int(self.np_random.integers(1000))
        bits = self.np_random.integers(0, 2, 3).astype(np.int8)
        seen = {"place": self._place, "map": self._map, "more": (number, f"é{number}", bits)}
        return seen if self._reuses else deepcopy(seen)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._place[:] = 0
        self.steps = 0
        return self._see(), {"fresh": True}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        self._place += np.array([action, -action], np.float32) / 3
        reward = float(self.np_random.normal())
        ended = bool(self.np_random.random() < self._ends)
        info = {"steps": self.steps, "luck": float(self.np_random.random()), "deep": {"x": np.float32(action)}}
        if action == 3:
            info["rare"] = "three"
        return self._see(), reward, ended, False, info

    def render(self) -> np.ndarray:
        self._canvas[...] = self.steps
        self._canvas[0, :2, 0] = self._map[0, :2]
        return self._canvas


class Scripted(gymnasium.Env[Any, Any]):
    """Gives what a test says, step by step; an exception among it is raised."""

    def __init__(self, observation_space: Any, action_space: Any, script: list[Any], ends: int = 10**9) -> None:
        self.observation_space, self.action_space = observation_space, action_space
        self._script, self._ends, self._at = script, ends, 0

    def _next(self) -> Any:
        value = self._script[self._at % len(self._script)]
        self._at += 1
        if isinstance(value, BaseException):
            raise value
        return value

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return self._next(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return self._next(), 1.0, self._at >= self._ends, False, {}


class LazyFrames:
    """Frames of a stack, put together when somebody needs them, as older stacking wrappers had it."""

    def __init__(self, frames: list[np.ndarray]) -> None:
        self._frames = frames

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.stack(self._frames).astype(dtype) if dtype is not None else np.stack(self._frames)


class LazyStack(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Stacks frames lazily."""

    def __init__(self, env: gymnasium.Env[Any, Any], depth: int) -> None:
        super().__init__(env)
        inner = env.observation_space
        self.observation_space = spaces.Box(0, 255, (depth, *inner.shape), inner.dtype)
        self._frames: deque[Any] = deque(maxlen=depth)

    def reset(self, **how: Any) -> tuple[Any, dict[str, Any]]:
        seen, info = self.env.reset(**how)
        self._frames.extend([seen] * self._frames.maxlen)
        return LazyFrames(list(self._frames)), info

    def step(self, action: Any) -> Any:
        seen, *rest = self.env.step(action)
        self._frames.append(seen)
        return LazyFrames(list(self._frames)), *rest


def same(one: Any, other: Any) -> bool:
    """Tell whether two structured values are equal, bit for bit and in their types."""
    if isinstance(one, dict):
        return isinstance(other, dict) and one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    if isinstance(one, tuple):
        return isinstance(other, tuple) and len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, str):
        return one == other
    first, second = np.asarray(one), np.asarray(other)
    if first.shape == ():
        return bool(first == second)
    return first.dtype == second.dtype and first.shape == second.shape and first.tobytes() == second.tobytes()


def assert_recorded(
    episode: ReplayEpisode, truth: Episode, how: str | None, *, infos: Callable[[Any], Any] | None = None
) -> None:
    """See that a recording holds each (s, a, r, s′) of an episode, its flags and its infos."""
    assert episode.length == len(truth.rewards)
    assert episode.how == how
    seen, done = episode.static["observation_space"], episode.static["action_space"]
    for step, (terminated, truncated) in enumerate(truth.ends):
        found = episode.transition(step)
        assert same(restore(seen, found.observation), truth.seen[step]), step
        assert same(restore(done, found.action), truth.actions[step]), step
        assert found.reward == truth.rewards[step]
        assert same(restore(seen, found.next_observation), truth.seen[step + 1]), step
        assert (found.terminated, found.truncated) == (terminated, truncated)
    if infos is not None:
        assert episode.infos == [infos(info) for info in truth.infos]


def play(env: gymnasium.Env[Any, Any], steps: int, seed: int = 0) -> None:
    """Act at random, and reset where an episode ends."""
    env.action_space.seed(seed)
    env.reset(seed=seed)
    for _ in range(steps):
        *_, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated:
            env.reset()


def test_the_wanderer_is_an_environment() -> None:
    env = Wander()
    env.observation_space.seed(0)
    play(Witness(env), 50)
    assert env.reset(seed=3)[0] in env.observation_space


def test_the_witness_remembers_copies() -> None:
    env = Witness(Wander(ends=0))
    play(env, 5)
    places = [seen["place"].tolist() for seen in env.episodes[0].seen]
    assert len({tuple(place) for place in places}) > 1
