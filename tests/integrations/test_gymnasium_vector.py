"""Recording vector environments, held against plain environments that are played with the same seeds and actions."""

from __future__ import annotations

import threading
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import gymnasium
import numpy as np
import pytest
from ale_py.vector_env import AtariVectorEnv
from gymnasium import spaces
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv, VectorWrapper
from gymnasium.wrappers import FrameStackObservation, TimeLimit

import playhead
from playhead.errors import WrongType
from playhead.integrations.gymnasium import VectorRecorder
from tests.integrations.test_gymnasium_envs import Episode, Wander, assert_recorded

MODES = list(AutoresetMode)
SEED = 11


def wander() -> gymnasium.Env[Any, Any]:
    return TimeLimit(Wander("rgb_array", ends=0.1), 9)


def careful_wander() -> gymnasium.Env[Any, Any]:
    """Make one that gives new memory each time: a reset within the step would overwrite its last observation."""
    return TimeLimit(Wander("rgb_array", ends=0.1, reuses=False), 9)


def stacked() -> gymnasium.Env[Any, Any]:
    return FrameStackObservation(TimeLimit(gymnasium.make("CartPole-v1").unwrapped, 15), 3)


def drawn(envs: VectorEnv[Any, Any, Any], steps: int) -> list[Any]:
    envs.action_space.seed(SEED)
    return [envs.action_space.sample() for _ in range(steps)]


def drive(envs: VectorEnv[Any, Any, Any], mode: AutoresetMode, actions: list[Any]) -> None:
    """Play a vector environment, as its way to reset demands."""
    envs.reset(seed=SEED)
    for action in actions:
        _, _, terminated, truncated, _ = envs.step(action)
        over = terminated | truncated
        if mode == AutoresetMode.DISABLED and over.any():
            envs.reset(options={"reset_mask": over})


def replayed(
    make: Callable[[], Any], mode: AutoresetMode, actions: list[Any], number: int, *, shows: bool
) -> list[Episode]:
    """Play one plain environment as a sub-environment is played; give its episodes."""
    env = make()
    seen, _ = env.reset(seed=SEED + number)
    episodes = [Episode([deepcopy(seen)])]
    look = (lambda: episodes[-1].shown.append(np.array(env.render()))) if shows else (lambda: None)
    look()
    is_over = False
    for action in (batch[number] for batch in actions):
        if is_over and mode == AutoresetMode.NEXT_STEP:  # this step only resets
            is_over = False
            episodes.append(Episode([deepcopy(env.reset()[0])]))
            look()
            continue
        seen, reward, terminated, truncated, info = env.step(action)
        now = episodes[-1]
        now.seen.append(deepcopy(seen))
        now.actions.append(action)
        now.rewards.append(reward)
        now.ends.append((terminated, truncated))
        now.infos.append(deepcopy(info))
        look()
        is_over = terminated or truncated
        if is_over and mode != AutoresetMode.NEXT_STEP:
            episodes.append(Episode([deepcopy(env.reset()[0])]))
            look()
    return [episode for episode in episodes if episode.rewards]


def plain(info: dict[str, Any]) -> dict[str, Any]:
    return {**info, "deep": {"x": float(info["deep"]["x"])}}


def how_of(truth: Episode) -> str:
    terminated, truncated = truth.ends[-1]
    return "terminated" if terminated else "truncated" if truncated else "closed"


