"""Re-simulating with an environment of the caller's: for those that no file may name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playhead.errors import WrongType
from playhead.replay import ReplayEpisode, Resimulation


def resimulate(episode: ReplayEpisode, make: Callable[[], Any]) -> ReplayEpisode:
    """Let the frames of an episode, and of all that share its reel, be made by an environment of your own.

    An environment is made from a recording alone only where Gymnasium itself or ale-py registered it, and it was made
    with nothing but numbers and words. For others, say how:

        episode = resimulate(run.episodes[0], lambda: Maze(seed=3))
        frame, ns = episode["frame"][1000]

    Args:
        episode: One that was recorded with `frames="resimulate"`.
        make: Makes the environment, wrapped as it was when it was recorded; wrappers that only count may be left out.

    Returns:
        The same episode. One that is opened later, also by another process, has to be told again.

    Raises:
        WrongType: Its frames are stored.
    """
    reel = episode.reel
    if not reel.made:
        raise WrongType(f"all that was seen in {episode.id} is stored: there is nothing to make again")
    reel.makes = Resimulation(reel, make)
    return episode
