"""A stretch of an episode as MP4 or GIF, for a download."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from playhead import disk
from playhead.episode import Episode
from playhead.errors import OutOfRange
from playhead.export.film import Script, timing, to_film
from playhead.export.film.canvas import enlarged, factor_for
from playhead.export.film.pictures import RGB
from playhead.web.errors import Refused

# A minute or two of work on one core: nobody waits for ever, and nobody else for him.
MOST_PICTURES = {"mp4": 5400, "gif": 1500}
MOST_PIXELS = 1_500_000_000  # of all pictures together

_MOST_A_SECOND = 60  # pictures that a film shows


def write(
    episode: Episode,
    target: Path,
    *,
    signal: str | None,
    start_ns: int | None,
    stop_ns: int | None,
    label: str,
    hud: bool,
) -> None:
    """Write a film of what was between two times, both included.

    Args:
        episode: The episode.
        target: The file; its ending says which kind.
        signal: The pictures; without it, the first signal that has some.
        start_ns: The first time; None for the begin.
        stop_ns: The last time; None for the end.
        label: What to call the episode.
        hud: With step, time, reward and action below the pictures.

    Raises:
        Refused: It would be too long.
        OutOfRange: There is nothing between these times.
    """
    script = Script(episode, signal=signal, label=label)
    stamps = script.steps.stamps
    first = 0 if start_ns is None else int(np.searchsorted(stamps, start_ns))
    stop = None if stop_ns is None else int(np.searchsorted(stamps, stop_ns, "right"))
    if first >= len(stamps) or (stop is not None and stop <= first):
        raise OutOfRange("there is no step between these times")
    scenes = script.scenes(first, None if stop is None or stop >= len(stamps) else stop)
    _refuse_long(script, scenes, target)
    if hud:
        end = None if scenes.stop > len(stamps) else scenes.stop
        to_film(episode, target, signal=signal, first=first, stop=end, label=label)
    else:
        _write_bare(script, scenes, target)


def _refuse_long(script: Script, scenes: range, target: Path) -> None:
    pixels = script.pictures.height * script.pictures.width * factor_for(script.pictures.height) ** 2
    most = min(MOST_PICTURES[target.suffix.removeprefix(".")], max(1, MOST_PIXELS // pixels))
    seconds = float(script.times[scenes.stop] - script.times[scenes.start])
    pictures = min(len(scenes), int(seconds * _MOST_A_SECOND) + 1)
    if pictures > most:
        raise Refused(
            413,
            f"a film of {pictures} pictures takes too long; choose a range of at most {most}, "
            "or write it with: playhead replay --out",
        )


def _write_bare(script: Script, scenes: range, target: Path) -> None:
    """Write the pictures alone."""
    from playhead.export.film import gif, mp4

    is_movie = target.suffix == ".mp4"
    unit, least = (mp4.UNIT, mp4.LEAST) if is_movie else (gif.UNIT, gif.LEAST)
    times = script.times[scenes.start : scenes.stop + 1]
    chosen = timing.thinned(times[:-1], least)
    durations = timing.shown_for(times, chosen, float(times[-1]), unit)
    shown = [scenes[place] for place in chosen]
    height, width = _picture(script, shown[0]).shape[:2]
    draft = disk.Draft(target)
    try:
        sink: mp4.Mp4 | gif.Gif
        if is_movie:
            sink = mp4.Mp4(draft, width, height, len(shown) / (sum(durations) * unit))
        else:
            palette, is_exact = gif.palette_of(script.picture, shown)
            sink = gif.Gif(draft, (width, height), height, palette, is_exact)
        for scene, duration in zip(shown, durations, strict=True):
            sink.add(_picture(script, scene), duration)
        sink.finish()
        draft.commit()
    finally:
        draft.discard()


def _picture(script: Script, scene: int) -> RGB:
    """Give a picture enlarged, with even sides, as encoders want them."""
    picture = enlarged(script.picture(scene), factor_for(script.pictures.height))
    height, width = picture.shape[:2]
    if height % 2 or width % 2:
        picture = np.pad(picture, ((0, height % 2), (0, width % 2), (0, 0)), "edge")
    return np.ascontiguousarray(picture)
