"""Infos, values that are not of their space, and values of every space."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

import playhead
from playhead.errors import WrongShape, WrongType
from playhead.integrations.gymnasium import Recorder
from playhead.integrations.gymnasium.spaces import restore
from tests.integrations.test_gymnasium_envs import LINE, TWO, Scripted, Witness, assert_recorded, line

# -- infos --------------------------------------------------------------------------------------------------------------


class Explains(Scripted):
    """Gives an info."""

    def __init__(self, info: Any) -> None:
        super().__init__(LINE, TWO, line(0, 1, 2))
        self._info = info

    def step(self, action: Any) -> Any:
        return *super().step(action)[:4], self._info


class Rude:
    def __repr__(self) -> str:
        raise ValueError("no")


def cyclic() -> dict[str, Any]:
    info: dict[str, Any] = {"n": 1}
    info["self"] = info
    return info


def family(children: int) -> dict[str, Any]:
    """Give an info in which everybody knows everybody."""
    root: dict[str, Any] = {"children": []}
    root["children"] += [{"parent": root, "number": number} for number in range(children)]
    return {"family": root, "n": 1}


@pytest.mark.parametrize(
    ("info", "kept"),
    [
        ({}, {}),
        ({"a": 1, "b": [1.5, "x", None], "c": {"d": True}}, {"a": 1, "b": [1.5, "x", None], "c": {"d": True}}),
        ({"np": np.float32(0.5), "array": np.arange(3)}, {"np": 0.5, "array": [0, 1, 2]}),
        ({"strided": np.arange(6)[::2], "set": {4}, 7: "key"}, {"strided": [0, 2, 4], "set": [4], "7": "key"}),
        ({"inf": np.inf, "big": 1 << 70}, {"inf": np.inf, "big": 1 << 70}),
        ({"wide": np.longdouble(0.5), "many": np.ones(2, np.longdouble)}, {"wide": 0.5, "many": [1, 1]}),
        ({"permutations": 10**309}, {"permutations": 10**309}),
        ({"huge": 1 << 20_000, "n": 1}, {"huge": f"0x1{'0' * 97}...{'0' * 100}", "n": 1}),
        ({"path": Path("a/b"), "bytes": b"\x00"}, {"path": "a/b", "bytes": "b'\\x00'"}),
    ],
)
def test_infos_come_back(store: playhead.Store, info: Any, kept: Any) -> None:
    with store.run("some", "info", environment=False) as run, Recorder(Explains(info), run) as env:
        env.reset()
        env.step(0)
    assert run.episodes[0].infos == [kept]


def test_nan_in_an_info_is_nan(store: playhead.Store) -> None:
    with (
        store.run("some", "info", environment=False) as run,
        Recorder(Explains({"loss": np.nan, "many": np.array([np.nan, 1])}), run) as env,
    ):
        env.reset()
        env.step(0)
    [info] = run.episodes[0].infos
    assert np.isnan(info["loss"])
    assert np.isnan(info["many"][0])
    assert info["many"][1] == 1


@pytest.mark.parametrize(
    "info",
    [
        {"rude": Rude(), "n": 1},
        cyclic(),
        family(30),  # which would be walked over billions of times
        {"huge": np.zeros(1_000_000), "n": 1},
        {"long": ["x" * 100] * 2000, "n": 1},
        {"many": {str(i): "x" * 50 for i in range(5000)}, "n": 1},
        {"object": object(), "n": 1},
        {"lone \ud800": "\ud800", "n": 1},
        {"deep": __import__("functools").reduce(lambda inner, _: [inner], range(500), []), "n": 1},
    ],
    ids=lambda info: next(iter(info)).encode("ascii", "replace").decode(),
)
def test_no_info_stops_training(store: playhead.Store, info: Any) -> None:
    with store.run("some", "info", environment=False) as run, Recorder(Explains(info), run) as env:
        env.reset()
        env.step(0)
        env.step(0)
    for found in run.episodes[0].infos:
        assert found["n"] == 1
        assert len(str(found)) < 70_000


# -- mismatches are found at the first step -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "space",
    [
        spaces.Sequence(TWO),
        spaces.Graph(LINE, None),
        spaces.OneOf((TWO, LINE)),
        spaces.Dict(a=spaces.Tuple((spaces.Sequence(TWO),))),
    ],
)
def test_spaces_without_a_fixed_shape_are_refused_at_the_first_reset(store: playhead.Store, space: Any) -> None:
    with store.run("odd", "space", environment=False) as run:
        for env in (Scripted(space, TWO, [0]), Scripted(LINE, space, line(0))):
            recorder = Recorder(env, run)
            with pytest.raises(WrongType, match="TransformObservation"):
                recorder.reset()
            recorder.close()
    assert len(run.episodes) == 0


@pytest.mark.parametrize(
    ("space", "wrong", "message"),
    [
        (LINE, np.zeros(3, np.float32), r"shape \[3\] where its space declares \[2\]"),
        (LINE, np.array([1e300, 0]), "does not fit into float32"),
        (LINE, "text", "str"),
        (LINE, None, "NoneType of object"),
        (spaces.Box(0, 255, (2,), np.uint8), np.array([1, 256]), "256.* does not fit into uint8"),
        (spaces.Box(0, 255, (2,), np.uint8), np.array([1, 0.5]), "0.5.* does not fit into uint8"),
        (spaces.Discrete(3), 1.5, "does not fit into int32"),
        (spaces.Discrete(3), 1 << 40, "does not fit into int32"),
        (spaces.Discrete(3), [1], r"shape \[1\]"),
        (spaces.Text(3), 3, "a text was declared"),
        (spaces.Text(3), "x" * 13, "at most 3 characters"),
        (spaces.Text(3), "a\0b", "without U\\+0000"),
        (spaces.Dict(a=TWO, b=TWO), {"a": 1}, r"keys \['a', 'b'\] was declared, and the keys \['a'\] came"),
        (spaces.Dict(a=TWO), {"a": 1, "c": 1}, "'c'"),
        (spaces.Dict(a=TWO), [1], "list came"),
        (spaces.Tuple((TWO, TWO)), (1,), "Tuple space of 2"),
    ],
)
def test_values_that_are_not_of_their_space_are_refused_at_once(
    store: playhead.Store, space: Any, wrong: Any, message: str
) -> None:
    space.seed(0)
    right = space.sample()
    with store.run("odd", "value", environment=False) as run:
        at_reset = Recorder(Scripted(space, TWO, [wrong]), run)
        with pytest.raises((WrongType, WrongShape), match=message):
            at_reset.reset()
        at_step = Recorder(Scripted(space, TWO, [right, wrong]), run)
        at_step.reset()
        with pytest.raises((WrongType, WrongShape), match=message):
            at_step.step(0)
        at_step.close()
        assert run.episodes[-1].how == "error"
        as_action = Recorder(Scripted(LINE, space, line(0, 1)), run)
        as_action.reset()
        with pytest.raises((WrongType, WrongShape), match=message):
            as_action.step(wrong)


def test_values_that_differ_by_their_type_alone_are_cast(store: playhead.Store) -> None:
    box = spaces.Box(-9, 9, (2,), np.float32)
    whole = spaces.Box(0, 9, (2,), np.uint8)
    script = [{"box": [1, 2], "whole": [3, 4]}, {"box": np.array([0.1, 0.2]), "whole": np.array([5.0, 6.0])}]
    with store.run("odd", "type", environment=False) as run:
        with Recorder(Scripted(spaces.Dict(box=box, whole=whole), TWO, script), run) as env:
            env.reset()
            env.step(np.array(1))
            env.step(True)
    [episode] = run.episodes
    assert episode["observation.box"][:].values.dtype == np.float32
    assert episode["observation.box"][:].values.tolist() == [[1, 2], [np.float32(0.1), np.float32(0.2)]]
    assert episode["observation.whole"][:].values.tolist() == [[3, 4], [5, 6]]
    assert episode["action"][:].values.dtype == np.int32


@pytest.mark.parametrize(
    ("reward", "said"),
    [(None, "not None"), ("x", "not 'x'"), (10**400, "too large")],
    ids=["none", "text", "too large"],
)
def test_a_reward_that_is_no_number_is_refused(store: playhead.Store, reward: Any, said: str) -> None:
    class Unpaid(Scripted):
        def step(self, action: Any) -> Any:
            seen, _, *rest = super().step(action)
            return seen, reward, *rest

    with store.run("odd", "reward", environment=False) as run, Recorder(Unpaid(LINE, TWO, line(0, 1)), run) as env:
        env.reset()
        with pytest.raises(WrongType, match=said):
            env.step(0)
    assert np.isnan(run.episodes[0]["reward"].values).tolist() == [True]


@pytest.mark.parametrize("ends", [3, 99])
def test_a_step_without_a_reward_was_taken_all_the_same(store: playhead.Store, ends: int) -> None:
    """Was a bug: the next row held what was seen before that step, and an end was not noticed."""

    class SometimesUnpaid(Scripted):
        def step(self, action: Any) -> Any:
            seen, reward, *rest = super().step(action)
            return seen, "none" if self._at == 3 else reward, *rest

    script = SometimesUnpaid(LINE, TWO, line(0, 1, 2, 3), ends=ends)
    with store.run("odd", "reward", environment=False) as run, Recorder(script, run) as env:
        env.reset()
        env.step(0)
        with pytest.raises(WrongType, match="recorded as NaN"):
            env.step(1)
        if ends > 3:
            env.step(1)
    [episode] = run.episodes
    kept = 2 if ends == 3 else 3
    assert episode["observation"].values[:, 0].tolist() == [0, 1, 2][:kept]
    assert episode["action"].values.tolist() == [0, 1, 1][:kept]
    assert np.isnan(episode["reward"].values).tolist() == [False, True, False][:kept]
    assert (episode.how, episode.final["observation"][0]) == (("terminated", 2) if ends == 3 else ("closed", 3))


# -- all spaces ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "space",
    [
        spaces.Box(-1, 1, (2, 3), np.float64),
        spaces.Box(-5, 5, (), np.int16),
        spaces.Discrete(5, start=-2),
        spaces.Discrete(1 << 40),
        spaces.MultiDiscrete([[3, 4], [5, 6]]),
        spaces.MultiBinary((2, 2)),
        spaces.Text(8, charset="aé€😀"),
        spaces.Dict({"a.b": spaces.Dict(c=TWO), "a": spaces.Dict({"b.c": LINE}), "x y": TWO, "": TWO}),
        spaces.Tuple((spaces.Tuple((TWO, spaces.Dict(k=LINE))), spaces.Text(3))),
        spaces.Dict(none=spaces.Box(0, 1, (0,)), one=TWO),
        spaces.Dict({}),
    ],
    ids=str,
)
def test_every_space_comes_back_as_it_was(store: playhead.Store, space: Any) -> None:
    space.seed(1)
    samples = [space.sample() for _ in range(6)]
    witness = Witness(Scripted(space, space, samples, ends=6))
    with store.run("all", "spaces", environment=False) as run, Recorder(witness, run) as env:
        env.reset()
        for sample in samples[:5]:
            env.step(sample)
    [episode] = run.episodes
    assert_recorded(episode, witness.episodes[0], "terminated")
    assert all(
        restore(episode.static["observation_space"], episode.transition(i).observation) in space for i in range(5)
    )
