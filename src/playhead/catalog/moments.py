"""Which episode of a run was under way at a moment, and at which step."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Connection

from playhead.catalog.database import driver_rows


class Played(NamedTuple):
    """An episode and the newest of its steps at a moment.

    Attributes:
        id: The id of what an agent played, or the uid of an episode in a dataset.
        dataset: The dataset; None for what an agent played.
        number: Its number in the reel or the dataset.
        began_ns: When it began.
        step: The place of the newest step; None in a dataset.
    """

    id: str
    dataset: str | None
    number: int
    began_ns: int
    step: int | None


_PLAYED = """
    SELECT e.id, e.number, e.began_ns, e.ended_ns, e.key FROM replay_episodes AS e JOIN reels ON reels.key = e.reel
    WHERE reels.run = ? AND e.began_ns <= ? ORDER BY e.began_ns DESC, e.key DESC LIMIT 1"""
_STEP = """
    SELECT max(place) FROM replay_steps WHERE episode = ? AND ts <= ?"""
_RECORDED = """
    SELECT uid, dataset, number, created_ns FROM episode_folders
    WHERE run_id = ? AND created_ns <= ? AND created_ns + coalesce(duration_ns, 0) >= ? AND uid IS NOT NULL
    ORDER BY created_ns DESC LIMIT 1"""


def episode_at(connection: Connection, run: int, run_id: str, stamp: int) -> Played | None:
    """Find the episode of a run at a moment: one that was under way, else the one that an agent played before.

    Args:
        connection: To the catalogue.
        run: The key of the run.
        run_id: Its id.
        stamp: The moment.
    """
    played = driver_rows(connection, _PLAYED, (run, stamp))
    if played and (played[0][3] is None or played[0][3] >= stamp):
        return _at_step(connection, played[0], stamp)
    recorded = driver_rows(connection, _RECORDED, (run_id, stamp, stamp))
    if recorded:
        uid, dataset, number, began_ns = recorded[0]
        return Played(uid, dataset, number, began_ns, None)
    return _at_step(connection, played[0], stamp) if played else None


def _at_step(connection: Connection, found: tuple[str, int, int, int | None, int], stamp: int) -> Played:
    episode_id, number, began_ns, _, key = found
    place = driver_rows(connection, _STEP, (key, stamp - began_ns))[0][0]
    return Played(episode_id, None, number, began_ns, 0 if place is None else place)
