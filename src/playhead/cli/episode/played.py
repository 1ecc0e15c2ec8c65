"""Which episodes of agents are meant: one by its id, or all of a run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from playhead.cli.resolve import find_run
from playhead.errors import NotFound

if TYPE_CHECKING:
    from playhead.replay import ReplayEpisode
    from playhead.store import Store

_ID = re.compile(r".+-ep\d+")


def find(store: Store, text: str) -> list[ReplayEpisode]:
    """Give the episodes that a text means.

    Args:
        store: Where to look.
        text: The id of an episode, `last`, the id of a run or its beginning.

    Raises:
        NotFound: There are none.
    """
    from playhead.replay import ReplayEpisode

    if _ID.fullmatch(text):
        return [store.episode(text)]
    run = find_run(store, text)
    found = [episode for episode in run.episodes if isinstance(episode, ReplayEpisode)]
    if not found:
        raise NotFound(f"no agent played in the run {run.id}: it has no such episodes. See: playhead show {run.id}")
    return found
