"""Recording single environments: real ones, and where their frames come from."""

from __future__ import annotations

import subprocess
import sys
import weakref
from collections.abc import Callable
from typing import Any

import ale_py
import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import playhead
from playhead.errors import WrongShape, WrongType
from playhead.integrations.gymnasium import Recorder
from playhead.integrations.gymnasium.frames import Pictures
from tests.integrations.test_gymnasium_envs import Wander, Witness, assert_recorded, play

gymnasium.register_envs(ale_py)


# -- real environments --------------------------------------------------------------------------------------------------


def test_pong_is_recorded_bit_for_bit_and_its_frames_once(store: playhead.Store) -> None:
    with store.run("pong", "dqn", environment=False) as run:
        witness = Witness(gymnasium.make("ALE/Pong-v5", max_episode_steps=90))
        with Recorder(witness, run) as env:
            play(env, 200, seed=7)
    assert [episode.how for episode in run.episodes] == ["truncated", "truncated", "closed"]
    for episode, truth in zip(run.episodes, witness.episodes, strict=True):
        assert_recorded(episode, truth, episode.how, infos=dict)
        assert np.array_equal(episode["frame"][:].values, np.stack(truth.seen[:-1]))
        assert np.array_equal(episode.final["frame"], truth.seen[-1])
    first = run.episodes[0]
    assert first.static["env_id"] == "ALE/Pong-v5"
    assert first.static["seed"] == 7
    assert first.static["spec"]["kwargs"]["game"] == "pong"
    assert first.static["fps"] > 0
    assert first.static["frames"] == "observation"
    assert first.ref("observation", 3) == f"h5://{run.id}/observations/3"
    assert np.array_equal(store.resolve(f"h5://{run.id}/observations/3"), witness.episodes[0].seen[3])


def test_what_an_environment_renders_becomes_its_frames(store: playhead.Store) -> None:
    reference = Witness(gymnasium.make("CartPole-v1", render_mode="rgb_array"), shows=True)
    play(reference, 30, seed=4)
    with (
        store.run("pole", "cart", environment=False) as run,
        Recorder(gymnasium.make("CartPole-v1", render_mode="rgb_array"), run) as env,
    ):
        play(env, 30, seed=4)
    for episode, truth in zip(run.episodes, reference.episodes, strict=True):
        assert_recorded(episode, truth, episode.how, infos=dict)
        assert np.array_equal(episode["frame"][:].values, np.stack(truth.shown[:-1]))
        assert np.array_equal(episode.final["frame"], truth.shown[-1])


@pytest.mark.parametrize("env_id", ["FrozenLake-v1", "Blackjack-v1", "CliffWalking-v1", "Pendulum-v1", "Taxi-v4"])
def test_environments_of_all_kinds(store: playhead.Store, env_id: str) -> None:
    if env_id not in gymnasium.registry:
        env_id = "Taxi-v3"
    witness = Witness(gymnasium.make(env_id))
    with store.run("toys", "all", environment=False) as run, Recorder(witness, run) as env:
        play(env, 60, seed=1)
    played = [truth for truth in witness.episodes if truth.rewards]
    assert len(run.episodes) == len(played)
    for episode, truth in zip(run.episodes, played, strict=True):
        assert_recorded(episode, truth, episode.how)
        assert "frame" not in episode


def test_parts_that_lie_in_reused_memory_are_recorded_as_they_were(store: playhead.Store) -> None:
    witness = Witness(Wander())
    with store.run("walk", "on", environment=False) as run, Recorder(witness, run) as env:
        play(env, 120, seed=2)
    for episode, truth in zip(run.episodes, [t for t in witness.episodes if t.rewards], strict=True):
        assert_recorded(
            episode, truth, episode.how, infos=lambda info: {**info, "deep": {"x": float(info["deep"]["x"])}}
        )
    assert set(run.episodes[0]) >= {"observation.place", "observation.more.0", "observation.more.1", "action"}
    assert run.episodes[0].static["info"] == {"fresh": True}


def test_a_canvas_that_is_painted_again_is_recorded_as_it_was(store: playhead.Store) -> None:
    reference = Witness(Wander("rgb_array"), shows=True)
    play(reference, 40, seed=5)
    with store.run("walk", "on", environment=False) as run, Recorder(Wander("rgb_array"), run) as env:
        play(env, 40, seed=5)
    for episode, truth in zip(run.episodes, reference.episodes, strict=False):
        assert np.array_equal(episode["frame"][:].values, np.stack(truth.shown[:-1]))
        assert np.array_equal(episode.final["frame"], truth.shown[-1])


