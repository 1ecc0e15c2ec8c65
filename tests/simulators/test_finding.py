"""What can be saved is found, and what cannot is refused by its name."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

from playhead.errors import WrongType
from playhead.simulators import find
from playhead.simulators.offered import offers
from tests.simulators.playing import Maze, stacked


class Drunk(gymnasium.ActionWrapper[Any, Any, Any]):
    def action(self, action: Any) -> Any:
        return action


class Sober(Drunk):
    """A wrapper that saves itself."""

    sips = 0

    def get_state(self) -> Any:
        return self.sips

    def set_state(self, state: Any) -> None:
        self.sips = state


def test_wrappers_that_only_count_are_left_out() -> None:
    env = gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.make("CartPole-v1"))
    assert find(env).wrapped == []
    assert find(env, bare=True).env is env.unwrapped


def test_known_wrappers_are_kept_with_what_they_were_made_with() -> None:
    env = gymnasium.wrappers.TimeLimit(stacked("Pong", noop_max=5), 100)
    rig = find(env)
    assert [name for name, _ in rig.wrapped] == ["AtariPreprocessing", "FrameStackObservation"]
    assert rig.wrapped[0][1]["noop_max"] == 5
    assert rig.wrapped[1][1]["stack_size"] == 4
    assert (rig.warmup_of_all, rig.warmup) == (1, 5)


@pytest.mark.parametrize(
    ("wrap", "name"),
    [
        (Drunk, "Drunk"),
        (lambda env: gymnasium.wrappers.StickyAction(env, 0.5), "StickyAction"),
        (
            lambda env: gymnasium.wrappers.TransformObservation(env, np.abs, env.observation_space),
            "TransformObservation",
        ),
        (gymnasium.wrappers.NormalizeObservation, "NormalizeObservation"),
    ],
)
def test_wrappers_that_nobody_knows_are_refused(wrap: Any, name: str) -> None:
    with pytest.raises(WrongType, match=name):
        find(wrap(gymnasium.make("CartPole-v1")))


def test_a_wrapper_that_saves_itself_is_saved() -> None:
    env = Sober(Maze())
    rig = find(env)
    env.reset(seed=0)
    env.sips = 3
    state = rig.save()
    env.sips = 4
    rig.restore(state)
    assert env.sips == 3


def test_an_environment_that_cannot_be_saved_is_refused() -> None:
    with pytest.raises(WrongType, match=r"FrozenLakeEnv.*get_state"):
        find(gymnasium.make("FrozenLake-v1"))


def test_a_subclass_elsewhere_is_not_what_it_derives_from() -> None:
    class Windy(gymnasium.envs.classic_control.CartPoleEnv):
        pass

    with pytest.raises(WrongType, match="Windy"):
        find(Windy())


def test_two_methods_of_another_meaning_do_not_count() -> None:
    class Robot:
        def get_state(self) -> Any:
            return 0

        def set_state(self, positions: Any, velocities: Any) -> None: ...

    assert not offers(Robot())
    assert offers(Maze())
