"""Records with everything that makes stamps, while the wall clock is moved; run by `test_clock`.

`python moving_clock.py store` prints, as JSON, what the wall clock said in each of three stretches: as it is, hours ahead,
and hours back again.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import time
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv

import playhead
from playhead.integrations.gymnasium import Recorder, VectorRecorder
from playhead.integrations.pettingzoo import ParallelRecorder

HOUR = 3600
EACH = 3


class Still(gymnasium.Env[Any, Any]):
    """Always the same."""

    observation_space = spaces.Box(0, 1, (2,), np.float32)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, Any]:
        return np.zeros(2, np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Any]:
        return np.zeros(2, np.float32), 0.0, False, False, {}


class Pair(ParallelEnv):
    """The same for two agents."""

    metadata: dict[str, Any] = {"name": "pair_v0"}  # noqa: RUF012
    possible_agents = ["ann", "bob"]  # noqa: RUF012

    def observation_space(self, _agent: str) -> spaces.Space:
        return Still.observation_space

    def action_space(self, _agent: str) -> spaces.Space:
        return Still.action_space

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[Any, Any]:
        self.agents = list(self.possible_agents)
        return {one: np.zeros(2, np.float32) for one in self.agents}, {one: {} for one in self.agents}

    def step(self, actions: Any) -> tuple[Any, ...]:
        seen = {one: np.zeros(2, np.float32) for one in self.agents}
        no = dict.fromkeys(self.agents, False)
        return seen, dict.fromkeys(self.agents, 0.0), no, no, {one: {} for one in self.agents}


def main(path: str) -> None:
    """Record."""
    move_clock = ctypes.CDLL(os.environ["LD_PRELOAD"]).move_clock
    said = []
    with playhead.open(path) as store, store.run("p", "r", run_id="r", environment=False) as run:
        env = Recorder(Still(), run)
        several = VectorRecorder(gymnasium.vector.SyncVectorEnv([Still]), run)
        agents = ParallelRecorder(Pair(), run)
        trace = run.trace("fit")
        env.reset()
        several.reset()
        agents.reset()
        for hours in (0, 8, -4):
            move_clock(hours * HOUR)
            time.sleep(0.02)
            before = time.time_ns()
            for number in range(EACH):
                run.log({"x": number})
                run.log_text("line")
                env.step(0)
                several.step(np.zeros(1, np.int64))
                agents.step({"ann": 0, "bob": 0})
                trace.append({"state": number}, error=1.0)
            said.append([before, time.time_ns()])
        env.close()
        several.close()
        agents.close()
    print(json.dumps(said))


if __name__ == "__main__":
    main(sys.argv[1])
