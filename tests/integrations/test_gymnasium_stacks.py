"""Observations that are stacks of frames: stored once, put together as they were, refused where they are none."""

from __future__ import annotations

from typing import Any

import ale_py
import gymnasium
import h5py
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.wrappers import FrameStackObservation, TransformObservation

import playhead
from playhead.errors import WrongType
from playhead.integrations.gymnasium import Recorder
from playhead.integrations.gymnasium.stacks import Stack
from tests.integrations.test_gymnasium_envs import LazyStack, Scripted, Witness, assert_recorded, play

gymnasium.register_envs(ale_py)

SMALL = spaces.Box(0, 255, (84, 84), np.uint8)
GREY = spaces.Box(0, 255, (3, 3), np.uint8)
TWO = spaces.Discrete(2)


def pong(**how: Any) -> gymnasium.Env[Any, Any]:
    """Make a game as agents see it: grey, and 84 × 84."""
    env = gymnasium.make("ALE/Pong-v5", obs_type="grayscale", render_mode="rgb_array", **how)
    return TransformObservation(
        env, lambda screen: np.ascontiguousarray(screen[34:202:2, 0:168:2][:84, :80].copy()), None
    )


def small_pong(**how: Any) -> gymnasium.Env[Any, Any]:
    env = pong(**how)
    env.observation_space = spaces.Box(0, 255, (84, 80), np.uint8)
    return env


def grey(*values: int) -> list[np.ndarray]:
    return [np.full((3, 3), value, np.uint8) for value in values]


def depth(run: Any) -> int | None:
    return run.episodes[0].static.get("stack")


@pytest.mark.parametrize("padding", ["reset", "zero"])
def test_a_game_in_stacks_is_stored_once_and_comes_back(store: playhead.Store, padding: str) -> None:
    stacked = FrameStackObservation(small_pong(max_episode_steps=40), 4, padding_type=padding)
    witness = Witness(stacked, shows=True)
    with store.run("pong", "stack", environment=False) as run, Recorder(witness, run) as env:
        play(env, 90, seed=3)
        assert env.reel is not None
    assert depth(run) == 4
    assert [episode.how for episode in run.episodes] == ["truncated", "truncated", "closed"]
    for episode, truth in zip(run.episodes, witness.episodes, strict=True):
        assert_recorded(episode, truth, episode.how)
        assert np.array_equal(episode["observation"][:].values, np.stack(truth.seen[:-1]))
        assert np.array_equal(episode["frame"][:].values, np.stack(truth.shown[:-1]))
        assert np.array_equal(episode.final["observation"], truth.seen[-1])
    with h5py.File(store.path / "replay" / f"{run.id}.h5") as file:
        assert file["observations"].shape == (90, 84, 80)
        assert file["observations"].attrs["stack"] == 4


def test_atari_preprocessing_in_stacks(store: playhead.Store) -> None:
    pytest.importorskip("cv2")
    game = gymnasium.make("ALE/Pong-v5", frameskip=1, render_mode="rgb_array")
    witness = Witness(FrameStackObservation(gymnasium.wrappers.AtariPreprocessing(game), 4), shows=True)
    with store.run("pong", "stack", environment=False) as run, Recorder(witness, run) as env:
        play(env, 40, seed=3)
    assert depth(run) == 4
    assert_recorded(run.episodes[0], witness.episodes[0], "closed")
    assert np.array_equal(run.episodes[0]["frame"][:].values, np.stack(witness.episodes[0].shown[:-1]))


def test_vectors_are_stacked_too(store: playhead.Store) -> None:
    witness = Witness(FrameStackObservation(gymnasium.make("CartPole-v1"), 3))
    with store.run("pole", "stack", environment=False) as run, Recorder(witness, run) as env:
        play(env, 60, seed=1)
    assert depth(run) == 3
    for episode, truth in zip(run.episodes, [t for t in witness.episodes if t.rewards], strict=True):
        assert_recorded(episode, truth, episode.how)


def test_lazy_frames_are_stacks(store: playhead.Store) -> None:
    plain = Witness(FrameStackObservation(small_pong(), 4))
    play(plain, 12, seed=2)
    with (
        store.run("pong", "lazy", environment=False) as run,
        Recorder(LazyStack(small_pong(), 4), run, frames=None) as env,
    ):
        play(env, 12, seed=2)
    assert depth(run) == 4
    assert_recorded(run.episodes[0], plain.episodes[0], "closed")


