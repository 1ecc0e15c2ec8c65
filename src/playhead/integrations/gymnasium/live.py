"""What a recorder shows while it records, to anybody on this machine who looks: `playhead live`.

Watching must not end a training: where nothing can be published any more, a warning says so, and recording goes on.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from playhead.errors import PlayheadError
from playhead.integrations.gymnasium import frames as framing
from playhead.lanes.live.ring import check_machine
from playhead.live import LiveWriter

Note = Callable[[float, bool, int], bool]

_NOTHING = np.zeros((1, 1, 3), np.uint8)  # where there is no picture, so that the figures are seen at least


class Live:
    """Publishes what happens in an environment, or in the sub-environments of a vector environment as one grid.

    Args:
        env: The environment.
        space: Of the observations of one environment.
        is_stack: Observations are stacks, as the caller says, and so no images.

    Attributes:
        source: Where pictures come from: `observation`, `render`, or nowhere.
        note: Counts a step, and tells whether it is time for a frame, as `LiveWriter.note` does; None before `begin`.

    Raises:
        PlayheadError: This is not x86-64.
    """

    def __init__(self, env: Any, space: gymnasium.Space[Any], *, is_stack: bool) -> None:
        check_machine()
        can_peek = framing.collector_of(env) is not None
        self.source = framing.choose("auto", space, env.render_mode, is_stack=is_stack, can_peek=can_peek)
        within = env.unwrapped
        self._facts = {"env_id": type(within).__name__ if env.spec is None else env.spec.id}
        self._writer: LiveWriter | None = None
        self._is_off = False
        self.note: Note | None = None

    def begin(self, name: str) -> Note:
        """Begin to publish; give `note`.

        Args:
            name: What it is published as: the id of its reel.
        """
        if not self._is_off:
            try:
                self._writer = LiveWriter(name, facts=self._facts)
            except (PlayheadError, OSError) as error:
                self._end_with(error)
        self.note = _count_nothing if self._writer is None else self._writer.note
        return self.note

    def show(self, picture: Any) -> None:
        """Publish what is seen now: a picture, several in a list, or None where nothing is."""
        if self._writer is None:
            return
        try:
            self._writer.publish(_NOTHING if picture is None else picture)
        except (PlayheadError, OSError) as error:
            self._end_with(error)

    def _end_with(self, error: Exception) -> None:
        self._is_off = True
        self.close()
        warnings.warn(f"nothing is shown live any more: {error}", RuntimeWarning, stacklevel=5)

    def close(self) -> None:
        """End what is shown; the next step begins it again. Closing twice is fine."""
        self.note = None
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def _count_nothing(_reward: float, _ended: bool, _lane: int) -> bool:
    return False
