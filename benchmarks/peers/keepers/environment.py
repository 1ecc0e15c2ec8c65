"""The environment that programs record which keep steps: its reward is the action."""

from typing import Any

import gymnasium
import numpy as np

from benchmarks.peers.keepers.contract import EPISODE


class Environment(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(0, np.inf, (4,), np.float64)
    action_space = gymnasium.spaces.Box(0, np.inf, (1,), np.float64)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed, options=options)
        self._step = 0
        return np.zeros(4), {}

    def step(self, action: Any) -> Any:
        self._step += 1
        return np.full(4, float(self._step)), float(action[0]), self._step == EPISODE, False, {}
