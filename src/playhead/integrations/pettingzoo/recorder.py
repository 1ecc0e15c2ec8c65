"""TroupeRecorder: what recorders of both kinds of environments share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from playhead.integrations.gymnasium.recorder import Run
from playhead.integrations.pettingzoo.troupe import Troupe
from playhead.lanes.arrays.config import ReplayConfig
from playhead.lanes.arrays.writer import ReelWriter


class TroupeRecorder(ABC):
    """Comes before a wrapper of PettingZoo among the parents of a recorder, and gives it a troupe.

    Args:
        env: The environment.
        run: What it is recorded into, as `store.run(...)` gives it.
        frames: `render`, None for no frames, or `auto`: what the environment renders, if it can.
        every: Only each so-manieth step of an episode has a frame; all else is recorded of every step.
        config: How the recording is compressed and flushed.
    """

    def __init__(
        self,
        env: Any,
        run: Run,
        *,
        frames: str | None = "auto",
        every: int = 1,
        config: ReplayConfig | None = None,
    ) -> None:
        super().__init__(env)  # type: ignore[call-arg]
        self._troupe = Troupe(env, run, frames, every, config)
        self._begin()

    @property
    def reel(self) -> ReelWriter | None:
        """What is recorded into; None before the first reset."""
        return self._troupe.reel

    def _begin(self) -> None:
        """Forget the episode before."""
        self._ended: dict[Any, tuple[Any, Any]] = {}
        self._finals: dict[Any, Any] = {}
        self._step = 0

    @abstractmethod
    def _finish(self, how: str) -> None:
        """Record what waits, and end the episode that is under way."""

    def close(self) -> None:
        """Complete the recording and close the environment. Closing twice is fine."""
        try:
            self._finish("closed")
            self._troupe.close()
            self._troupe.check()
        finally:
            super().close()  # type: ignore[misc]
