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


SINGLE = spaces.Box(-1, 1, (1,), np.float32)


@pytest.mark.parametrize(
    ("space", "good", "bad"),
    [
        (spaces.Dict(push=SINGLE, n=spaces.Discrete(3)), {"push": [0.5], "n": 2}, {"push": np.array([0.1]), "n": 2}),
        (spaces.Tuple([SINGLE, spaces.Discrete(3)]), (np.array([0.5]), 1), (np.array([0.1]), 1)),
        (spaces.Dict(deep=spaces.Dict(push=SINGLE)), {"deep": {"push": [1]}}, {"deep": {"push": [0.1]}}),
        (spaces.Box(-1, 1, (), np.float32), np.float64(0.5), np.float64(0.1)),
        (spaces.Box(-1, 1, (), np.float32), 0.25, 0.1),
        (spaces.Box(-1, 1, (1,), np.float16), np.array([0.5], np.float32), np.array([0.1], np.float32)),
        (SINGLE, np.array([np.nan]), np.array([0.1])),
    ],
)
def test_parts_of_actions_that_would_be_rounded_are_refused(space: Any, good: Any, bad: Any, store: Store) -> None:
    class Arm(Maze):
        def __init__(self) -> None:
            super().__init__()
            self.action_space = space

        def step(self, action: Any) -> Any:
            return super().step(1)

    with store.run("a", "arm", environment=False) as run, Recorder(Arm(), run, frames="resimulate") as env:
        env.reset(seed=0)
        with pytest.raises(WrongType, match=r"actions.*digits are lost"):
            env.step(bad)
        env.step(good)
    assert run.episodes[0].length == 1


def test_a_tensor_that_would_be_rounded_is_refused(store: Store) -> None:
    torch = pytest.importorskip("torch")
    with store.run("a", "pendulum", environment=False) as run:
        env = Recorder(gymnasium.make("Pendulum-v1", render_mode="rgb_array"), run, frames="resimulate")
        env.reset(seed=0)
        with pytest.raises(WrongType, match="float32"):
            env.step(torch.tensor([0.1], dtype=torch.float64))
        env.close()


class Walls(Maze):
    """A maze whose state is as large as a reset asks for."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        found = super().reset(seed=seed)
        self.walls = self.np_random.integers(0, 9, (options or {}).get("size", 10))
        return found

    def get_state(self) -> Any:
        return super().get_state() | {"walls": self.walls}

    def set_state(self, state: Any) -> None:
        super().set_state(state)
        self.walls = state["walls"]

    def render(self) -> Any:
        return super().render() + np.uint8(self.walls.sum() % 256)


def play_walls(run: Any, **options: Any) -> list[list[Any]]:
    seen = []
    with Recorder(Walls(), run, keyframe_every=4, **options) as env:
        for number, size in enumerate((10, 10, 900, 10, 9000)):
            env.reset(seed=number, options={"size": size})
            seen.append([])
            for _ in range(10):
                seen[-1].append(env.render())
                env.step(0)
    return seen


def test_a_larger_state_at_a_reset_begins_another_reel(store: Store) -> None:
    with store.run("a", "walls", run_id="walls", environment=False) as run:
        seen = play_walls(run, frames="resimulate")
    episodes = run.episodes
    assert [episode.reel.files.id for episode in episodes] == ["walls", "walls", "walls.1", "walls.1", "walls.2"]
    for episode, frames in zip(episodes, seen, strict=True):
        resimulate(episode, Walls)
        assert_same(episode["frame"].values, np.stack(frames))
        assert verify_replay(episode) == []


def test_a_run_that_is_resumed_goes_on_with_the_reel_that_has_room(store: Store) -> None:
    with store.run("a", "walls", run_id="walls", environment=False) as run:
        play_walls(run, frames="resimulate")
    with store.run("a", "walls", run_id="walls", resume=True, environment=False) as run:
        with Recorder(Walls(), run, frames="resimulate", keyframe_every=4) as env:
            for number, size in enumerate((850, 20, 8800)):
                env.reset(seed=number, options={"size": size})
                env.step(0)
    reels = [episode.reel.files.id for episode in run.episodes]
    assert sorted(reels) == ["walls"] * 2 + ["walls.1"] * 4 + ["walls.2"] * 2
    for episode in run.episodes:
        resimulate(episode, Walls)
        assert verify_replay(episode) == []


def test_a_larger_state_is_converted_into_another_reel(store: Store) -> None:
    with store.run("a", "walls", environment=False) as stored:
        seen = play_walls(stored)
    with store.run("a", "made", environment=False) as made:
        done = to_resimulated(list(stored.episodes), made, make=Walls, keyframe_every=4)
    assert (done.episodes, done.steps) == (5, 50)
    assert len({episode.reel.files.id for episode in made.episodes}) == 3
    for episode, frames in zip(made.episodes, seen, strict=True):
        assert_same(resimulate(episode, Walls)["frame"].values, np.stack(frames))


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
