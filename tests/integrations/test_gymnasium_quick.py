"""Steps that are recorded in one piece: the same as those recorded at length, whatever an environment does."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import FrameStackObservation

import playhead
from playhead.errors import PlayheadError, WrongType
from playhead.integrations.gymnasium import Recorder, VectorRecorder, quick
from playhead.lanes.arrays import recorder
from tests.interrupting import STRIDE, At

SIDE = 16


class Counting(gymnasium.Env[Any, Any]):
    """Shows how many steps were taken, and now and then does something that few environments do."""

    observation_space = gymnasium.spaces.Box(0, 255, (SIDE, SIDE), np.uint8)
    action_space = gymnasium.spaces.Discrete(1000)
    render_mode = "rgb_array"

    def __init__(self, oddness: float = 0.0, seed: int = 0, *, is_stacked: bool = False) -> None:
        self.count = 0
        self._is_stacked = is_stacked  # by a wrapper that wants arrays of one type
        self._random = random.Random(seed)
        self._oddness = oddness
        self._canvas = np.zeros((SIDE, SIDE, 3), np.uint8)

    def _is_odd(self) -> bool:
        return self._random.random() < self._oddness

    def _seen(self) -> Any:
        seen = np.full((SIDE, SIDE), self.count % 256, np.uint8)
        if self._is_stacked:
            return seen
        return seen.astype(np.int64) if self._is_odd() else seen.tolist() if self._is_odd() else seen

    def reset(self, **_options: Any) -> tuple[Any, dict[str, Any]]:
        return self._seen(), {}

    def step(self, _action: Any) -> tuple[Any, Any, Any, Any, Any]:
        if self._is_odd():
            raise RuntimeError("the gripper is stuck")
        self.count += 1
        reward: Any = float(self.count)
        if self._is_odd():
            odd = (np.float32(0.5), 3, np.float64(2), True, "7", "none", None, 10**400, np.array(1.5))
            reward = self._random.choice(odd)
        info: Any = {"count": self.count}
        if self._is_odd():
            loop: dict[str, Any] = {}
            loop["self"] = loop
            odd_infos = ({}, None, {"x": float("nan")}, {"x": None}, {1: 2}, {"x": object}, {"x": "y" * 300}, [1], loop)
            info = self._random.choice((*odd_infos, {"x": "y" * 70_000}, {"x": np.arange(3)}))
        terminated = self._is_odd() and self._random.choice((True, np.bool_(True)))
        truncated = np.bool_(self._is_odd())
        return self._seen(), reward, terminated, truncated, info

    def render(self) -> Any:
        if self._is_odd():
            raise ValueError("no light")
        self._canvas[:] = self.count % 256
        return self._canvas if self.count % 2 else self._canvas.copy()


class Word(str):
    __slots__ = ()


# What the number in an info may be instead.
NUMBERS = (
    *(0, -5, True, 2**62 - 1, 2**62, -(2**62), 2**63, 2**64 - 1, 2**64, 10**30, 10**400),
    *(0.1, -0.0, 5e-324, 1.7976931348623157e308, float("nan"), float("inf"), float("-inf")),
    *(np.float64(0.1), np.float32(0.1), np.float32("nan"), np.float16(0.1), np.bool_(True)),
    *(np.int64(2**63 - 1), np.int64(-(2**63)), np.int32(7), np.uint64(2**64 - 1), np.int8(-3)),
    *(None, "text", "null", "\ud800", [1], (1, 2), {"x": 1}, np.arange(2), 1j, object),
)


class Telling(Counting):
    """Tells each of these at some time, with the names of the infos before."""

    def step(self, action: Any) -> tuple[Any, Any, Any, Any, Any]:
        found = super().step(action)
        number, place = divmod(self.count, 8)
        info: dict[Any, Any] = {"count": self.count, "at": 0.5}
        if place == 4 and number < len(NUMBERS):
            info["count"] = NUMBERS[number]
        elif place == 4:
            info = (
                {Word("count"): 1},
                {"count": 1},
                {},
                {"at": 1, "count": 2},
                {"count": 1, "more": 2},
                {"\ud800": 1},
            )[number % 6]
        return (*found[:2], place == 7, False, info)


def test_numbers_in_infos_are_recorded_as_they_are_at_length(
    store: playhead.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for is_quick in (True, False):
        if not is_quick:
            at_length(monkeypatch)
        with store.run("quick", str(is_quick), environment=False) as run:
            env, used = Recorder(Telling(), run), 0
            for number in range(8 * (len(NUMBERS) + 6)):
                if number % 8 == 0:
                    env.reset()
                env.step(number)
                used += env._put is not None
            env.close()
        assert (used > 4 * len(NUMBERS)) == is_quick
        found.append(recorded(store, run))
    assert found[0] == found[1]
    infos = [row["info"] for row in store.sql("SELECT info FROM steps").to_pylist()]
    assert len(infos) == 2 * 8 * (len(NUMBERS) + 6)
    assert sum("0.5" in (info or "") for info in infos) > len(infos) * 4 // 5


def at_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick, "put_of", lambda _track: None)


def play(env: Any, steps: int, seed: int, *, oddness: float) -> list[str]:
    """Step an environment, and tell which errors came of it."""
    chance = random.Random(seed)
    told = []
    is_over = True
    for number in range(steps):
        action: Any = number % 1000
        if chance.random() < oddness:
            action = chance.choice((np.int64(number % 1000), np.int32(5), -3, 1 << 40, "left", 2.0, np.array(7)))
        try:
            if is_over:
                env.reset()
            _, _, terminated, truncated, _ = env.step(action)
            is_over = bool(terminated or truncated) or chance.random() < oddness
        except (PlayheadError, RuntimeError, ValueError) as error:
            told.append(f"{type(error).__name__}: {error}")
            is_over = chance.random() < 0.5
    return told


def recorded(store: playhead.Store, run: Any) -> list[Any]:
    """Give all that was recorded of a run, without times."""
    rows = store.sql(
        "SELECT step_index, action, reward, terminated, truncated, info, frame_ref IS NULL, obs_ref IS NULL "
        "FROM steps WHERE run_id = ? ORDER BY episode_id, step_index",
        [run.id],
    ).to_pylist()
    found: list[Any] = [str(row) for row in rows]
    for episode in sorted(run.episodes, key=lambda episode: episode.id.removeprefix(run.id)):
        finals = {name: np.asarray(value).tolist() for name, value in sorted(episode.final.items())}
        found.append((episode.length, episode.how, finals))
        for name in ("frame", "observation"):
            if name in episode:
                values = np.asarray(episode[name].values)
                found.append((name, values.shape, values.dtype, values.tobytes()))
    return found


@pytest.mark.parametrize("stacked", [False, True])
@pytest.mark.parametrize("oddness", [0.0, 0.02, 0.1])
@pytest.mark.parametrize("seed", range(3))
def test_what_is_recorded_in_one_piece_is_what_is_recorded_at_length(
    store: playhead.Store, monkeypatch: pytest.MonkeyPatch, seed: int, oddness: float, stacked: bool
) -> None:
    found = []
    for is_quick in (True, False):
        if not is_quick:
            at_length(monkeypatch)
        with store.run("quick", str(is_quick), environment=False) as run:
            env: Any = Counting(oddness, seed, is_stacked=stacked)
            env = Recorder(FrameStackObservation(env, 3) if stacked else env, run, frames="render")
            told = play(env, 400, seed, oddness=oddness)
            env.close()
        found.append((told, recorded(store, run)))
    assert found[0] == found[1]


class Ending(Counting):
    """Ends now and then, and says more or less of it."""

    def _is_odd(self) -> bool:
        return False

    def step(self, action: Any) -> tuple[Any, Any, Any, Any, Any]:
        found = super().step(action)
        info: dict[str, Any] = {"count": self.count}
        if self._random.random() < 0.02:
            info = self._random.choice(({}, {"x": float("nan")}, {"note": "y" * 300}))
        return found[0], found[1], self._random.random() < 0.05, self._random.random() < 0.05, info


@pytest.mark.parametrize("mode", list(gymnasium.vector.AutoresetMode))
@pytest.mark.parametrize("frames", ["render", "auto", None])
def test_a_vector_recorded_in_one_piece_is_one_recorded_at_length(
    store: playhead.Store, monkeypatch: pytest.MonkeyPatch, mode: Any, frames: str | None
) -> None:
    found = []
    for is_quick in (True, False):
        if not is_quick:
            at_length(monkeypatch)
        with store.run("quick", str(is_quick), environment=False) as run:
            makers = [lambda seed=seed: Ending(seed=seed) for seed in range(3)]
            envs = VectorRecorder(gymnasium.vector.SyncVectorEnv(makers, autoreset_mode=mode), run, frames=frames)
            envs.reset()
            used = 0
            for number in range(300):
                _, _, terminated, truncated, _ = envs.step(np.array([number % 1000, 1, 2]))
                used += sum(put is not None for put in envs._puts)
                over = np.logical_or(terminated, truncated)
                if mode == gymnasium.vector.AutoresetMode.DISABLED and over.any():
                    envs.reset(options={"reset_mask": over})
            envs.close()
        assert (used > 200) == is_quick
        found.append(recorded(store, run))
    assert found[0] == found[1]


def test_most_environments_are_recorded_in_one_piece(store: playhead.Store) -> None:
    with store.run("quick", "which", environment=False) as run:
        for make in (
            lambda: Recorder(Counting(), run),
            lambda: Recorder(Counting(), run, frames="render"),
            lambda: Recorder(Counting(), run, frames=None),
            lambda: Recorder(FrameStackObservation(Counting(), 3), run, frames="render"),
            lambda: Recorder(gymnasium.make("CartPole-v1"), run),
        ):
            env = make()
            env.reset(seed=0)
            for _ in range(3):
                env.step(0)
                assert env._put is not None
            env.close()
            assert env._put is None
        env = Recorder(Counting(), run, frames="render", every=2)
        env.reset()
        env.step(0)
        assert env._put is None
        env.close()


def test_without_the_interpreters_lock_steps_go_the_long_way(
    store: playhead.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "has_lock", lambda: False)
    with store.run("quick", "free", environment=False) as run:
        env = Recorder(Counting(), run)
        env.reset()
        for action in range(3):
            env.step(action)
            assert env._put is None
        env.close()
    assert run.episodes[0]["action"].values.tolist() == [0, 1, 2]


def test_a_stack_that_does_not_go_on_is_refused_at_once(store: playhead.Store) -> None:
    class Torn(gymnasium.ObservationWrapper[Any, Any, Any]):
        is_torn = False

        def observation(self, observation: Any) -> Any:
            return observation[::-1].copy() if self.is_torn else observation

    with store.run("quick", "torn", environment=False) as run:
        torn = Torn(FrameStackObservation(Counting(), 3))
        env = Recorder(torn, run, frames=None, stack=3)
        env.reset()
        for action in range(5):
            env.step(action)
        torn.is_torn = True
        with pytest.raises(WrongType, match="does not go on"):
            env.step(5)
        env.close()
    (episode,) = run.episodes
    assert (episode.length, episode.how) == (6, "error")


def test_what_the_environment_and_the_caller_write_later_is_not_recorded(store: playhead.Store) -> None:
    class Reusing(Counting):
        memory, told = np.zeros((SIDE, SIDE), np.uint8), {"count": 0}

        def _seen(self) -> Any:
            self.memory[:] = self.count
            return self.memory

        def step(self, action: Any) -> tuple[Any, Any, Any, Any, Any]:
            found = super().step(action)
            self.told["count"] = self.count
            return (*found[:4], self.told)

    with store.run("quick", "reused", environment=False) as run:
        env = Recorder(Reusing(), run, frames="render")
        env.reset()
        for action in range(40):
            observation, *_, info = env.step(action)
            observation[:], info["count"] = 99, -1
        env.close()
    (episode,) = run.episodes
    assert episode["observation"].values[1:, 0, 0].tolist() == list(range(1, 40))
    assert episode["frame"].values[:, 0, 0, 0].tolist() == list(range(40))
    infos = store.sql("SELECT info FROM steps ORDER BY step_index").column("info").to_pylist()
    assert [str(number) in info for number, info in enumerate(infos, 1)] == [True] * 40


def places() -> Iterator[int]:
    yield from range(0, 10_000, max(1, STRIDE // 5))


@pytest.mark.parametrize("stacked", [False, True])
def test_a_step_interrupted_anywhere_moves_nothing(store: playhead.Store, stacked: bool) -> None:
    for place in places():
        with store.run("quick", "interrupted", environment=False) as run:
            within = Counting()
            env = Recorder(FrameStackObservation(within, 3) if stacked else within, run, frames="render")
            env.reset()
            for _ in range(126):  # the hand is nearly full
                env.step(within.count)
            is_interrupted = False
            try:
                with At(
                    place,
                    "integrations/gymnasium/quick.py",
                    "integrations/gymnasium/recorder.py",
                    "lanes/arrays/recorder.py",
                ):
                    for _ in range(4):
                        env.step(within.count)
            except KeyboardInterrupt:
                is_interrupted = True
                if stacked:  # else the next stack may not go on from the last that was seen
                    env.reset()
            for _ in range(20):
                env.step(within.count)
            env.close()
        first, *more = run.episodes
        for episode in run.episodes:
            seen = episode["observation"].values.reshape(episode.length, -1)[:, -1]
            actions = episode["action"].values.tolist()
            unsure = 1 if episode is not first and not stacked else 0  # the step after one that was stopped
            assert seen[unsure:].tolist() == [action % 256 for action in actions[unsure:]]
            assert episode["reward"].values.tolist() == [action + 1 for action in actions]
            assert actions == list(range(actions[0], actions[0] + len(actions)))
        taken = sum(episode.length for episode in run.episodes)
        assert within.count - taken in ((0, 1) if more else (0,)), place  # only the step that the environment was in
        if not is_interrupted:
            assert place > 60
            return
    pytest.fail("there are more places than were tried")


def test_every_step_is_there_while_another_thread_flushes(store: playhead.Store, tmp_path: Path) -> None:
    import threading

    with store.run("quick", "flushed", environment=False) as run:
        env = Recorder(Counting(), run, frames="render")
        env.reset()
        env.step(0)
        stop = threading.Event()

        def flush() -> None:
            assert env.reel is not None
            for _ in count():
                if stop.is_set():
                    break
                env.reel.flush()

        thread = threading.Thread(target=flush)
        thread.start()
        for action in range(1, 3000):
            env.step(action % 1000)
        stop.set()
        thread.join()
        env.close()
    (episode,) = run.episodes
    assert episode["reward"].values.tolist() == list(range(1, 3001))
    assert episode["frame"].values[:, 0, 0, 0].tolist() == [number % 256 for number in range(3000)]
