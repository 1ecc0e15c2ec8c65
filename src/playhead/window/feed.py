"""What a run publishes now, as the terminal and the window show it."""

from __future__ import annotations

import numpy as np

from playhead.export.film.figures import BAD, GOOD, PLAIN, Figure, number, one_line
from playhead.export.film.pictures import RGB
from playhead.live import ENDED, LiveFrame, LiveReader
from playhead.window.deck import Shot


class LiveFeed:
    """Follows a run that publishes its frames.

    Args:
        reader: Reads them.
    """

    def __init__(self, reader: LiveReader) -> None:
        self._reader = reader
        self._number = 0

    def newest(self) -> Shot | None:
        """Give the newest moment; None where there is none that was not given before."""
        found = self._reader.latest()
        if found is None or found.number == self._number:
            return None
        self._number = found.number
        return Shot(picture_of(found), figures_of(found), f"{title_of(self._reader.run_id, found)} · live")

    def is_alive(self) -> bool:
        """Tell whether somebody still publishes."""
        return self._reader.state != ENDED


def title_of(run_id: str, found: LiveFrame | None) -> str:
    """Say what is shown: its environment and its run."""
    env_id = None if found is None else found.metadata.facts.get("env_id")
    return " · ".join(one_line(str(part)) for part in (env_id, run_id) if part)


def figures_of(found: LiveFrame) -> list[Figure]:
    """Give what is known beside a frame."""
    reward, rolling, rate = found.figures
    tone = GOOD if reward > 0 else BAD if reward < 0 else PLAIN
    about = found.metadata
    known = [
        ("return", about.episode_return),
        ("rolling", rolling),
        ("steps/s", round(rate) if rate >= 10 else rate),
        ("episode", about.episode),
        ("step", about.step),
    ]
    figures = [Figure(label, number(value)) for label, value in known if value is not None]
    return [Figure("reward", number(reward, signed=True), tone), *figures]


def picture_of(found: LiveFrame) -> RGB:
    """Give a frame in three colours."""
    picture = found.picture
    return np.repeat(picture, 3, axis=2) if picture.shape[2] == 1 else np.ascontiguousarray(picture[..., :3])
