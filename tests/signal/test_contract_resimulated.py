"""Frames that are made again are a signal like any other."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from playhead.integrations.gymnasium.states import States, facts_of
from playhead.lanes.arrays.config import ReplayConfig
from playhead.lanes.arrays.made import check_of, described
from playhead.lanes.arrays.writer import ReelWriter
from playhead.layout import ReplayFolder
from playhead.replay import open_episode
from playhead.signal import Signal
from playhead.simulators import find
from playhead.simulators.spaces import describe
from tests.signal.machine import Samples
from tests.signal.recorded import RecordedContract
from tests.simulators.playing import game

SKIPPED, EVERY = 30, 4


@cache
def pong() -> Any:
    return game("Pong", obs_type="grayscale")


def played(steps: int) -> Any:
    """Play, and give the environment, then what is seen before each step."""
    env = pong()
    env.reset(seed=1)
    for _ in range(SKIPPED):  # until the ball moves
        env.step(1)
    yield env
    for step in range(steps):
        yield env.step(step % 6)[0]


class TestResimulated(RecordedContract):
    can_be_empty = False

    def sample_values(self, n: int) -> Any:
        return np.stack(list(played(n + 1))[2:] if n else np.empty((0, 210, 160), np.uint8))

    def record(self, samples: Samples, folder: Path) -> None:
        playing = played(len(samples) + 1)
        env = next(playing)
        seen = next(playing)
        rig = find(env)
        facts = {
            "action_space": describe(env.action_space, "actions"),
            "observation_space": describe(env.observation_space),
        }
        facts |= {"same": {"observations": "frames"}, **facts_of(rig, [described("frames", seen)], EVERY)}
        reel = ReelWriter(ReplayFolder(folder).reel("run"), ReplayConfig(chunk=4), facts=facts)
        states = States(rig)
        reel.begin(ts_ns=samples[0][1])
        for step, (value, stamp) in enumerate(samples):
            seen = next(playing)
            assert np.array_equal(seen, value)
            if step % EVERY == 0:
                reel.keyframe(*states.rows(reel, {"frames": seen}, step == 0))
            arrays = {"actions": (step + 2) % 6, "checks.frames": np.array(check_of(seen), np.uint32)}
            reel.step(arrays, 0.5, False, False, ts_ns=stamp)
        reel.close()

    def open(self, folder: Path) -> Signal[Any]:
        return open_episode(folder, "run", 0)["frame"]  # type: ignore[no-any-return]
