"""Which episode is meant: one of a run, by number or id, or one of a dataset."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from playhead.cli.episode.source import find_episode
from playhead.cli.options import open_to_read
from playhead.cli.resolve import find_run
from playhead.errors import NotFound

if TYPE_CHECKING:
    from playhead.episode import Episode
    from playhead.run import Run
    from playhead.store import Store

_ID = re.compile(r".+-ep\d+")
_SHORT_ID = re.compile(r"ep\d+")
_NUMBER = re.compile(r"[-+]?\d+")
_LISTED = 8


class Found(NamedTuple):
    """An episode, and what to call it."""

    episode: Episode
    label: str | None


@contextmanager
def opened(given: str | None, run: str, episode: str | None) -> Iterator[Found]:
    """Give the episode that is meant, while its store is open.

    Args:
        given: The value of `--store`.
        run: `last`, the id of a run or its beginning, or an episode: an id, DATASET/INDEX, DATASET/UID or a path.
        episode: A number, an id or the beginning of a uid; None for the last one.

    Raises:
        NotFound: None is meant, or more than one; the message lists those there are.
    """
    if episode is None and "/" in run:
        found = find_episode(given, run)
        yield Found(found.open(), found.label)
        return
    with open_to_read(given) as store:
        if episode is None and _ID.fullmatch(run):
            yield Found(store.episode(run), run)
        else:
            chosen = _chosen(store, _run(store, run), episode)
            yield Found(chosen, chosen.uid)


def _run(store: Store, text: str) -> Run:
    try:
        return find_run(store, text)
    except NotFound:
        if text not in store.datasets:
            raise
        raise NotFound(
            f"{text} is a dataset, not a run; name an episode of it: {text}/0 is the first, {text}/-1 the last"
        ) from None


def _chosen(store: Store, run: Run, text: str | None) -> Episode:
    episodes = run.episodes
    if not len(episodes):
        raise NotFound(f"the run {run.id} has no episodes. See: playhead show {run.id}")
    if text is None:
        return _last(episodes)
    if _NUMBER.fullmatch(text):
        if not -len(episodes) <= int(text) < len(episodes):
            raise NotFound(f"no episode {text} in the run {run.id}; {_there_are(episodes)}")
        found: Episode = episodes[int(text)]
        return found
    return _by_id(store, run, episodes, text)


def _last(episodes: Sequence[Any]) -> Episode:
    """Give the newest episode that has a step: an environment is mostly reset once more before its run ends."""
    for index in range(len(episodes) - 1, max(-1, len(episodes) - 1 - _LISTED), -1):
        found: Episode = episodes[index]
        if any(map(len, found.signals.values())):
            return found
    last: Episode = episodes[-1]
    return last


def _by_id(store: Store, run: Run, episodes: Sequence[Any], text: str) -> Episode:
    uid = f"{run.id}-{text}" if _SHORT_ID.fullmatch(text) else text
    if _ID.fullmatch(uid):
        try:
            found = store.episode(uid)
        except NotFound:
            pass  # said below, with what this run has
        else:
            if found.run_id != run.id:
                raise NotFound(f"the episode {uid} is not of the run {run.id}. Run: playhead replay {uid}")
            return found
    fitting = [one for one in episodes if (one.uid or "").startswith(text)] if run.datasets else []
    if len(fitting) > 1:
        shown = ", ".join(str(one.uid) for one in fitting[:_LISTED]) + (" …" if len(fitting) > _LISTED else "")
        raise NotFound(f"{text!r} is the beginning of more than one uid: {shown}. Write more of it")
    if not fitting:
        raise NotFound(f"no episode {text!r} in the run {run.id}; {_there_are(episodes)}")
    only: Episode = fitting[0]
    return only


def _there_are(episodes: Sequence[Any]) -> str:
    count = len(episodes)
    ids = [str(episodes[index].uid) for index in {0, count - 1}]
    listed = ids[0] if count == 1 else f"{ids[0]} to {ids[-1]}"
    return f"there are {count:,}, from 0 to {count - 1}: {listed}" if count > 1 else f"there is one, 0: {listed}"
