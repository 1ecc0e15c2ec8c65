"""An episode as a film: MP4 or GIF, with its figures in a band below the pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from playhead import disk
from playhead.episode import Episode
from playhead.errors import BadKey, BadName
from playhead.export.chosen import check_target, new_file
from playhead.export.film import timing
from playhead.export.film.canvas import Canvas
from playhead.export.film.pictures import RGB
from playhead.export.film.script import Script
from playhead.paths import GivenPath, as_path

__all__ = ["ENDINGS", "Script", "check_ending", "to_film"]

ENDINGS = ("mp4", "gif")

Progress = Callable[[Sequence[int]], Iterable[int]]


class _Sink(Protocol):
    def add(self, picture: RGB, duration: int) -> None: ...
    def finish(self) -> None: ...


def to_film(
    episode: Episode,
    target: GivenPath,
    *,
    signal: str | None = None,
    fps: float | None = None,
    speed: float = 1.0,
    first: int | None = None,
    stop: int | None = None,
    scale: int | None = None,
    label: str | None = None,
    force: bool = False,
    watch: Progress | None = None,
) -> int:
    """Write an episode as a film: MP4 or GIF by the end of the name.

    A picture a step, at the times that were recorded; steps that follow each other faster than a film can show are left
    out. Below the pictures are the step, its time, reward, return and action, and at the end how it ended.

    Args:
        episode: The episode.
        target: The file.
        signal: The pictures; without it `frame`, else the first signal that has some.
        fps: Steps a second; without it as recorded, and 30 where that is too fast to watch.
        speed: How many times as fast.
        first: The first step; negative counts from the end.
        stop: The step before which it ends.
        scale: Enlarge pictures by this factor; without it, small ones to about 480 pixels of height.
        label: What to call the episode; its uid where it is None.
        force: Replace the file where it is there.
        watch: Given the numbers of the pictures, walks over them; a place for a progress bar.

    Returns:
        How many pictures the film has.

    Raises:
        BadName: The name has another ending.
        BadKey: The rate, the speed or the scale is none.
        NotFound: There is no such signal.
        WrongType: It has no pictures.
        WrongShape: They are too large, or differ in size.
        Empty: There are no pictures.
        OutOfRange: There are no such steps.
        Exists: The file is there.
        MissingExtra: PyAV is not installed, which MP4 needs.
    """
    ending = check_ending(target)
    _check("fps", fps, 1000)
    _check("speed", speed, 1000)
    _check("scale", scale, 64)
    script = Script(episode, signal=signal, fps=fps, label=label)
    scenes = script.scenes(first, stop)
    times = script.times[scenes.start : scenes.stop + 1] / speed
    canvas = Canvas(script, scenes, scale)
    unit, least, begin = _kind(ending)
    path = check_target(target, force=force)
    chosen = timing.thinned(times[:-1], least)
    durations = timing.shown_for(times, chosen, float(times[-1]), unit)
    with new_file(path) as draft:
        sink = begin(draft, canvas, [scenes[place] for place in chosen], sum(durations) * unit)
        for number in (watch or iter)(range(len(chosen))):
            sink.add(canvas.draw(scenes[chosen[number]]), durations[number])
        sink.finish()
    return len(chosen)


def check_ending(target: GivenPath) -> str:
    """Give what kind of film a name asks for.

    Raises:
        BadName: None.
    """
    ending = as_path(target).suffix.lower().removeprefix(".")
    if ending not in ENDINGS:
        raise BadName(f"{target} does not say what to write: let it end with .mp4 or .gif")
    return ending


def _check(name: str, given: float | None, most: float) -> None:
    if given is not None and not 0 < given <= most:
        raise BadKey(f"{name} is a number above 0, up to {most:g}, not {given}")


def _kind(ending: str) -> tuple[float, float, Callable[[disk.Draft, Canvas, list[int], float], _Sink]]:
    if ending == "mp4":
        from playhead.export.film import mp4

        def movie(draft: disk.Draft, canvas: Canvas, scenes: list[int], seconds: float) -> _Sink:
            return mp4.Mp4(draft, canvas.width, canvas.height, len(scenes) / seconds)

        return mp4.UNIT, mp4.LEAST, movie
    from playhead.export.film import gif

    def animation(draft: disk.Draft, canvas: Canvas, scenes: list[int], _seconds: float) -> _Sink:
        palette, is_exact = gif.palette_of(canvas.picture, scenes)
        return gif.Gif(draft, (canvas.width, canvas.height), canvas.band, palette, is_exact)

    return gif.UNIT, gif.LEAST, animation
