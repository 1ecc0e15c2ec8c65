"""Discrete actions are shown by their names, if the environment knows them."""

from __future__ import annotations

import enum
import json
from pathlib import Path
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

import playhead
from playhead.export.film.figures import Writer
from playhead.export.film.steps import Steps
from playhead.integrations.gymnasium import Recorder, VectorRecorder, meanings
from playhead.plots.material import gather
from playhead.replay.naming import ActionNames
from tests.cli.invoking import invoke

NAMES = ["NOOP", "UP", "DOWN"]


class Game(gym.Env[Any, Any]):
    """Three actions, with names."""

    def __init__(self, start: int = 0) -> None:
        self.observation_space = spaces.Box(0, 255, (2,), np.uint8)
        self.action_space = spaces.Discrete(3, start=start)
        self.asked = 0

    def get_action_meanings(self) -> list[str]:
        self.asked += 1
        return NAMES

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return np.zeros(2, np.uint8), {}

    def step(self, action: Any) -> Any:
        return np.full(2, action, np.uint8), 1.0, False, False, {}


class Moves(enum.IntEnum):
    left, right, forward = range(3)


class Grid(Game):
    """As MiniGrid has it."""

    get_action_meanings = None  # type: ignore[assignment]
    actions = Moves


class Listing(Game):
    get_action_meanings = None  # type: ignore[assignment]
    action_names = ("a", "b", "c")


class Numbered(Game):
    get_action_meanings = None  # type: ignore[assignment]
    action_meanings: ClassVar[dict[int, str]] = {2: "z", 0: "x", 1: "y"}


class Raising(Game):
    def get_action_meanings(self) -> list[str]:
        raise RuntimeError("no names today")


class Lying(Game):
    def get_action_meanings(self) -> list[str]:
        return ["one", "two"]


class Odd(Game):
    def get_action_meanings(self) -> list[str]:
        return [1, 2, 3]  # type: ignore[list-item]


class Swapped(gym.ActionWrapper[Any, Any, Any]):
    def action(self, action: Any) -> Any:
        return 2 - action


class SwappedAndNamed(Swapped):
    def get_action_meanings(self) -> list[str]:
        return NAMES[::-1]


@pytest.mark.parametrize(
    ("env", "names"),
    [
        (Game, NAMES),
        (Grid, ["left", "right", "forward"]),
        (Listing, ["a", "b", "c"]),
        (Numbered, ["x", "y", "z"]),
        (Raising, None),
        (Lying, None),
        (Odd, None),
        (lambda: gym.wrappers.TimeLimit(Game(), 5), NAMES),
        (lambda: Swapped(Game()), None),
        (lambda: SwappedAndNamed(Game()), NAMES[::-1]),
        (lambda: gym.make("CartPole-v1"), None),
    ],
)
def test_what_environments_know(env: Any, names: list[str] | None) -> None:
    made = env()
    assert meanings.facts_of(made, made.action_space) == ({} if names is None else {"action_meanings": names})


def test_they_are_asked_once_and_shown_everywhere(tmp_path: Path) -> None:
    game = Game(start=4)
    with playhead.open(tmp_path / "s") as store:
        with store.run("p", "n", run_id="r", environment=False) as run:
            env = Recorder(game, run)
            for _ in range(2):
                env.reset()
                for action in (4, 5, 6, 5):
                    env.step(np.int64(action))
            env.close()
        assert game.asked == 1
        episode = store.runs["r"].episodes[0]
        assert episode.static["action_meanings"] == NAMES
        assert "actions NOOP, UP, DOWN" in repr(episode)
        assert "actions NOOP, UP, DOWN" in episode._repr_html_()
        steps = Steps(episode)
        assert [steps[number].action_name for number in range(4)] == ["NOOP", "UP", "DOWN", "UP"]
        texts = {figure.label: figure.text for figure in Writer(steps).at(steps[2])}
        assert texts["action"] == "DOWN (6)"
        curves = {curve.name: curve.values.tolist() for curve in gather(episode).curves}
        assert curves["action"] == ["NOOP", "UP", "DOWN", "UP"]
    lines = invoke("replay", "r", "0", "--json", store=tmp_path / "s").stdout.splitlines()
    assert [json.loads(line)["action_name"] for line in lines] == ["NOOP", "UP", "DOWN", "UP"]


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_environments_of_a_vector(tmp_path: Path, kind: str) -> None:
    many = {"sync": gym.vector.SyncVectorEnv, "async": gym.vector.AsyncVectorEnv}[kind]
    for wrap, expected in ((gym.Wrapper, NAMES), (Swapped, None), (SwappedAndNamed, NAMES[::-1])):
        with playhead.open(tmp_path / wrap.__name__) as store:
            with store.run("p", "n", run_id="r", environment=False) as run:
                env = VectorRecorder(many([lambda wrap=wrap: wrap(Game())] * 2), run)
                env.reset()
                env.step(np.array([1, 2]))
                env.close()
            found = [episode.static.get("action_meanings") for episode in store.runs["r"].episodes]
        # Of an environment in another process nobody can see whether a wrapper goes between.
        assert found == [None if kind == "async" and wrap is not gym.Wrapper else expected] * 2


def test_the_names_of_ale(tmp_path: Path) -> None:
    ale_py = pytest.importorskip("ale_py")
    gym.register_envs(ale_py)
    with playhead.open(tmp_path / "s") as store:
        with store.run("p", "n", run_id="r", environment=False) as run:
            env = Recorder(gym.make("ALE/Pong-v5"), run)
            env.reset(seed=1)
            env.step(2)
            env.close()
        assert Steps(store.runs["r"].episodes[0])[0].action_name == "RIGHT"


def test_agents_have_names_of_their_own_and_odd_facts_none() -> None:
    agents = {"red": {"action_meanings": ["a", "b"]}, "blue": {"action_meanings": 5}, "odd": 7}
    names = ActionNames({"agents": agents})
    assert [names.of(1, "red"), names.of(1, "blue"), names.of(1, "odd"), names.of(1)] == ["b", None, None, None]
    names = ActionNames({"action_meanings": ["a", "b"], "action_space": {"start": 1}})
    assert [names.of(one) for one in (0, 1, 2, 3, -1, 1.0, True, "1", None, np.array(2), {"x": 1})] == [
        *(None, "a", "b", None, None, None, None, None, None, "b", None)
    ]
    for odd in ({}, {"action_meanings": "ab"}, {"action_meanings": [1]}, {"agents": 5}, {"action_space": []}):
        assert not ActionNames(odd)
