"""An environment is made from a file only where nothing that the file names could do harm."""

from __future__ import annotations

from typing import Any

import gymnasium
import pytest

from playhead.errors import WrongType
from playhead.simulators import find
from playhead.simulators.making import make
from tests.simulators.playing import Maze, game, stacked


def facts(**others: Any) -> dict[str, Any]:
    return {"id": "CartPole-v1", "kwargs": {}, "wrappers": []} | others


@pytest.mark.parametrize(
    "env",
    [lambda: game("Pong", obs_type="grayscale"), lambda: stacked("Breakout"), lambda: gymnasium.make("Pendulum-v1")],
)
def test_what_a_rig_says_of_itself_makes_it_again(env: Any) -> None:
    said = find(env()).facts
    again = make(said)
    assert {**again.facts, "kwargs": 0} == {**said, "kwargs": 0}
    assert {name: value for name, value in again.facts["kwargs"].items() if name != "render_mode"} == {
        name: value for name, value in said["kwargs"].items() if name != "render_mode"
    }


@pytest.mark.parametrize("name", ["os:system", "tests.simulators.playing:Maze", "nothing-v0", None, 7, ["CartPole-v1"]])
def test_ids_that_are_not_registered_are_refused(name: Any) -> None:
    with pytest.raises(WrongType, match="resimulate"):
        make(facts(id=name))


def test_an_id_that_somebody_else_registered_is_refused() -> None:
    gymnasium.register("Maze-v0", Maze)
    gymnasium.register("Text-v0", "tests.simulators.playing:Maze")
    try:
        for name in ("Maze-v0", "Text-v0"):
            with pytest.raises(WrongType, match="neither from Gymnasium nor from ale-py"):
                make(facts(id=name))
    finally:
        del gymnasium.registry["Maze-v0"], gymnasium.registry["Text-v0"]


@pytest.mark.parametrize(
    "given",
    [
        {"xml_file": "x"},
        {"xml_file": "../../evil.xml"},
        {"render_mode": "/dev/null"},
        {"a": {"b": 1}},
        {"a": [["b"]]},
        {"a": "__import__('os')"},
        {"a b": 1},
        {"render_mode": "x" * 99},
        [1],
        None,
    ],
)
def test_arguments_that_could_be_anything_are_refused(given: Any) -> None:
    with pytest.raises(WrongType, match="resimulate"):
        make(facts(kwargs=given))


@pytest.mark.parametrize(
    "wrappers",
    [
        [["RecordVideo", {}]],
        [["__class__", {}]],
        [["TransformObservation", {}]],
        5,
        [3],
        [[["a"], {}]],
        [[{}, {}]],
        [["FlattenObservation", {}]] * 40,
    ],
)
def test_wrappers_that_a_file_may_not_name_are_refused(wrappers: Any) -> None:
    with pytest.raises(WrongType):
        make(facts(wrappers=wrappers))


def test_arguments_that_the_environment_does_not_take_are_refused() -> None:
    with pytest.raises(WrongType, match="cannot be made as its reel says"):
        make(facts(kwargs={"gravity_of_the_situation": 3}))


@pytest.mark.parametrize(
    ("wrapper", "given"),
    [
        ("FrameStackObservation", {"stack_size": 10**12}),
        ("FrameStackObservation", {"stack_size": 0}),
        ("FrameStackObservation", {"stack_size": -5}),
        ("FrameStackObservation", {"stack_size": "many"}),
        ("MaxAndSkipObservation", {"skip": 10**9}),
        ("AtariPreprocessing", {"noop_max": 10**9}),
        ("AtariPreprocessing", {"screen_size": [10**5, 10**5]}),
        ("ResizeObservation", {"shape": [60_000, 60_000]}),
    ],
)
def test_wrappers_that_would_take_all_memory_or_time_are_refused(wrapper: str, given: Any) -> None:
    with pytest.raises(WrongType, match="from a file"):
        make(facts(wrappers=[[wrapper, given]]))


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("ALE/Pong-v5", {"frameskip": 10**9}),
        ("ALE/Pong-v5", {"frameskip": [1, 10**9]}),
        ("ALE/Pong-v5", {"repeat_action_probability": 5}),
        ("ALE/Pong-v5", {"mode": 999}),
        ("ALE/Pong-v5", {"difficulty": 999}),
        ("HalfCheetah-v5", {"frame_skip": 0}),
        ("HalfCheetah-v5", {"width": -5}),
        ("HalfCheetah-v5", {"height": 10**9}),
        ("CartPole-v1", {"render_mode": "nope"}),
        ("CartPole-v1", {"render_mode": 5}),
        ("CartPole-v1", {"max_episode_steps": 5}),
        ("x" * 10_000, {}),
    ],
)
def test_arguments_that_cannot_be_are_refused_with_an_error_that_says_so(name: str, given: Any) -> None:
    with pytest.raises(WrongType, match="resimulate") as caught:
        make(facts(id=name, kwargs=given))
    assert len(str(caught.value)) < 500


def test_no_window_is_opened_for_what_was_recorded_in_one() -> None:
    rig = make(facts(kwargs={"render_mode": "human"}))
    assert rig.env.unwrapped.render_mode is None
    rig.close()