def by_reel(run: Any) -> dict[int, list[Any]]:
    found: dict[int, list[Any]] = {}
    for episode in run.episodes:
        found.setdefault(episode.static["sub_environment"], []).append(episode)
    return found


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("is_async", [False, True])
def test_every_transition_is_that_of_a_plain_environment(
    store: playhead.Store, mode: AutoresetMode, is_async: bool
) -> None:
    make = careful_wander if mode == AutoresetMode.SAME_STEP else wander
    if is_async:  # in shared memory, texts do not come through whole
        envs: Any = AsyncVectorEnv([make] * 3, copy=False, autoreset_mode=mode, shared_memory=False)
    else:
        envs = SyncVectorEnv([make] * 3, copy=False, autoreset_mode=mode)
    actions = drawn(envs, 60)
    with store.run("walk", "many", environment=False) as run:
        recorder = VectorRecorder(envs, run, frames="render" if not is_async else None)
        drive(recorder, mode, actions)
        recorder.close()
        recorder.close()
    found = by_reel(run)
    ends = set()
    for number in range(3):
        truths = replayed(make, mode, actions, number, shows=not is_async)
        for episode, truth in zip(found[number], truths, strict=True):
            assert_recorded(episode, truth, how_of(truth), infos=plain)
            ends.add(episode.how)
            if not is_async:
                assert np.array_equal(episode["frame"][:].values, np.stack(truth.shown[:-1]))
                if mode != AutoresetMode.SAME_STEP or episode.how == "closed":
                    assert np.array_equal(episode.final["frame"], truth.shown[-1])
        assert found[number][0].static["seed"] == SEED + number
        assert "seed" not in found[number][1].static
        assert found[number][1].static["info"] == {"fresh": True}
    assert ends == {"terminated", "truncated", "closed"} or ends == {"terminated", "truncated"}
    assert [episode.created_ts_ns for episode in run.episodes] == sorted(e.created_ts_ns for e in run.episodes)
    facts = run.episodes[0].static
    assert facts["autoreset_mode"] == mode.value
    assert facts["sub_environments"] == 3


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("is_async", [False, True])
def test_stacks_of_sub_environments_are_stored_once(store: playhead.Store, mode: AutoresetMode, is_async: bool) -> None:
    envs = (AsyncVectorEnv if is_async else SyncVectorEnv)([stacked] * 2, autoreset_mode=mode)
    actions = drawn(envs, 50)
    with store.run("pole", "many", environment=False) as run:
        recorder = VectorRecorder(envs, run)
        drive(recorder, mode, actions)
        recorder.close()
    for number, episodes in by_reel(run).items():
        assert episodes[0].static["stack"] == 3
        truths = replayed(stacked, mode, actions, number, shows=False)
        for episode, truth in zip(episodes, truths, strict=True):
            assert_recorded(episode, truth, how_of(truth))


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_the_vector_environment_of_atari(store: playhead.Store, mode: AutoresetMode) -> None:
    envs = AtariVectorEnv("pong", 2, autoreset_mode=mode, max_num_frames_per_episode=120, noop_max=3)
    actions = drawn(envs, 70)
    seen, after, is_reset = [], [], []
    with store.run("pong", "many", environment=False) as run:
        recorder = VectorRecorder(envs, run)
        observations, _ = recorder.reset(seed=3)
        was_over = np.zeros(2, bool)
        for action in actions:
            seen.append(observations.copy())
            observations, _, terminated, truncated, infos = recorder.step(action)
            over = terminated | truncated
            is_reset.append(was_over if mode == AutoresetMode.NEXT_STEP else np.zeros(2, bool))
            final = infos.get("final_obs", observations)
            after.append(np.where(over[:, None, None, None], final, observations))
            was_over = over
        recorder.close()
    for number, episodes in by_reel(run).items():
        assert episodes[0].static["stack"] == 4
        assert len(episodes) > 1
        steps = [i for i in range(70) if not is_reset[i][number]]
        transitions = [episode.transition(step) for episode in episodes for step in range(episode.length)]
        assert len(transitions) == len(steps)
        for i, transition in zip(steps, transitions, strict=True):
            assert np.array_equal(transition.observation, seen[i][number])
            assert np.array_equal(transition.next_observation, after[i][number])
            assert transition.action == actions[i][number]


