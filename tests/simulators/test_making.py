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
    "wrappers", [[["RecordVideo", {}]], [["__class__", {}]], [["TransformObservation", {}]], 5, [3]]
)
def test_wrappers_that_a_file_may_not_name_are_refused(wrappers: Any) -> None:
    with pytest.raises(WrongType):
        make(facts(wrappers=wrappers))


def test_arguments_that_the_environment_does_not_take_are_refused() -> None:
    with pytest.raises(WrongType, match="cannot be made as its reel says"):
        make(facts(kwargs={"gravity_of_the_situation": 3}))