@pytest.mark.filterwarnings("ignore::UserWarning")  # that there is a wrapper, and bounds that are infinite
def test_a_recorded_environment_passes_gymnasiums_own_checks(store: playhead.Store) -> None:
    with store.run("pole", "cart", environment=False) as run:
        check_env(Recorder(Wander(reuses=False), run), skip_render_check=True)


# -- frames -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("env_id", ["ALE/Pong-v5", "CartPole-v1"])
def test_every_thins_frames_and_never_steps(store: playhead.Store, env_id: str) -> None:
    witness = Witness(gymnasium.make(env_id, render_mode="rgb_array", max_episode_steps=11), shows=True)
    with store.run("thin", "frames", environment=False) as run, Recorder(witness, run, every=4) as env:
        play(env, 22, seed=3)
    for episode, truth in zip(run.episodes, witness.episodes, strict=False):
        assert_recorded(episode, truth, episode.how)
        assert np.array_equal(episode["frame"][:].values, np.stack(truth.shown[:-1][::4]))
        assert np.array_equal(episode.final["frame"], truth.shown[-1])
        refs = store.sql(f"SELECT frame_ref FROM steps WHERE episode_id = '{episode.id}' ORDER BY step_index")
        assert [ref["frame_ref"] is not None for ref in rows(refs)] == [i % 4 == 0 for i in range(episode.length)]


def rows(found: Any) -> list[dict[str, Any]]:
    return found.to_pylist() if hasattr(found, "to_pylist") else list(found)


def test_no_frames_where_none_are_wanted(store: playhead.Store) -> None:
    with (
        store.run("no", "frames", environment=False) as run,
        Recorder(gymnasium.make("ALE/Pong-v5"), run, frames=None) as env,
    ):
        play(env, 5)
    assert "frame" not in run.episodes[0]
    assert run.episodes[0]["observation"][:].values.shape == (5, 210, 160, 3)


def test_frames_that_are_collected_for_the_caller_stay_his(store: playhead.Store) -> None:
    plain = gymnasium.make("CartPole-v1", render_mode="rgb_array_list")
    play(plain, 6, seed=1)
    with store.run("list", "frames", environment=False) as run:
        env = Recorder(gymnasium.make("CartPole-v1", render_mode="rgb_array_list"), run)
        play(env, 6, seed=1)
        mine = env.render()
        env.close()
    theirs = plain.render()
    assert len(mine) == len(theirs) == 7
    assert np.array_equal(run.episodes[0]["frame"][:].values, np.stack(theirs[:6]))


@pytest.mark.parametrize(
    ("frames", "message"), [("render", "render_mode='rgb_array'"), ("observation", "observations that are images")]
)
def test_frames_that_cannot_be_had_are_refused_at_the_first_reset(
    store: playhead.Store, frames: str, message: str
) -> None:
    with (
        store.run("no", "frames", environment=False) as run,
        Recorder(gymnasium.make("CartPole-v1"), run, frames=frames) as env,
    ):
        with pytest.raises(WrongType, match=message):
            env.reset()


@pytest.mark.parametrize("wrong", [{"frames": "video"}, {"every": 0}, {"every": True}, {"stack": 1}, {"stack": "all"}])
def test_options_that_mean_nothing_are_refused_at_once(store: playhead.Store, wrong: dict[str, Any]) -> None:
    with store.run("no", "frames", environment=False) as run, pytest.raises(WrongType, match=next(iter(wrong))):
        Recorder(gymnasium.make("CartPole-v1"), run, **wrong)


def test_a_render_that_changes_its_size_ends_the_episode_with_a_reason(store: playhead.Store) -> None:
    class Grows(Wander):
        def render(self) -> np.ndarray:
            return np.zeros((20 + (self.steps > 2), 20, 3), np.uint8)

    with store.run("odd", "size", environment=False) as run:
        env = Recorder(Grows("rgb_array", ends=0), run)
        env.reset(seed=1)
        env.step(1)
        env.step(1)
        with pytest.raises(WrongShape, match=r"uint8\[21, 20, 3\] and before uint8\[20, 20, 3\]"):
            env.step(1)
        env.close()
    [episode] = run.episodes
    assert (episode.length, episode.how) == (3, "error")
    assert "frame" not in episode.final  # of what was seen last, all else is there
    assert {name.partition(".")[0] for name in episode.final} == {"observation"}


