"""Atari games: the state of the console and of its random numbers.

A state of the Arcade Learning Environment holds neither the screen, so that what is seen is right after one step, nor
the action that the joystick is in: with sticky actions, each frame repeats it with a probability. That action is nearly
always the last one, and the longer ago it was taken, the less likely. Nor does it hold the switch that a reset presses
on the console, which the first frame of an episode still sees.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any

from playhead.simulators import mersenne
from playhead.simulators.contract import Simulator, restore_generator, save_generator

_LIKELY, _SURE = 1e-3, 1e-12
_LOOKED_BACK = 64  # actions
_RESET = object()  # the game was reset, and nothing done since


class AtariGame(Simulator):
    """A game of ale-py."""

    packages = ("ale-py", "gymnasium")
    warmup = 1

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self._stickiness = float(env.ale.getFloat("repeat_action_probability"))

    def save(self) -> Any:
        """Give the state of the console, and of what chooses among frame skips."""
        return {"system": self.env.ale.cloneSystemState().serialize(), "random": save_generator(self.env)}

    def restore(self, state: Any) -> None:
        """Set the state of the console."""
        from ale_py import ALEState

        self.env.ale.restoreSystemState(ALEState(state["system"]))
        restore_generator(self.env, state["random"])

    def shortened(self, state: Any, base: Any) -> Any:
        """Tell the random numbers by those of an earlier state: they are most of what differs."""
        short = mersenne.shortened(state["system"], base["system"])
        return None if short is None else {**state, "system": short}

    def whole(self, short: Any, base: Any) -> Any:
        """Give the state that `shortened` told."""
        return {**short, "system": mersenne.whole(short["system"], base["system"])}

    def skip(self, action: Any) -> None:
        """Take an action without a look at the screen, where that is so simple."""
        skip = self.env._frameskip
        if self.env.continuous or not isinstance(skip, int):
            self.env.step(action)
            return
        act, joystick = self.env.ale.act, self.env._action_set[action]
        for _ in range(skip):
            act(joystick, 1.0)

    def memories(self, before: Iterable[Any]) -> Iterator[Any]:
        """Give the last actions, or a reset; then all other actions."""
        actions = islice(before, _LOOKED_BACK)
        last = list(islice(actions, 1))
        if not last:
            yield _RESET
        if not self._stickiness:
            yield None
            return
        count = getattr(self.env.action_space, "n", 0)
        tried: set[Any] = set()
        for action in chain(last, actions, range(int(count))):
            key = action.tobytes() if hasattr(action, "shape") and action.shape else int(action)
            if key not in tried:
                tried.add(key)
                yield action

    def settle(self, memory: Any, *, surely: bool) -> None:
        """Take an action until it is not repeated any more, but the one that is."""
        if memory is _RESET:
            self.env.reset()
        if memory is None or memory is _RESET:
            return
        skip = self.env._frameskip
        frames = math.log(_SURE if surely else _LIKELY) / math.log(min(self._stickiness, 0.999))
        for _ in range(math.ceil(frames / (skip if isinstance(skip, int) else skip[0]))):
            self.env.step(memory)
