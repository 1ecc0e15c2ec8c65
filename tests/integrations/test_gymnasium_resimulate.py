"""Recording states instead of frames, and converting in both directions."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import playhead
from playhead.check import verify_replay
from playhead.errors import Diverged, WrongType
from playhead.integrations.gymnasium import Recorder, VectorRecorder, resimulate
from playhead.integrations.gymnasium.converting import to_resimulated, to_stored
from tests.simulators.playing import Maze, assert_same, assert_seeks, game, play, record, stacked

Store = playhead.Store
CLASSIC = ("CartPole-v1", "Acrobot-v1", "MountainCar-v0", "Pendulum-v1")


@pytest.mark.parametrize("name", CLASSIC)
def test_classic_control(store: Store, name: str) -> None:
    with store.run("classic", name, environment=False) as run:
        seen = record(run, gymnasium.make(name, render_mode="rgb_array"), 60, keyframe_every=16)
    assert_seeks(run.episodes, seen, 12, frames=True)
    kinds = run.episodes[0].reel.parts[0].kinds
    assert ("steps", "observations") in kinds  # small, and stored
    assert ("steps", "frames") not in kinds


def test_what_is_recorded_is_what_is_recorded_with_frames(store: Store) -> None:
    with store.run("a", "stored", environment=False) as stored:
        record(stored, game("Pong", max_episode_steps=40), 100, frames="auto")
    with store.run("a", "made", environment=False) as made:
        record(made, game("Pong", max_episode_steps=40), 100)
    assert len(stored.episodes) == len(made.episodes) == 3
    for one, two in zip(stored.episodes, made.episodes, strict=True):
        assert list(one.signals) == sorted(two.signals, key=list(one.signals).index)
        for name in one.signals:
            assert_same(two[name].values, one[name].values)
        assert one.infos == two.infos
        assert one.how == two.how
        assert one.static.get("seed") == two.static.get("seed")


def test_an_environment_that_resets_itself(store: Store) -> None:
    env = gymnasium.wrappers.Autoreset(game("Pong", max_episode_steps=30))
    with store.run("a", "auto", environment=False) as run:
        with Recorder(env, run, frames="resimulate", keyframe_every=8) as recorded:
            seen = [recorded.reset(seed=1)[0]]
            for _ in range(70):
                seen.append(recorded.step(2)[0])
    first, second = run.episodes[0], run.episodes[1]
    assert_same(first["frame"][29][0], seen[29])
    assert_same(first.final["frame"], seen[30])
    assert_same(second["frame"][5][0], seen[31 + 5])


def test_structured_observations(store: Store) -> None:
    class Rooms(Maze):
        def __init__(self) -> None:
            super().__init__()
            self.observation_space = spaces.Dict(
                camera=spaces.Box(0, 255, (2, 32, 32), np.uint8), place=spaces.Box(-9, 999, (1,), np.float32)
            )

        def _seen(self) -> Any:
            return {
                "camera": np.full((2, 32, 32), self.place % 256, np.uint8),
                "place": np.array([self.place], np.float32),
            }

    truth = []
    with store.run("a", "rooms", environment=False) as run, Recorder(Rooms(), run, frames="resimulate") as env:
        truth.append(env.reset(seed=0)[0])
        for _ in range(80):
            truth.append(env.step(1)[0])
    episode = resimulate(run.episodes[0], Rooms)
    assert ("steps", "observations.place") in episode.reel.parts[0].kinds
    assert ("steps", "observations.camera") not in episode.reel.parts[0].kinds
    for step in (79, 3, 64):
        assert_same(episode["observation.camera"][step][0], truth[step]["camera"])
    assert verify_replay(episode) == []


def test_what_cannot_be_done_is_said_at_once(store: Store) -> None:
    with store.run("a", "no", environment=False) as run:
        with pytest.raises(WrongType, match="FrozenLake"):
            Recorder(gymnasium.make("FrozenLake-v1", render_mode="rgb_array"), run, frames="resimulate")
        with pytest.raises(WrongType, match="keyframe_every"):
            Recorder(Maze(), run, frames="resimulate", keyframe_every=0)
        with pytest.raises(WrongType, match="every=2"):
            Recorder(Maze(), run, frames="resimulate", every=2)
        with pytest.raises(WrongType, match="Recorder around each"):
            VectorRecorder(gymnasium.make_vec("CartPole-v1", 2), run, frames="resimulate")
        with pytest.raises(WrongType, match="render_mode"):
            Recorder(gymnasium.make("CartPole-v1"), run, frames="resimulate").reset(seed=0)
        with pytest.raises(WrongType, match="reset the environment"):
            env = Maze()
            env.reset(seed=0)
            Recorder(env, run, frames="resimulate").step(1)
    assert len(run.episodes) == 0


def test_an_action_that_would_be_rounded_is_refused(store: Store) -> None:
    with store.run("a", "pendulum", environment=False) as run:
        env = Recorder(gymnasium.make("Pendulum-v1", render_mode="rgb_array"), run, frames="resimulate")
        env.reset(seed=0)
        env.step(np.array([0.5]))  # in double precision, but the same in single
        with pytest.raises(WrongType, match="float32"):
            env.step(np.array([0.1]))
        env.close()


def test_one_environment_recorded_in_two_sittings(store: Store) -> None:
    with store.run("a", "b", run_id="two", environment=False) as run:
        first = record(run, game("Pong"), 40)
    with store.run("a", "b", run_id="two", resume=True, environment=False) as run:
        second = record(run, game("Pong"), 40)
    assert [episode.reel.files.id for episode in run.episodes] == ["two", "two"]
    assert_seeks(run.episodes, [*first, *second], 20)


def test_an_environment_that_raises(store: Store) -> None:
    class Trap(Maze):
        def step(self, action: Any) -> Any:
            if self.steps == 20:
                raise RuntimeError("a trap")
            return super().step(action)

    with store.run("a", "trap", environment=False) as run:
        with Recorder(Trap(), run, frames="resimulate", keyframe_every=8) as env:
            env.reset(seed=0)
            for _ in range(20):
                env.step(1)
            frame = env.render()
            with pytest.raises(RuntimeError, match="a trap"):
                env.step(1)
    episode = resimulate(run.episodes[0], Maze)
    assert (episode.how, episode.length) == ("error", 20)
    assert_same(episode.final["frame"], frame)


# -- converting ---------------------------------------------------------------------------------------------------------


def assert_equal(one: Any, two: Any) -> None:
    assert set(one.signals) == set(two.signals)
    for name in one.signals:
        assert_same(two[name].values, one[name].values)
        assert np.array_equal(two[name].timestamps, one[name].timestamps)
    assert (one.infos, one.how, one.length) == (two.infos, two.how, two.length)
    assert one.final.keys() == two.final.keys()
    for name in one.final:
        assert_same(two.final[name], one.final[name])


@pytest.mark.parametrize("make", [lambda: game("Breakout"), lambda: stacked("Breakout")], ids=["plain", "stacked"])
def test_there_and_back(store: Store, make: Any) -> None:
    with store.run("a", "stored", environment=False) as origin:
        record(origin, make(), 220, frames="auto")
    with store.run("a", "made", environment=False) as made:
        result = to_resimulated(list(origin.episodes), made, keyframe_every=32)
    assert (result.steps, result.episodes) == (220, len(origin.episodes))
    with store.run("a", "back", environment=False) as back:
        to_stored(list(made.episodes), back)
    for one, two, three in zip(origin.episodes, made.episodes, back.episodes, strict=True):
        assert two.reel.made
        assert not three.reel.made
        assert_equal(one, two)
        assert_equal(one, three)
        assert verify_replay(two) == []


def test_one_episode_of_several_is_played_from_the_last_seed(store: Store) -> None:
    with store.run("a", "stored", environment=False) as origin:
        record(origin, game("Pong", max_episode_steps=30), 100, frames="auto")
    assert "seed" not in origin.episodes[2].static
    with store.run("a", "made", environment=False) as made:
        to_resimulated([origin.episodes[2]], made)
    assert_equal(origin.episodes[2], made.episodes[0])


def test_without_a_seed_nothing_can_be_played_again(store: Store) -> None:
    with store.run("a", "stored", environment=False) as origin, Recorder(game("Pong"), origin) as env:
        env.reset()
        env.step(0)
    with store.run("a", "made", environment=False) as made:
        with pytest.raises(WrongType, match="seed"):
            to_resimulated(list(origin.episodes), made)


def test_an_environment_that_is_not_deterministic_is_not_converted(store: Store) -> None:
    with store.run("a", "stored", environment=False) as origin:
        play(Recorder(Maze(wrong_at=17), origin), 40)
    assert len(origin.episodes) == 1
    with store.run("a", "made", environment=False) as made, warnings.catch_warnings():
        with pytest.raises(Diverged, match="step 17 ") as caught:
            to_resimulated(list(origin.episodes), made, make=Maze)
    assert caught.value.step == 17


def test_what_is_so_already_is_refused(store: Store) -> None:
    with store.run("a", "made", environment=False) as made:
        record(made, game("Pong"), 10)
    with store.run("a", "stored", environment=False) as stored:
        record(stored, game("Pong"), 10, frames="auto")
    with store.run("a", "target", environment=False) as target:
        with pytest.raises(WrongType, match="already"):
            to_resimulated(list(made.episodes), target)
        with pytest.raises(WrongType, match="already"):
            to_stored(list(stored.episodes), target)
