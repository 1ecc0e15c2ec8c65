"""Screens: what an Atari game shows, taken as numbers of colours.

The emulator draws numbers. To render them as pixels takes a twentieth of a step, and three times the memory; the
background does that without the interpreter. What comes of it is what the environment renders: a number is only taken
once its colour was seen in a rendered frame, and each episode begins with a look at whether that still holds.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker
from numpy.typing import NDArray

from playhead.integrations.gymnasium.frames import Look, Pictures, wrappers_of
from playhead.native import library
from playhead.native.colours import Colours

# What wrappers do that render nothing themselves.
_PASSING = frozenset((gymnasium.Wrapper.render, OrderEnforcing.render, PassiveEnvChecker.render))


class Screens:
    """Takes what a game shows while an episode is under way.

    Args:
        env: A game of ale-py.
        look: Renders it.
        pictures: Keeps what was rendered.

    Attributes:
        colours: Those that were seen.
    """

    def __init__(self, env: Any, look: Look, pictures: Pictures) -> None:
        self.colours = Colours()
        self._env = env.unwrapped
        self._look, self._pictures = look, pictures
        self._numbers: Look = self._env.ale.getScreen
        self._can_be = True

    def begin(self, frame: NDArray[np.uint8]) -> bool:
        """Compare what was rendered just now with the numbers; tell whether `look` can be used.

        Args:
            frame: What the game shows.
        """
        self._numbers = self._env.ale.getScreen
        numbers, others = self._numbers(), self._numbers()
        self._can_be = (
            self._can_be
            and type(numbers) is np.ndarray
            and numbers.flags.carray
            and not np.may_share_memory(numbers, others)
            and self.colours.learn(numbers, frame)
        )
        return self._can_be

    def look(self) -> NDArray[np.uint8]:
        """Give what the game shows in numbers, or with a colour that is new, as it is rendered; nobody else has it."""
        numbers: NDArray[np.uint8] = self._numbers()
        if self._can_be and self.colours.know(numbers):
            return numbers
        frame = self._pictures.keep((self._look(),))
        self._can_be = self._can_be and self.colours.learn(numbers, frame)
        return frame


def screens_of(env: gymnasium.Env[Any, Any], look: Look, pictures: Pictures) -> Screens | None:
    """Give what takes the screens of an environment; None where it is no Atari game, or a wrapper changes them."""
    *wrappers, game = wrappers_of(env)
    kind = type(game)
    if library is None or (kind.__module__, kind.__qualname__) != ("ale_py.env", "AtariEnv"):
        return None
    is_plain = all(type(one).render in _PASSING for one in wrappers)
    if not is_plain or any("render" in vars(one) for one in (*wrappers, game)) or env.render_mode != "rgb_array":
        return None
    return Screens(env, look, pictures)
