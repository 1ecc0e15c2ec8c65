"""Where frames come from, and how the newest one is kept until the step that it belongs to is recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from sys import getrefcount
from typing import Any
from weakref import getweakrefcount

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from playhead.errors import WrongShape, WrongType

OBSERVATION, RENDER, RESIMULATE = "observation", "render", "resimulate"
CHOICES = ("auto", RENDER, OBSERVATION, RESIMULATE, None)

Look = Callable[[], Any]

_RENDERED, _COLLECTED = "rgb_array", "rgb_array_list"
_SMALLEST = 16  # pixels a side of what is taken for an image without being asked
_COLOURS = (1, 3, 4)


def check_choice(frames: object, every: object) -> None:
    """See that a recorder was asked for something it can do.

    Raises:
        WrongType: It was not.
    """
    if frames not in CHOICES:
        raise WrongType(f"frames is 'auto', 'render', 'observation', 'resimulate' or None, not {frames!r}")
    if not isinstance(every, int) or isinstance(every, bool) or every < 1:
        raise WrongType(f"every is a whole number of steps from 1, not {every!r}")


def check_keyframes(frames: object, every: int, keyframe_every: object) -> None:
    """See that states can be saved as a recorder was asked to.

    Raises:
        WrongType: They cannot.
    """
    if not isinstance(keyframe_every, int) or isinstance(keyframe_every, bool) or keyframe_every < 1:
        raise WrongType(f"keyframe_every is a whole number of steps from 1, not {keyframe_every!r}")
    if frames == RESIMULATE and every != 1:
        raise WrongType(f"every={every} has no use where frames are re-simulated: none is stored. Leave it out")


def choose(
    frames: str | None, space: gymnasium.Space[Any], render_mode: str | None, *, is_stack: bool, can_peek: bool
) -> str | None:
    """Say where frames come from: `observation`, `render`, or nowhere.

    Args:
        frames: What was asked for.
        space: Of the observations.
        render_mode: Of the environment.
        is_stack: Observations are stacks, as the caller says, and so not images.
        can_peek: Frames that are collected for the caller can be seen without taking them from him.

    Raises:
        WrongType: What was asked for is not to be had.
    """
    if frames == OBSERVATION and (is_stack or not is_image(space, smallest=1)):
        raise WrongType(
            f"frames='observation' needs observations that are images, height × width (× 1, 3 or 4), of uint8; "
            f"this environment gives {space}. Pass frames='render', 'auto' or None"
        )
    if frames == RENDER and render_mode not in (_RENDERED, _COLLECTED):
        raise WrongType(
            f"frames='render' needs an environment made with render_mode='rgb_array'; this one has {render_mode!r}"
        )
    if frames not in ("auto", RESIMULATE):
        return frames
    if not is_stack and is_image(space):
        return OBSERVATION
    return RENDER if render_mode == _RENDERED or (render_mode == _COLLECTED and can_peek) else None


def is_image(space: gymnasium.Space[Any], *, smallest: int = _SMALLEST) -> bool:
    """Tell whether values of a space are images."""
    if not isinstance(space, spaces.Box) or space.dtype != np.uint8 or len(space.shape) not in (2, 3):
        return False
    return min(space.shape[:2]) >= smallest and (len(space.shape) == 2 or space.shape[2] in _COLOURS)


def wrappers_of(env: Any) -> Iterator[Any]:
    """Walk over an environment and all that it wraps, from the outside."""
    yield env
    while isinstance(env, gymnasium.Wrapper):
        env = env.env
        yield env


def look_at(env: gymnasium.Env[Any, Any]) -> Look:
    """Give what renders an environment.

    Frames that a wrapper collects for the caller are looked at there, since rendering would take them from him.
    """
    if env.render_mode != _COLLECTED:
        return env.render
    collector = collector_of(env)
    if collector is None:
        return lambda: newest(env.render())
    return lambda: collector.frame_list[-1]


def collector_of(env: Any) -> Any:
    """Find the wrapper that collects frames for the caller; None where there is none."""
    return next((one for one in wrappers_of(env) if "frame_list" in vars(one)), None)


def newest(rendered: Any) -> Any:
    """Give the newest of frames that were collected, or the one there is."""
    return (rendered[-1] if rendered else None) if isinstance(rendered, list) else rendered


def _count(holder: tuple[Any, ...]) -> int:
    return getrefcount(holder[0])


def _count_base(array: NDArray[Any]) -> int:
    return getrefcount(array.base)


def _count_object(view: memoryview) -> int:
    return getrefcount(view.obj)


# What is counted where nobody else holds it.
_LONE = _count((np.empty(1),))
_LONE_BASE = _count_base(np.empty((1, 1))[0])
_LONE_OBJECT = _count_object(memoryview(bytearray(1)))


class Pictures:
    """Takes rendered frames: as they are where nobody else holds their memory, not even weakly, else as copies.

    Args:
        env: What renders. The Atari environments give frames that own their memory, although NumPy does not know it.
    """

    def __init__(self, env: Any) -> None:
        self._is_atari = type(env.unwrapped).__module__.partition(".")[0] == "ale_py"
        self._shape: tuple[int, ...] | None = None
        self._dtype: np.dtype[Any] = np.dtype(np.uint8)

    def keep(self, holder: tuple[Any, ...]) -> NDArray[Any]:
        """Take the next frame.

        Args:
            holder: A tuple made for this, with the frame as its only item.

        Raises:
            WrongType: The environment gave no image.
            WrongShape: It is not like those before.
        """
        is_alone = getrefcount(holder[0]) == _LONE and not getweakrefcount(holder[0])
        frame: Any = holder[0]
        if type(frame) is np.ndarray and frame.dtype is self._dtype and frame.shape == self._shape:
            if is_alone and not getweakrefcount(holder[0].base):
                base_count = getrefcount(holder[0].base)
                if base_count == _LONE_BASE and type(holder[0].base) is memoryview:
                    if self._is_atari and getrefcount(holder[0].base.obj) == _LONE_OBJECT:
                        return frame
                elif frame.flags.owndata or (base_count == _LONE_BASE and self._owns_base(frame)):
                    return frame
        else:
            frame = self._fitting(frame)
        copied: NDArray[Any] = frame.copy()
        return copied

    @staticmethod
    def _owns_base(frame: NDArray[Any]) -> bool:
        base: Any = frame.base
        return type(base) is np.ndarray and base.base is None and base.flags.owndata

    def _fitting(self, frame: Any) -> NDArray[Any]:
        array = np.asarray(frame)
        if array.ndim not in (2, 3) or array.dtype.kind not in "buif":
            found = f"{type(frame).__name__} {array.dtype}{list(array.shape)}"
            raise WrongType(f"render() gave {found} where an image was expected; pass frames=None to do without")
        if self._shape is None:
            self._shape, self._dtype = array.shape, array.dtype
        if array.shape != self._shape or array.dtype != self._dtype:
            raise WrongShape(
                f"render() gave {array.dtype}{list(array.shape)} and before {self._dtype}{list(self._shape)}: "
                "frames of a run keep their size; record the rest into another run, or pass frames=None"
            )
        return array