def test_stack_false_stores_them_whole(store: playhead.Store) -> None:
    witness = Witness(FrameStackObservation(small_pong(), 4))
    with store.run("pong", "whole", environment=False) as run, Recorder(witness, run, stack=False, frames=None) as env:
        play(env, 6)
    assert depth(run) is None
    assert store.resolve(f"h5://{run.id}/observations/5").shape == (4, 84, 80)
    assert_recorded(run.episodes[0], witness.episodes[0], "closed")


def test_a_wrapper_above_that_changes_stacks_makes_them_none(store: playhead.Store) -> None:
    changed = spaces.Box(0, 255, (4, 84, 80), np.uint8)
    above = TransformObservation(FrameStackObservation(small_pong(), 4), lambda seen: seen[::-1], changed)
    witness = Witness(above)
    with store.run("pong", "above", environment=False) as run, Recorder(witness, run, frames=None) as env:
        play(env, 6)
    assert depth(run) is None
    assert_recorded(run.episodes[0], witness.episodes[0], "closed")


class Queued(Scripted):
    """Claims to be a stack, and is one as long as the script is."""

    def __init__(self, script: list[Any]) -> None:
        super().__init__(spaces.Box(0, 255, (3, 3, 3), np.uint8), TWO, script)
        self.obs_queue = list(script[0])


def test_what_is_no_stack_at_the_first_step_is_stored_whole(store: playhead.Store) -> None:
    script = [np.stack(grey(1, 2, 3)), np.stack(grey(7, 8, 9)), np.stack(grey(1, 1, 1))]
    witness = Witness(Queued(script))
    with store.run("no", "stack", environment=False) as run, Recorder(witness, run) as env:
        env.reset()
        env.step(0)
        env.step(1)
    assert depth(run) is None
    assert_recorded(run.episodes[0], witness.episodes[0], "closed")


def test_a_stack_that_ceases_to_be_one_is_refused_where_that_is_seen(store: playhead.Store) -> None:
    script = [np.stack(grey(1, 2, 3)), np.stack(grey(2, 3, 4)), np.stack(grey(3, 9, 5))]
    with store.run("no", "stack", environment=False) as run:
        env = Recorder(Queued(script), run)
        env.reset()
        env.step(0)
        with pytest.raises(WrongType, match="stack=False"):
            env.step(1)
        env.close()
    [episode] = run.episodes
    assert (episode.length, episode.how, episode.final) == (2, "error", {})
    assert np.array_equal(episode["observation"][:].values, np.stack(script[:2]))


class Flickers(Scripted):
    """Shows itself, but for one moment."""

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"]}  # noqa: RUF012  as Gymnasium has it
    render_mode = "rgb_array"

    def render(self) -> Any:
        if self._at == 4:
            raise RuntimeError("the display is gone")
        return np.full((8, 8, 3), self._at, np.uint8)


def test_a_frame_that_cannot_be_rendered_costs_no_later_step(store: playhead.Store) -> None:
    """Was a bug: every later step was refused, as one that does not go on from the one before."""
    env_in = FrameStackObservation(Flickers(GREY, TWO, grey(*range(10))), 3)
    with store.run("no", "frame", environment=False) as run, Recorder(env_in, run) as env:
        env.reset()
        for number in range(6):
            if number == 2:
                with pytest.raises(RuntimeError, match="display"):
                    env.step(1)
            else:
                env.step(1)
    first, second = run.episodes
    assert (first.length, first.how, first.final["observation"][:, 0, 0].tolist()) == (3, "error", [1, 2, 3])
    assert first["observation"].values[:, :, 0, 0].tolist() == [[0, 0, 0], [0, 0, 1], [0, 1, 2]]
    assert second["observation"].values[:, :, 0, 0].tolist() == [[1, 2, 3], [2, 3, 4], [3, 4, 5]]
    assert second.how == "closed"