def test_a_render_that_gives_no_image_is_refused(store: playhead.Store) -> None:
    class Blind(Wander):
        def render(self) -> None:
            return None

    with store.run("odd", "render", environment=False) as run, Recorder(Blind("rgb_array"), run) as env:
        with pytest.raises(WrongType, match="render\\(\\) gave NoneType"):
            env.reset()


def test_a_frame_is_copied_unless_nobody_else_holds_it() -> None:
    pictures = Pictures(Wander())
    pictures.keep((np.zeros((4, 5, 3), np.uint8),))
    fresh = (np.zeros((4, 5, 3), np.uint8),)
    assert pictures.keep(fresh) is fresh[0]
    turned = (np.zeros((5, 4, 3), np.uint8).transpose(1, 0, 2),)
    assert pictures.keep(turned) is turned[0]
    held = np.ones((4, 5, 3), np.uint8)
    canvas = np.ones((9, 5, 3), np.uint8)
    memory = bytearray(60)
    for frame in (held, held[:], canvas[:4], np.frombuffer(memory, np.uint8).reshape(4, 5, 3), held.tolist()):
        kept = pictures.keep((np.asarray(frame, np.uint8) if isinstance(frame, list) else frame,))
        is_mine = isinstance(frame, list)
        assert is_mine or not np.shares_memory(kept, frame)
        assert np.array_equal(kept, frame)
    lone_view_of_held_bytes = (np.frombuffer(memory, np.uint8).reshape(4, 5, 3),)
    assert not np.shares_memory(pictures.keep(lone_view_of_held_bytes), lone_view_of_held_bytes[0])


class Painter(gymnasium.Env[Any, Any]):
    """Paints into the frame, or what that is a view of, that it gave before, which it knows only weakly."""

    observation_space = gymnasium.spaces.Box(0, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)
    render_mode = "rgb_array"

    def __init__(self, form: str) -> None:
        self._form = form
        self._given: Callable[[], Any] = lambda: None
        self._number = 0

    def reset(self, **_options: Any) -> tuple[Any, dict[str, Any]]:
        return np.zeros(2, np.float32), {}

    def step(self, _action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        before = self._given()
        if before is not None:
            before[:] = 99
        self._number += 1
        return np.zeros(2, np.float32), 0.0, False, False, {}

    def render(self) -> Any:
        owner = np.full((20, 16, 3), self._number, np.uint8)
        frame = owner if self._form == "frame" else owner.view()
        self._given = weakref.ref(owner)
        return frame


@pytest.mark.parametrize("form", ["frame", "base"])
def test_a_frame_that_somebody_knows_weakly_is_copied(store: playhead.Store, form: str) -> None:
    with store.run("odd", "painter", environment=False) as run, Recorder(Painter(form), run) as env:
        env.reset()
        for _ in range(20):
            env.step(0)
    (episode,) = run.episodes
    assert [int(frame.max()) for frame in episode["frame"].values] == list(range(20))


def test_an_error_of_the_recording_moves_no_action_and_no_observation(store: playhead.Store) -> None:
    class Count(gymnasium.Env[Any, Any]):
        observation_space = gymnasium.spaces.Box(0, 1e6, (2,), np.float32)
        action_space = gymnasium.spaces.Discrete(1000)
        count = 0

        def reset(self, **_options: Any) -> tuple[Any, dict[str, Any]]:
            return np.zeros(2, np.float32), {}

        def step(self, _action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
            self.count += 1
            return np.full(2, self.count, np.float32), float(self.count), False, False, {}

    with store.run("odd", "disk", environment=False) as run, Recorder(Count(), run) as env:
        env.reset()
        for action in range(12):
            if action == 5:
                assert env.reel is not None
                env.reel.writer.error = OSError(28, "full for a moment")
                with pytest.raises(OSError, match="full for a moment"):
                    env.step(action)
            else:
                env.step(action)
    (episode,) = run.episodes
    assert episode["action"].values.tolist() == list(range(12))
    assert episode["observation"].values[:, 0].tolist() == list(range(12))
    assert episode["reward"].values.tolist() == list(range(1, 13))


# -- without Gymnasium ----------------------------------------------------------------------------------------------------


def test_without_gymnasium_the_message_says_what_to_install() -> None:
    script = """
import sys
sys.modules["gymnasium"] = None
from playhead.errors import MissingExtra
from playhead.integrations.gymnasium.spaces import restore
print(restore({"type": "Discrete", "dtype": "int64", "array": "actions"}, {"actions": 3}))
try:
    from playhead.integrations.gymnasium import Recorder
except MissingExtra as error:
    print(error)
"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert found.splitlines()[0] == "3"
    assert "pip install 'playhead[gym]'" in found
