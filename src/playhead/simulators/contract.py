"""Simulator: saving and restoring the state of an environment that nothing is wrapped around."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np


class Simulator(ABC):
    """An environment whose state can be saved and restored.

    From a state that was restored, the same actions lead to the same observations and pictures, bit for bit, after
    `warmup` steps. What is not in the state but in force, such as an action that may be repeated, is a *memory*: it
    cannot be read, only brought about, so that several may have to be tried.

    Args:
        env: The environment.

    Attributes:
        packages: The distributions whose versions decide what it does.
        warmup: Steps after a restore until what is seen is right: 0 where an observation follows from the state alone.
    """

    packages: tuple[str, ...] = ("gymnasium",)
    warmup = 0

    def __init__(self, env: Any) -> None:
        self.env = env

    @abstractmethod
    def save(self) -> Any:
        """Give the state as a tree of its own: numbers, texts, bytes and arrays in dicts and lists."""

    @abstractmethod
    def restore(self, state: Any) -> None:
        """Go back to a state that `save` gave."""

    def shortened(self, state: Any, base: Any) -> Any:  # noqa: ARG002
        """Tell a state by an earlier one, where that is shorter; None where it is not."""
        return None

    def whole(self, short: Any, base: Any) -> Any:  # noqa: ARG002
        """Give the state that `shortened` told."""
        return short

    def skip(self, action: Any) -> None:
        """Take an action, where nobody looks at what comes of it."""
        self.env.step(action)

    def memories(self, before: Iterable[Any]) -> Iterator[Any]:  # noqa: ARG002
        """Give what may have been in force at a state, the likeliest first.

        Args:
            before: The actions that led there, the newest first; none where the environment was just reset.
        """
        yield None

    def settle(self, memory: Any, *, surely: bool) -> None:  # noqa: B027  most have no memory
        """Bring a memory about, before a state is restored; the environment may do anything meanwhile.

        Args:
            memory: One of `memories`.
            surely: Spare no effort.
        """


def save_generator(env: Any) -> Any:
    """Give the state of an environment's random numbers; None where it has drawn none yet."""
    generator = vars(env).get("_np_random")
    return None if generator is None else _copied(generator.bit_generator.state)


def restore_generator(env: Any, state: Any) -> None:
    """Set the random numbers of an environment."""
    if state is not None:
        env.np_random.bit_generator.state = state


def _copied(state: Any) -> Any:
    if isinstance(state, dict):
        return {key: _copied(value) for key, value in state.items()}
    return state.copy() if isinstance(state, np.ndarray) else state
