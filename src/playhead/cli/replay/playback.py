"""Where a player is: the scene, the speed, whether it goes on. It knows no terminal and no clock."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SPEEDS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)


class Playback:
    """A place in an episode that moves with time.

    Args:
        times: The second at which each scene begins, and behind them the end of the last.
        scenes: Those that are played.
        now: The time, in seconds of any clock.
        speed: How many times as fast.
        loops: Begin again at the end.

    Attributes:
        scene: The one that is shown.
        speed: How many times as fast.
        loops: Whether it begins again at the end.
        is_paused: Whether it stands still.
    """

    def __init__(
        self, times: NDArray[np.float64], scenes: range, *, now: float, speed: float = 1.0, loops: bool = False
    ) -> None:
        self._times = times
        self._scenes = scenes
        self.scene = scenes.start
        self.speed = speed
        self.loops = loops
        self.is_paused = False
        self._since = now  # when the place was `_at` seconds
        self._at = float(times[scenes.start])

    @property
    def is_over(self) -> bool:
        """Whether the last scene has been shown to its end."""
        return self.is_paused and self._at >= self._end

    @property
    def share(self) -> float:
        """How much has been played, up to 1."""
        return (self.scene - self._scenes.start) / max(1, len(self._scenes) - 1)

    @property
    def _end(self) -> float:
        return float(self._times[self._scenes.stop])

    def advance(self, now: float) -> None:
        """Go on to what is to be shown at a time."""
        if self.is_paused:
            return
        start, end = float(self._times[self._scenes.start]), self._end
        at = self._at + (now - self._since) * self.speed
        if at >= end and self.loops:
            at = start + (at - start) % (end - start)
        self._since, self._at = now, min(at, end)
        self.is_paused = at >= end
        place = int(np.searchsorted(self._times, self._at, "right")) - 1
        self.scene = max(self._scenes.start, min(place, self._scenes.stop - 1))

    def until_next(self, now: float) -> float | None:
        """Give the seconds until the next scene; None while it stands still."""
        if self.is_paused:
            return None
        at = self._at + (now - self._since) * self.speed
        return max(0.0, (float(self._times[self.scene + 1]) - at) / self.speed)

    def toggle(self, now: float) -> None:
        """Stand still, or go on; at the end, begin again."""
        if self.is_over:
            self.seek(self._scenes.start, now)
        self.is_paused = not self.is_paused
        self._since = now

    def step(self, by: int, now: float) -> None:
        """Stand still at a scene before or after this one."""
        self.is_paused = True
        self.seek(self.scene + by, now)

    def seek(self, scene: int, now: float) -> None:
        """Go to a scene; past the ends, to the nearest."""
        self.scene = max(self._scenes.start, min(scene, self._scenes.stop - 1))
        self._since, self._at = now, float(self._times[self.scene])

    def seek_share(self, share: float, now: float) -> None:
        """Go to the scene that so much has been played of."""
        self.seek(self._scenes.start + round(share * (len(self._scenes) - 1)), now)

    def change_speed(self, up: bool) -> None:
        """Take the next speed."""
        others = [speed for speed in SPEEDS if (speed > self.speed if up else speed < self.speed)]
        if others:
            self.speed = others[0] if up else others[-1]