def test_images_are_frames_and_observations_at_once(store: playhead.Store) -> None:
    class Screen(Wander):
        observation_space = spaces.Box(0, 255, (16, 20, 3), np.uint8)

        def _see(self) -> Any:
            return np.full((16, 20, 3), self.steps, np.uint8)

    envs = SyncVectorEnv([Screen] * 2, autoreset_mode=AutoresetMode.SAME_STEP)
    with store.run("image", "many", environment=False) as run:
        recorder = VectorRecorder(envs, run, every=1)
        drive(recorder, AutoresetMode.SAME_STEP, drawn(envs, 20))
        recorder.close()
    for episode in run.episodes:
        assert episode["frame"][:].values[:, 0, 0, 0].tolist() == list(range(episode.length))
        assert episode.final["frame"][0, 0, 0] == episode.length
        assert np.array_equal(episode["observation"][:].values, episode["frame"][:].values)


def test_some_sub_environments_are_reset_in_the_middle(store: playhead.Store) -> None:
    envs = SyncVectorEnv([lambda: Wander(ends=0)] * 3, autoreset_mode=AutoresetMode.DISABLED)
    with store.run("walk", "mask", environment=False) as run:
        recorder = VectorRecorder(envs, run)
        recorder.reset(seed=[5, 6, 7])
        recorder.step(np.array([1, 1, 1]))
        recorder.reset(seed=[1, 2, 3], options={"reset_mask": np.array([True, False, True]), "why": "tired"})
        recorder.step(np.array([2, 2, 2]))
        recorder.close()
    found = by_reel(run)
    assert [[(e.length, e.how) for e in found[i]] for i in range(3)] == [
        [(1, "reset"), (1, "closed")],
        [(2, "closed")],
        [(1, "reset"), (1, "closed")],
    ]
    assert [found[i][-1].static["seed"] for i in range(3)] == [1, 6, 3]
    assert found[2][1].static["options"] == {"why": "tired"}


@pytest.mark.parametrize("make", [SyncVectorEnv, AsyncVectorEnv])
@pytest.mark.filterwarnings("ignore")  # of Gymnasium, about the worker that failed
def test_an_error_of_one_ends_the_episodes_of_all(store: playhead.Store, make: Any) -> None:
    class Breaks(Wander):
        def step(self, action: Any) -> Any:
            if self.steps == 2 and action == 3:
                raise ArithmeticError("worn out")
            return super().step(action)

    envs = make([lambda: Breaks(ends=0)] * 2)
    with store.run("walk", "break", environment=False) as run:
        recorder = VectorRecorder(envs, run)
        recorder.reset(seed=1)
        recorder.step(np.array([1, 1]))
        recorder.step(np.array([1, 1]))
        with pytest.raises(ArithmeticError, match="worn out"):
            recorder.step(np.array([1, 3]))
        recorder.close(terminate=True) if make is AsyncVectorEnv else recorder.close()
    assert [(episode.length, episode.how) for episode in run.episodes] == [(2, "error")] * 2
    assert run.episodes[0].static["error"] == {"type": "ArithmeticError", "message": "worn out"}
    assert len(run.episodes[0].final) == 5


def test_a_wrong_observation_of_one_loses_nothing_of_the_others(store: playhead.Store) -> None:
    class Loose(VectorEnv[Any, Any, Any]):
        num_envs = 3
        metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012
        single_observation_space = spaces.Box(-9, 9, (2,), np.float32)
        single_action_space = spaces.Discrete(2)
        observation_space, action_space = spaces.Box(-9, 9, (3, 2), np.float32), spaces.MultiDiscrete([2, 2, 2])

        def reset(self, **how: Any) -> Any:
            return np.zeros((3, 2), np.float32), {}

        def step(self, actions: Any) -> Any:
            seen = [np.ones(2, np.float32), np.ones(3, np.float32), np.ones(2, np.float32)]
            return seen, np.ones(3), np.zeros(3, bool), np.zeros(3, bool), {}

    with store.run("loose", "many", environment=False) as run:
        recorder = VectorRecorder(Loose(), run)
        recorder.reset(seed=9)
        with pytest.raises(playhead.WrongShape, match=r"\[3\] where its space declares \[2\]"):
            recorder.step(np.array([0, 1, 1]))
        recorder.close()
    found = by_reel(run)
    assert [(found[i][0].length, found[i][0].how) for i in range(3)] == [(1, "closed"), (1, "error"), (1, "closed")]
    assert [found[i][0].static["seed"] for i in range(3)] == [9, 9, 9]


