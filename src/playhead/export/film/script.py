"""An episode as it is shown: a picture and the figures of each step, one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from playhead.episode import Episode
from playhead.export.film import figures, timing
from playhead.export.film.figures import Figure
from playhead.export.film.pictures import RGB, Pictures, choose
from playhead.export.film.steps import Step, Steps


class Script:
    """What is shown of an episode.

    Each step is a scene; where the episode keeps what was seen after its last step, that is one more.

    Args:
        episode: The episode.
        signal: The pictures; without it `frame`, else the first signal that has some.
        fps: Steps a second; without it, as recorded.
        label: What to call the episode; its uid where it is None.

    Attributes:
        pictures: The pictures.
        steps: The steps.
        rate: Steps a second; None for the recorded times.
        times: The second at which each scene begins, and behind them the end of the last.
        title: What it is: environment, episode, seed.
        name: The episode, for the names of files.

    Raises:
        NotFound: There is no such signal.
        WrongType: It has no pictures.
        Empty: There are no pictures.
    """

    def __init__(
        self, episode: Episode, *, signal: str | None = None, fps: float | None = None, label: str | None = None
    ) -> None:
        self.pictures: Pictures = choose(episode, signal)
        self.steps = Steps(episode, self.pictures.timestamps)
        static = episode.static
        self._has_end = self.pictures.final is not None
        self.rate = timing.rate_of(self.steps.stamps, static, fps)
        self.times = timing.times_of(self.steps.stamps, self.rate, more=int(self._has_end))
        self.name = label or episode.uid or "episode"
        self.title = figures.title_of(static, self.name)
        self._how = figures.ending_of(episode.meta)
        self._writer = figures.Writer(self.steps)

    def __len__(self) -> int:
        return len(self.steps) + self._has_end

    def step(self, scene: int) -> Step:
        """Give the step of a scene; that of the last one for what was seen after it."""
        return self.steps[min(scene, len(self.steps) - 1)]

    def picture(self, scene: int) -> RGB:
        """Give the picture of a scene: the newest one at its time; black before the first."""
        place = self._place(scene)
        return self.pictures.blank() if place < 0 else self.pictures[place]

    def recorded(self, scene: int) -> Any:
        """Give the picture of a scene as it was recorded; None before the first."""
        place = self._place(scene)
        return None if place < 0 else self.pictures.raw(place)

    def prepare(self, scene: int) -> None:
        """Read the pictures ahead."""
        self.pictures.prepare(max(0, self._place(scene)))

    def figures(self, scene: int) -> list[Figure]:
        """Give what is known at a scene, as texts with their labels; after the last step, what came of it."""
        return self._writer.at(self.step(scene))

    def samples(self) -> list[list[Figure]]:
        """Give the figures of some scenes, among them the widest texts."""
        return self._writer.widest()

    def ending(self, scene: int) -> str:
        """Say how the episode ended, at its last scenes; nothing before."""
        step = self.step(scene)
        found = [name for name, flag in (("terminated", step.terminated), ("truncated", step.truncated)) if flag]
        if found:
            return " and ".join(found)
        return self._how if scene >= len(self.steps) - 1 else ""

    def remark(self, scene: int) -> str:
        """Say where the picture is not of the step itself."""
        if scene >= len(self.steps):
            return "after the last step"
        place, stamp = self._place(scene), int(self.steps.stamps[scene])
        if place < 0:
            return "no picture yet"
        # A camera has times of its own: then no picture is that of a step.
        taken = int(self.pictures.timestamps[place])
        of = int(np.searchsorted(self.steps.stamps, taken))
        is_of_step = of < len(self.steps) and self.steps.stamps[of] == taken
        return f"picture of step {of}" if is_of_step and taken != stamp else ""

    def scenes(self, first: int | None, stop: int | None) -> range:
        """Give the scenes of a part, as a slice would.

        Args:
            first: The first step; negative counts from the end.
            stop: The step before which it ends; without it, the end.

        Raises:
            OutOfRange: There is none.
        """
        chosen = self.steps.between(first, stop)
        return range(chosen.start, len(self) if stop is None else chosen.stop)

    def _place(self, scene: int) -> int:
        if scene >= len(self.steps):
            return len(self.pictures)
        return int(np.searchsorted(self.pictures.timestamps, self.steps.stamps[scene], "right")) - 1