def test_a_stack_goes_on_after_one_that_was_refused(store: playhead.Store) -> None:
    """What no stack can be put together over is an episode of its own: nothing is made up, and nothing is left out."""
    stacks = [(1, 2, 3), (2, 3, 4), (3, 9, 5), (7, 8, 9), (8, 9, 10), (9, 10, 11)]
    with store.run("no", "stack", environment=False) as run:
        env = Recorder(Queued([np.stack(grey(*stack)) for stack in stacks]), run)
        env.reset()
        env.step(0)
        with pytest.raises(WrongType, match="stack=False"):
            env.step(1)
        for action in (0, 1, 1):
            env.step(action)
        env.close()
    before, between, after = run.episodes
    assert before["observation"].values[:, :, 0, 0].tolist() == [[1, 2, 3], [2, 3, 4]]
    assert ("observation" in between, between["action"].values.tolist(), between.final) == (False, [0], {})
    assert after["observation"].values[:, :, 0, 0].tolist() == [[7, 8, 9], [8, 9, 10]]
    assert after.final["observation"][:, 0, 0].tolist() == [9, 10, 11]


def test_the_last_stack_is_checked_as_well(store: playhead.Store) -> None:
    script = [np.stack(grey(1, 2, 3)), np.stack(grey(2, 3, 4)), np.stack(grey(3, 9, 5))]
    env_in = Queued(script)
    env_in._ends = 3
    with store.run("no", "stack", environment=False) as run, Recorder(env_in, run) as env:
        env.reset()
        env.step(0)
        with pytest.raises(WrongType, match="does not go on"):
            env.step(1)


def test_the_caller_may_say_how_deep_stacks_are(store: playhead.Store) -> None:
    frames = grey(*range(20))
    script = [np.stack(frames[i : i + 3]) for i in range(10)]
    witness = Witness(Scripted(spaces.Box(0, 255, (3, 3, 3), np.uint8), TWO, script))
    with store.run("my", "stack", environment=False) as run, Recorder(witness, run, stack=3) as env:
        env.reset()
        for _ in range(5):
            env.step(0)
    assert depth(run) == 3
    assert_recorded(run.episodes[0], witness.episodes[0], "closed")


@pytest.mark.parametrize(
    ("stack", "script", "message"),
    [
        (2, [np.stack(grey(1, 2, 3))], "counts 2 frames"),
        (3, [np.stack(grey(1, 2, 3))], "does not go on from the first"),
    ],
)
def test_the_caller_is_told_where_they_are_none(
    store: playhead.Store, stack: int, script: list[Any], message: str
) -> None:
    with store.run("my", "stack", environment=False) as run:
        env = Recorder(Scripted(spaces.Box(0, 255, (3, 3, 3), np.uint8), TWO, script), run, stack=stack)
        with pytest.raises(WrongType, match=message):
            for _ in range(2):
                env.reset()
                env.step(0)


def test_episodes_that_begin_without_a_reset_have_their_whole_first_stack(store: playhead.Store) -> None:
    frames = grey(*range(20))
    script = [np.stack(frames[i : i + 3]) for i in range(10)]
    env_in = Scripted(spaces.Box(0, 255, (3, 3, 3), np.uint8), TWO, script, ends=4)
    with store.run("my", "stack", environment=False) as run, Recorder(env_in, run, stack=3) as env:
        env.reset()
        for _ in range(4):
            env.step(0)
    first, second = run.episodes
    assert np.array_equal(first.final["observation"], script[3])
    assert np.array_equal(second["observation"][0][0], script[3])
    assert np.array_equal(second.final["observation"], script[4])


def test_memory_that_does_not_lie_in_a_row_is_compared_all_the_same() -> None:
    frames = np.random.default_rng(0).normal(size=(9, 5, 4))
    stack = Stack(spaces.Box(-9, 9, (3, 4, 5), np.float64))
    kept: dict[str, Any] = {}
    for start in range(5):
        stack.keep(frames[start : start + 3].transpose(0, 2, 1), kept)
        assert np.array_equal(kept["observations"], frames[start + 2].T)
        assert np.array_equal(stack.prefixes["observations"], frames[start : start + 2].transpose(0, 2, 1))
    with pytest.raises(WrongType, match="does not go on"):
        stack.keep(frames[5:8].transpose(0, 2, 1) + 1, kept)
    stack.restart()
    stack.keep(frames[0:3].transpose(0, 2, 1), kept)
