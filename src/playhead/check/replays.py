"""The check of episodes that agents played: all that is stored is read, and all that is not is made again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from playhead.check.finding import DAMAGE, WARNING, Finding
from playhead.errors import Damaged, Diverged, MissingExtra, WrongType
from playhead.replay import ReplayEpisode, Resimulation

_BLOCK = 256


def verify_replay(episode: ReplayEpisode) -> list[Finding]:
    """Check an episode of a replay.

    Frames that were not stored are made again from each state to the next, and compared with what was noted of them
    when they were seen. Where something differs, the first such step is told.

    Args:
        episode: The episode.

    Returns:
        What was found; empty where all is well.
    """
    return list(_findings(episode))


def _findings(episode: ReplayEpisode) -> Iterator[Finding]:
    reel, path = episode.reel, Path(episode.reel.files.file)
    start = int(episode.meta["first_row"])
    try:
        reel.infos(start, start + episode.length)
        for name in reel.kinds:
            if reel.same.get(name, name) not in reel.made:
                for low in range(start, start + episode.length, _BLOCK):
                    reel.read(name, low, min(low + _BLOCK, start + episode.length))
    except Damaged as error:
        yield Finding(DAMAGE, path, str(error))
    if not reel.made:
        return
    try:
        Resimulation.of(reel).verify(episode.span)
    except Diverged as error:
        yield Finding(DAMAGE, path, str(error), "frame")
    except Damaged as error:
        yield Finding(DAMAGE, path, str(error))
    except (WrongType, MissingExtra) as error:
        yield Finding(WARNING, path, f"what is not stored of {episode.id} cannot be checked: {error}")
