"""Observations that are stacks of the last frames: found, checked at each step, and stored as their newest frame."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from playhead.errors import WrongType
from playhead.integrations.gymnasium.cells import declared
from playhead.integrations.gymnasium.frames import wrappers_of
from playhead.integrations.gymnasium.spaces import OBSERVATIONS

Option = str | bool | int


def check_option(stack: object) -> None:
    """See that `stack` is one of what a recorder takes.

    Raises:
        WrongType: It is not.
    """
    if stack not in ("auto", False) and (not isinstance(stack, int) or stack is True or stack < 2):
        raise WrongType(f"stack is 'auto', False or the number of frames in an observation, from 2, not {stack!r}")


def can_be(space: Any, depth: int) -> bool:
    """Tell whether values of a space can be stacks of so many frames, the oldest first."""
    if not isinstance(space, spaces.Box) or len(space.shape) < 2 or np.dtype(space.dtype).itemsize > 8:
        return False
    return bool(space.shape[0] == depth > 1 and min(space.shape) > 0)


def depth_of(env: Any, observation: Any) -> int | None:
    """Find how many frames an observation is made of, from the wrapper that stacks them or the object that holds them.

    What stacks must have stacked just this: another wrapper above it may have changed it since.
    """
    held = getattr(observation, "_frames", None)
    if isinstance(held, (list, tuple)) and _is_stack_of(observation, held):
        return len(held)
    for wrapper in wrappers_of(env):
        queue = vars(wrapper).get("obs_queue")
        if queue is not None and _is_stack_of(observation, queue):
            return len(queue)
    return None


def _is_stack_of(observation: Any, frames: Any) -> bool:
    found = np.asarray(observation)
    if not frames or len(found.shape) < 2 or len(found) != len(frames):
        return False
    each = [np.asarray(frame) for frame in frames]
    return all(map(np.array_equal, each, found))


class Stack:
    """Holds an observation that is a stack, of which only the newest frame is recorded.

    Each must be the one before moved on by one frame, or it could not be put together again. Memory is compared with
    memory, which takes a microsecond for four frames of 84 × 84.

    Args:
        space: A Box of which the first axis counts frames, the oldest first.

    Attributes:
        depth: How many frames an observation is made of.
        names: The name of the array.
        plain: Its name, and the shape and type of observations.
        second: At which byte of an observation its second frame begins.
        kept: The last observation.
        later: What of it the next one begins with.
    """

    def __init__(self, space: spaces.Box) -> None:
        self._shape, self._dtype = space.shape, np.dtype(space.dtype)
        self.depth = space.shape[0]
        self.second = int(np.prod(space.shape[1:], dtype=np.int64)) * self._dtype.itemsize
        self._newest = (self.depth - 1) * self.second  # at which the last one does
        self.kept = b""
        self.later = memoryview(b"")
        self._is_first = True
        self.names = [OBSERVATIONS]
        self.plain = OBSERVATIONS, self._shape, self._dtype

    @property
    def prefixes(self) -> dict[str, NDArray[Any]]:
        """The frames of the last observation that come before its newest, by name."""
        return {OBSERVATIONS: np.frombuffer(self.kept, self._dtype).reshape(self._shape)[:-1]}

    def restart(self) -> None:
        """Hear that an episode begins: the next stack need not go on from the last."""
        self._is_first = True

    def goes_on(self, observation: Any) -> bool:
        """Tell whether an observation is the one before moved on by one frame."""
        return self._bytes_of(observation).startswith(self.later)

    def keep(self, observation: Any, into: dict[str, Any]) -> None:
        """Take the next observation, and put its newest frame into a dict by its name.

        Raises:
            WrongType: It is not a stack that goes on from the one before.
        """
        found = self._bytes_of(observation)
        if not self._is_first and not found.startswith(self.later):
            raise WrongType(
                f"an observation does not go on from the one before: observations were taken for stacks of "
                f"{self.depth} frames, of which only the newest is stored. Pass stack=False to store them whole"
            )
        self.kept, self.later = found, memoryview(found)[self.second :]
        self._is_first = False
        newest = bytearray(memoryview(found)[self._newest :])  # it waits, and must not keep the whole stack meanwhile
        into[OBSERVATIONS] = np.frombuffer(newest, self._dtype).reshape(self._shape[1:])

    def _bytes_of(self, observation: Any) -> bytes:
        if type(observation) is not np.ndarray or observation.dtype != self._dtype or observation.shape != self._shape:
            observation = declared(OBSERVATIONS, observation, self._shape, self._dtype)
        copied: bytes = observation.tobytes()
        return copied
