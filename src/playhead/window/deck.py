"""Deck: what a window shows, and how the place in it moves. It knows no Qt and no clock."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from playhead.export.film.figures import Figure
from playhead.export.film.pictures import RGB
from playhead.window.timeline import Scene, Timeline

SPEEDS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)


class Shot(NamedTuple):
    """The newest moment of a program that runs now.

    Attributes:
        picture: The picture.
        figures: What is known of it.
        title: What it is.
    """

    picture: RGB
    figures: list[Figure]
    title: str


class Feed(Protocol):
    """What happens now."""

    def newest(self) -> Shot | None:
        """Give the newest moment; None where nothing was published yet."""

    def is_alive(self) -> bool:
        """Tell whether the program still runs."""


class Deck:
    """A place that moves along a recording, or stays with what happens now.

    Args:
        record: Gives the timeline as it is by now; asked again while something is recorded.
        feed: What happens now; None where nothing does.
        speed: How many times as fast as it was recorded.
        loops: Begin again at the end.

    Attributes:
        timeline: What is recorded.
        place: The place in it.
        is_live: What happens now is shown, and not the place.
        is_paused: The place, or the picture of now, stands still.
        speed: How many times as fast.
    """

    def __init__(
        self, record: Callable[[], Timeline], feed: Feed | None = None, *, speed: float = 1.0, loops: bool = False
    ) -> None:
        self._record, self._feed = record, feed
        self.timeline = record()
        self.is_live = feed is not None
        self.is_paused = False
        self.place = 0 if feed is None else max(0, len(self.timeline) - 1)
        self.speed, self.loops = speed, loops
        self._left = 0.0  # seconds until the next scene
        self._shot: Shot | None = None

    @property
    def can_be_live(self) -> bool:
        """Whether a program runs that can be watched."""
        return self._feed is not None and self._feed.is_alive()

    @property
    def is_over(self) -> bool:
        """Whether the last scene is shown, and nothing more will come."""
        return not self.is_live and self.place >= len(self.timeline) - 1

    def refresh(self) -> None:
        """Look at what was recorded since; a program that has ended leaves what it recorded."""
        if self._feed is None:
            return
        self.timeline = self._record()
        if self.is_live and not self.can_be_live:
            self.is_live, self._shot = False, None
            self.place = max(0, len(self.timeline) - 1)

    def advance(self, seconds: float) -> bool:
        """Let time pass; tell whether there is something new to show."""
        if self.is_live:
            return not self.is_paused and self._look()
        if self.is_paused or not len(self.timeline):
            return False
        moved = False
        self._left -= seconds * self.speed
        while self._left <= 0:
            if self.place >= len(self.timeline) - 1:
                return self._at_end() or moved
            self.place, moved = self.place + 1, True
            self._left += max(1e-3, self.timeline.seconds_after(self.place))
        return moved

    def _look(self) -> bool:
        found = None if self._feed is None else self._feed.newest()
        if found is None:
            return False
        self._shot = found
        return True

    def _at_end(self) -> bool:
        self._left = 0.0
        if self.can_be_live:
            self.go_live()
        elif self.loops and len(self.timeline) > 1:
            self.seek(0)
        else:
            self.is_paused = True
        return True

    def scene(self) -> Scene | None:
        """Give what is to be seen; None where there is nothing yet."""
        if self.is_live:
            shot = self._shot
            return None if shot is None else Scene(shot.title, shot.picture, shot.figures, "", "live")
        return self.timeline.scene(self.place) if len(self.timeline) else None

    # -- what a hand does -------------------------------------------------------------------------------------------

    def seek(self, place: int) -> None:
        """Go to a place of the recording; past the ends, to the nearest."""
        self.is_live = False
        self.place = max(0, min(place, len(self.timeline) - 1))
        self._left = self.timeline.seconds_after(self.place) if len(self.timeline) else 0.0

    def step(self, by: int) -> None:
        """Stand still at a scene before or after this one."""
        at = len(self.timeline) - 1 if self.is_live else self.place
        self.seek(at + by)
        self.is_paused = True

    def toggle(self) -> None:
        """Stand still, or go on; at the end of a recording, begin again."""
        if self.is_paused and self.is_over:
            self.seek(0)
        self.is_paused = not self.is_paused

    def go_live(self) -> None:
        """Show what happens now, where something does."""
        if self.can_be_live:
            self.is_live, self.is_paused = True, False

    def change_speed(self, up: bool) -> None:
        """Take the next speed."""
        others = [speed for speed in SPEEDS if (speed > self.speed if up else speed < self.speed)]
        if others:
            self.speed = others[0] if up else others[-1]
