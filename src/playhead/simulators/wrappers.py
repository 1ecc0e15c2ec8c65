"""Gymnasium's wrappers: which of them hold anything that what is seen depends on.

*Passive* ones change nothing that is seen, and are left out when something is made again. *Plain* ones have no memory.
Those that remember give what they hold, and say after how many steps it has been replaced. All others are refused:
nobody knows what they remember.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from playhead.simulators.offered import Offered, offers

PASSIVE = frozenset(
    (
        "Autoreset",
        "ClipReward",
        "NormalizeReward",
        "OrderEnforcing",
        "PassiveEnvChecker",
        "RecordEpisodeStatistics",
        "RecordVideo",
        "RenderCollection",
        "TimeLimit",
        "TransformReward",
    )
)
PLAIN = frozenset(
    (
        "ClipAction",
        "FilterObservation",
        "FlattenObservation",
        "GrayscaleObservation",
        "RescaleAction",
        "ReshapeObservation",
        "ResizeObservation",
    )
)


class Remembered(NamedTuple):
    """What a wrapper remembers.

    Attributes:
        few: Names of attributes that are saved with every state.
        all: Gives all that it holds, as a tree.
        put: Gives it back.
        warmup: From how many steps what it wraps needs, and the wrapper, to how many it takes until it holds only what
            came since.
    """

    few: tuple[str, ...]
    all: Callable[[Any], Any]
    put: Callable[[Any, Any], None]
    warmup: Callable[[Any, int], int]


def _put_buffers(wrapper: Any, held: Any) -> None:
    for buffer, content in zip(wrapper.obs_buffer, held, strict=True):
        buffer[...] = content


def _put_buffer(wrapper: Any, held: Any) -> None:
    wrapper._obs_buffer[...] = held


def _put_queue(wrapper: Any, held: Any) -> None:
    wrapper.obs_queue.clear()
    wrapper.obs_queue.extend(held)


MEMORIES = {
    # A step that ends the game before its last frame shows what is in the buffers from the step before.
    "AtariPreprocessing": Remembered(
        ("lives", "game_over"),
        lambda wrapper: [buffer.copy() for buffer in wrapper.obs_buffer],
        _put_buffers,
        lambda _, within: within + 1,
    ),
    "MaxAndSkipObservation": Remembered(
        (), lambda wrapper: wrapper._obs_buffer.copy(), _put_buffer, lambda _, within: within + 1
    ),
    "FrameStackObservation": Remembered(
        (),
        lambda wrapper: [np.array(frame) for frame in wrapper.obs_queue],
        _put_queue,
        lambda wrapper, within: within + wrapper.stack_size - 1,
    ),
}


class Layer:
    """A wrapper that what is seen depends on.

    Args:
        wrapper: It; one that is known, or that saves itself.

    Attributes:
        name: Its class.
    """

    def __init__(self, wrapper: Any) -> None:
        self.wrapper = wrapper
        self.name = type(wrapper).__name__
        self._memory = MEMORIES.get(self.name) if is_gymnasiums(wrapper) else None
        self._offered = Offered(wrapper) if self._memory is None and offers(wrapper) else None

    def save(self) -> Any:
        """Give what is saved with every state."""
        if self._offered is not None:
            return self._offered.save()
        return [] if self._memory is None else [getattr(self.wrapper, name) for name in self._memory.few]

    def restore(self, state: Any) -> None:
        """Give it back."""
        if self._offered is not None:
            self._offered.restore(state)
        elif self._memory is not None:
            for name, value in zip(self._memory.few, state, strict=True):
                setattr(self.wrapper, name, value)

    def save_all(self) -> Any:
        """Give what would else be right only after some steps."""
        return None if self._memory is None else self._memory.all(self.wrapper)

    def restore_all(self, held: Any) -> None:
        """Give that back."""
        if self._memory is not None:
            self._memory.put(self.wrapper, held)

    def warmup(self, within: int) -> int:
        """Say after how many steps what it shows is right, where what it wraps is after `within`."""
        return within if self._memory is None else self._memory.warmup(self.wrapper, within)

    @property
    def arguments(self) -> dict[str, Any]:
        """What it was made with, as it remembers that."""
        kept = getattr(self.wrapper, "_saved_kwargs", None) or {}
        return dict(kept)


def is_gymnasiums(wrapper: Any) -> bool:
    """Tell whether a wrapper is one of Gymnasium's own, and no subclass."""
    return type(wrapper).__module__.startswith("gymnasium.wrappers")


def is_passive(wrapper: Any) -> bool:
    """Tell whether a wrapper changes nothing that is seen."""
    return is_gymnasiums(wrapper) and type(wrapper).__name__ in PASSIVE


def is_known(wrapper: Any) -> bool:
    """Tell whether what a wrapper remembers can be saved."""
    return offers(wrapper) or (is_gymnasiums(wrapper) and type(wrapper).__name__ in PLAIN | MEMORIES.keys())