class Counts(gymnasium.Env[Any, Any]):
    """Shows how many observations it gave; episodes have two steps."""

    observation_space, action_space = spaces.Discrete(100), spaces.Discrete(2)

    def __init__(self) -> None:
        self.given = -1

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        self.taken, self.given = 0, self.given + 1
        return self.given, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.taken, self.given = self.taken + 1, self.given + 1
        return self.given, 1.0, self.taken == 2, False, {}


class Unpaid(VectorWrapper[Any, Any, Any, Any, Any]):
    """Gives no reward for the second step."""

    steps = 0

    def step(self, actions: Any) -> Any:
        self.steps += 1
        observations, rewards, *rest = self.env.step(actions)
        return observations, np.array([None], object) if self.steps == 2 else rewards, *rest


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_an_episode_behind_a_last_step_without_a_reward_begins_as_it_did(
    store: playhead.Store, mode: AutoresetMode
) -> None:
    with store.run("counts", "unpaid", environment=False) as run:
        envs = VectorRecorder(Unpaid(SyncVectorEnv([Counts], autoreset_mode=mode)), run)
        envs.reset()
        envs.step(np.zeros(1, np.int64))
        with pytest.raises(WrongType, match="recorded as NaN"):
            envs.step(np.zeros(1, np.int64))
        for _ in range(3):
            envs.step(np.zeros(1, np.int64))
        envs.close()
    assert [episode["observation"].values.tolist() for episode in run.episodes][:2] == [[0, 1], [3, 4]]
    assert "without_reset" not in run.episodes[1].static


def test_a_vector_environment_that_does_not_say_how_it_resets_is_refused(store: playhead.Store) -> None:
    envs = SyncVectorEnv([wander])
    envs.metadata = {"autoreset_mode": "sometimes"}
    with store.run("walk", "odd", environment=False) as run, pytest.raises(WrongType, match="AutoresetMode"):
        VectorRecorder(envs, run)


def test_one_thread_writes_all_and_ends_at_close(store: playhead.Store) -> None:
    def writers() -> int:
        return sum(thread.name == "playhead-tape" for thread in threading.enumerate())

    before = writers()
    with store.run("walk", "threads", environment=False) as run:
        recorder = VectorRecorder(SyncVectorEnv([wander] * 5), run)
        drive(recorder, AutoresetMode.NEXT_STEP, drawn(recorder, 5))
        assert len({reel.id for reel in recorder.reels if reel is not None}) == 5
        assert writers() == before + 1
        recorder.close()
        assert writers() == before


def test_made_by_gymnasium_with_infos_as_lists(store: playhead.Store) -> None:
    envs = gymnasium.make_vec("CartPole-v1", 2, vectorization_mode="sync")
    envs = gymnasium.wrappers.vector.DictInfoToList(gymnasium.wrappers.vector.RecordEpisodeStatistics(envs))
    with store.run("pole", "vec", environment=False) as run:
        recorder = VectorRecorder(envs, run)
        recorder.action_space.seed(1)
        recorder.reset(seed=1)
        for _ in range(60):
            recorder.step(recorder.action_space.sample())
        recorder.close()
    ended = [episode for episode in run.episodes if episode.how == "terminated"]
    assert ended
    for episode in ended:
        assert episode.static["env_id"] == "CartPole-v1"
        assert episode.infos[-1]["episode"]["l"] == episode.length
        assert episode.infos[-1]["episode"]["r"] == episode.total_reward
        assert not any("episode" in info for info in episode.infos[:-1])
