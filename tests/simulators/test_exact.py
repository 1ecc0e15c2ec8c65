"""From a state that was restored, the same actions lead to the same observations, bit for bit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from playhead.lanes.keyframes import tree
from playhead.simulators import find
from playhead.simulators.making import started
from tests.simulators.playing import Maze, game
from tests.simulators.rendering import CANNOT, STEPS

ROOT = Path(__file__).parents[2]
CLASSIC = ("CartPole-v1", "Acrobot-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1")
WORLDS = ("Ant-v5", "HalfCheetah-v5", "Humanoid-v5", "Hopper-v5", "InvertedPendulum-v5", "Pusher-v5", "Reacher-v5")


def assert_exact(make: Any, steps: int = 40, every: int = 7) -> None:
    env, again = make(), started(make())
    rig = find(env)
    env.action_space.seed(1)
    env.reset(seed=5)
    states, actions, seen, rewards = [], [], [None], []
    for place in range(steps):
        if place % every == 0:
            states.append((place, tree.pack(rig.save())))
        actions.append(env.action_space.sample())
        observation, reward, terminated, truncated, _ = env.step(actions[-1])
        seen.append(np.array(observation))
        rewards.append(reward)
        if terminated or truncated:
            break
    order = np.random.default_rng(0).permutation(len(states))
    for place, state in (states[at] for at in order):
        again.restore(tree.unpack(state))
        for at in range(place, len(actions)):
            observation, reward, *_ = again.env.step(actions[at])
            if at + 1 >= place + again.warmup:
                assert np.asarray(observation).tobytes() == seen[at + 1].tobytes(), (place, at)
            if at > place:  # the first may compare with what was derived before
                assert reward == rewards[at], (place, at)
    env.close()
    again.close()


@pytest.mark.parametrize("name", CLASSIC)
def test_classic_control(name: str) -> None:
    assert_exact(lambda: gymnasium.make(name))


@pytest.mark.parametrize("name", WORLDS)
def test_mujoco(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mujoco")
    monkeypatch.chdir(tmp_path)  # where it writes its log
    assert_exact(lambda: gymnasium.make(name))


def test_pictures_of_mujoco(tmp_path: Path) -> None:
    """Every picture comes out as it was seen, over several episodes, also from where the camera was aimed at first."""
    pytest.importorskip("mujoco")
    command = [sys.executable, "-m", "tests.simulators.rendering", "InvertedPendulum-v5"]
    tried = {}
    for way in ("egl", "osmesa"):
        environment = os.environ | {"MUJOCO_GL": way, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            assert f"{STEPS} steps in" in done.stdout
            return
        assert done.returncode == CANNOT, done.stdout + done.stderr
        tried[way] = done.stdout.strip()[-100:]
    pytest.skip(f"nothing can be drawn here: {tried}")


def test_an_atari_game_whose_actions_do_not_stick() -> None:
    assert_exact(lambda: game("Breakout", repeat_action_probability=0.0))


def test_an_atari_game_with_random_frame_skips() -> None:
    assert_exact(lambda: game("Pong", repeat_action_probability=0.0, frameskip=(2, 5)))


def test_an_environment_that_saves_itself() -> None:
    assert_exact(Maze)


def test_an_atari_state_does_not_hold_the_action_that_may_be_repeated() -> None:
    """The trap that settling is for: without it, what follows depends on what was done before the restore."""
    rig = started(game("Breakout", frameskip=1))
    rig.env.reset(seed=0)
    for _ in range(40):
        rig.step(1)
    different = 0
    for _ in range(40):
        rig.step(0)
        state = rig.save()
        ends = []
        for memory in (2, 3):
            rig.settle(memory, surely=True)
            rig.restore(state)
            for _ in range(6):
                rig.step(0)
            ends.append(rig.save()["simulator"]["system"])
        different += ends[0] != ends[1]
        rig.restore(state)
    assert 0 < different < 40
