"""Timeline: the steps of several episodes, one behind the other, as one line that a slider can move along."""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import NamedTuple

from playhead.episode import Episode
from playhead.errors import OutOfRange
from playhead.export.film import Script
from playhead.export.film.figures import Figure
from playhead.export.film.pictures import RGB
from playhead.replays import ReplayEpisodes
from playhead.run import Run

_OPEN = 4  # episodes that are kept open


class Scene(NamedTuple):
    """What is shown at one place.

    Attributes:
        title: The episode.
        picture: The picture.
        figures: What is known: step, time, reward.
        remark: How the episode ended, or why the picture is not of this step.
        name: What a file of the picture is called.
    """

    title: str
    picture: RGB
    figures: list[Figure]
    remark: str
    name: str


class Timeline:
    """Shows episodes as one line of scenes.

    Args:
        lengths: How many scenes each episode has.
        open_episode: Opens one by its place.
        signal: The pictures; without it, those that an episode shows by itself.
        fps: Steps a second; without it, as recorded.
    """

    def __init__(
        self,
        lengths: Sequence[int],
        open_episode: Callable[[int], Episode],
        *,
        signal: str | None = None,
        fps: float | None = None,
    ) -> None:
        self._open_episode, self._signal, self._fps = open_episode, signal, fps
        self.lengths = list(lengths)
        self.starts = [0, *accumulate(self.lengths)]
        self._scripts: OrderedDict[int, Script] = OrderedDict()

    @classmethod
    def of_nothing(cls) -> Timeline:
        """Make the line of a run of which nothing is recorded."""
        return cls([], _refuse)

    @classmethod
    def of_episode(
        cls, episode: Episode, *, signal: str | None = None, fps: float | None = None, label: str | None = None
    ) -> Timeline:
        """Make the line of one episode."""
        script = Script(episode, signal=signal, fps=fps, label=label)
        found = cls([len(script)], lambda _: episode, signal=signal, fps=fps)
        found._scripts[0] = script
        return found

    @classmethod
    def of_run(cls, run: Run, *, signal: str | None = None, fps: float | None = None) -> Timeline:
        """Make the line of all episodes of a run, as far as they are recorded."""
        episodes = run.episodes
        lengths = episodes.lengths if isinstance(episodes, ReplayEpisodes) else [_length(one) for one in episodes]
        return cls(lengths, lambda number: episodes[number], signal=signal, fps=fps)

    def __len__(self) -> int:
        return self.starts[-1]

    @property
    def boundaries(self) -> list[int]:
        """Where episodes begin, but for the first."""
        return [start for start, length in zip(self.starts, self.lengths, strict=False) if start and length]

    def _found(self, place: int) -> tuple[Script, int]:
        number = bisect_right(self.starts, place) - 1
        if number not in self._scripts:
            episode = self._open_episode(number)
            self._scripts[number] = Script(episode, signal=self._signal, fps=self._fps)
            while len(self._scripts) > _OPEN:
                self._scripts.popitem(last=False)
        self._scripts.move_to_end(number)
        return self._scripts[number], place - self.starts[number]

    def scene(self, place: int) -> Scene:
        """Give what is shown at a place."""
        script, scene = self._found(place)
        scene = min(scene, len(script) - 1)
        remark = script.ending(scene) or script.remark(scene)
        name = f"{script.name}-step{scene:06}"
        return Scene(script.title, script.picture(scene), script.figures(scene), remark, name)

    def prepare(self, place: int) -> None:
        """Read ahead."""
        script, scene = self._found(place)
        script.prepare(min(scene, len(script) - 1))

    def seconds_after(self, place: int) -> float:
        """Give how long a scene is shown at the speed of the recording."""
        script, scene = self._found(place)
        scene = min(scene, len(script) - 1)
        return float(script.times[scene + 1] - script.times[scene])


def _refuse(number: int) -> Episode:
    raise OutOfRange(f"no episode {number}: nothing is recorded")


def _length(episode: Episode) -> int:
    return max((len(signal) for signal in episode.signals.values()), default=0)
