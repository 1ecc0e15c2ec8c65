"""A real game is killed while it is played: what was flushed is there, and every frame is what the game renders."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import playhead
from tests.crash.atari_player import EPISODE, actions, make

ROOT = Path(__file__).parents[2]
SHARE = float(os.environ.get("PLAYHEAD_CAMPAIGN", "0.1"))
STOPS = max(3, round(30 * SHARE))


@cache
def rendered(episode: int) -> NDArray[np.uint8]:
    """Play an episode without a recorder; give what it shows before each step, and after the last."""
    env: Any = make()
    env.reset(seed=episode)
    frames = [env.render()]
    for action in actions(int(env.action_space.n)):
        env.step(action)
        frames.append(env.render())
    env.close()
    return np.array(frames)


@pytest.mark.timeout(1200)
def test_a_game_that_is_killed_keeps_its_frames(tmp_path: Path) -> None:
    moments, frames = random.Random(5), 0
    for number in range(STOPS):
        path = tmp_path / f"store-{number % 5}"
        command = [sys.executable, "-m", "tests.crash.atari_player", str(path)]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as player:
            assert player.stdout is not None
            run_id, told = player.stdout.readline().split()  # it plays
            time.sleep(moments.uniform(0, 2))
            player.send_signal(signal.SIGKILL)
            for line in player.stdout.read().split("\n")[:-1]:
                told = line.split()[1]
        with playhead.open(path) as store:
            episodes = list(store.runs[run_id].episodes)
            steps = sum(episode.length for episode in episodes)
            assert steps >= int(told)
            for place, episode in enumerate(episodes):
                shown = rendered(place)
                assert np.array_equal(episode["frame"].values, shown[: episode.length])
                if episode.how == "reset":
                    assert np.array_equal(episode.final["frame"], shown[-1])
            assert episodes[-1].how is None or episodes[-1].length == EPISODE
            frames += steps
    print(f"{STOPS} kills, {frames} frames, each as the game renders it")
