"""Episodes as lists show them: what agents played and what lies in datasets, by the page, without opening any."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from sqlalchemy import Connection

from playhead import strictjson
from playhead.catalog.database import driver_rows
from playhead.catalog.typed_rows import row_of, rows_of
from playhead.errors import BadQuery


class Listed(NamedTuple):
    """One episode, of a reel or of a dataset; what the other kind has is None.

    Attributes:
        kind: `replay` or `dataset`.
        dataset: The dataset.
        id: The id of an episode of a reel, the uid of one in a dataset.
        number: Its place in the reel or the dataset.
        reel: The reel.
        run_id: The run that recorded it.
        first: Its first row in the reel.
        steps: How many steps it has.
        total_reward: The sum of its rewards.
        how: How it ended; None where it has not.
        finished: Whether it has an end, or is whole.
        created_ns: When it began.
        duration_ns: How long it took.
        signals: The lanes of its signals by name, as JSON.
        static: Its static items as JSON.
        first_frame: The first of its places that has a frame.
        last_frame: The last one.
    """

    kind: str
    dataset: str | None
    id: str
    number: int
    reel: str | None
    run_id: str | None
    first: int | None
    steps: int | None
    total_reward: float | None
    how: str | None
    finished: bool
    created_ns: int | None
    duration_ns: int | None
    signals: str | None
    static: str | None
    first_frame: int | None
    last_frame: int | None


class Return(NamedTuple):
    """What came of an episode."""

    id: str
    total_reward: float | None
    steps: int
    began_ns: int


_PLAYED = """
    SELECT 'replay' AS kind, NULL AS dataset, e.id AS id, e.number AS number, reels.id AS reel, runs.id AS run_id,
           e.first AS first, e.steps AS steps, e.total_reward AS total_reward, e.how AS how,
           e.how IS NOT NULL AS finished, e.began_ns AS created_ns, e.ended_ns - e.began_ns AS duration_ns,
           NULL AS signals, NULL AS static, e.key AS key
    FROM replay_episodes AS e JOIN reels ON reels.key = e.reel JOIN runs ON runs.key = reels.run"""
_RECORDED = """
    SELECT 'dataset' AS kind, dataset, uid AS id, number, NULL AS reel, run_id, NULL AS first, NULL AS steps,
           NULL AS total_reward, NULL AS how, finished, created_ns, duration_ns, signals, static, 0 AS key
    FROM episode_folders"""

# Only the first and last steps are looked at: where none of them has a frame, hardly any has.
_EDGE = 16
_PAGE = f"""
    SELECT kind, dataset, id, number, reel, run_id, first, steps, total_reward, how, finished, created_ns,
           coalesce(duration_ns,
                    (SELECT ts FROM replay_steps WHERE episode = p.key ORDER BY agent DESC, step DESC LIMIT 1)),
           signals, static,
           (SELECT place FROM (SELECT place, flags FROM replay_steps WHERE episode = p.key
                               ORDER BY agent, step LIMIT {_EDGE}) WHERE flags & 4 LIMIT 1),
           (SELECT place FROM (SELECT place, flags FROM replay_steps WHERE episode = p.key
                               ORDER BY agent DESC, step DESC LIMIT {_EDGE}) WHERE flags & 4 LIMIT 1)
    FROM ("""

_OF_DATASET = "dataset = ? AND uid IS NOT NULL AND uid NOT IN (SELECT value FROM json_each(?))"

_BEGAN = "created_ns"
ORDERS = {
    "began": _BEGAN,
    "number": "number",
    "steps": "steps",
    "return": "total_reward",
    "duration": "duration_ns",
}


def _order(text: str) -> str:
    """Give what a list is sorted by, such as `began` or `-return`.

    Raises:
        BadQuery: Episodes cannot be sorted so.
    """
    name = text.removeprefix("-")
    if name not in ORDERS:
        raise BadQuery(f"episodes cannot be sorted by {text!r}; there is: {', '.join(ORDERS)}, and '-' before each")
    direction = "DESC" if text.startswith("-") else "ASC"
    column = ORDERS[name]
    ties = [] if column == _BEGAN else [_BEGAN]
    return ", ".join([f"{column} {direction} NULLS LAST", *(f"{tie} {direction}" for tie in ties), "key", "number"])


def of_run(
    connection: Connection, run: int, run_id: str, *, order: str = "began", offset: int = 0, limit: int = 200
) -> list[Listed]:
    """List a page of the episodes that a run recorded, of both kinds.

    Args:
        connection: To the catalogue.
        run: The key of the run.
        run_id: Its id.
        order: What they are sorted by; see `ORDERS`.
        offset: How many to leave out.
        limit: How many at most.

    Raises:
        BadQuery: They cannot be sorted so.
    """
    both = f"{_PLAYED} WHERE reels.run = ? UNION ALL {_RECORDED} WHERE run_id = ? AND uid IS NOT NULL"
    sql = f"{_PAGE}{both} ORDER BY {_order(order)} LIMIT ? OFFSET ?) AS p"
    return [_listed(row) for row in driver_rows(connection, sql, (run, run_id, limit, offset))]


def count_of_run(connection: Connection, run: int, run_id: str) -> int:
    """Count the episodes that a run recorded."""
    sql = """
        SELECT (SELECT count(*) FROM replay_episodes AS e JOIN reels ON reels.key = e.reel WHERE reels.run = ?)
             + (SELECT count(*) FROM episode_folders WHERE run_id = ? AND uid IS NOT NULL)"""
    return int(driver_rows(connection, sql, (run, run_id))[0][0])


def of_dataset(
    connection: Connection, dataset: str, *, offset: int = 0, limit: int = 200, without: Iterable[str] = ()
) -> list[Listed]:
    """List a page of the episodes of a dataset, in order.

    Args:
        connection: To the catalogue.
        dataset: The dataset.
        offset: How many to leave out.
        limit: How many at most.
        without: The uids of those that are dropped.
    """
    sql = f"{_PAGE}{_RECORDED} WHERE {_OF_DATASET} ORDER BY number LIMIT ? OFFSET ?) AS p"
    return [_listed(row) for row in driver_rows(connection, sql, (dataset, _list(without), limit, offset))]


def count_of_dataset(connection: Connection, dataset: str, without: Iterable[str] = ()) -> int:
    """Count the episodes of a dataset that are not dropped."""
    sql = f"SELECT count(*) FROM episode_folders WHERE {_OF_DATASET}"
    return int(driver_rows(connection, sql, (dataset, _list(without)))[0][0])


def _list(names: Iterable[str]) -> str:
    return strictjson.encode(sorted(names)).decode()


def played(connection: Connection, episode_id: str) -> Listed | None:
    """Find an episode of a reel."""
    return next(
        (_listed(row) for row in driver_rows(connection, f"{_PAGE}{_PLAYED} WHERE e.id = ?) AS p", (episode_id,))), None
    )


def recorded(connection: Connection, dataset: str, uid: str) -> Listed | None:
    """Find an episode of a dataset."""
    sql = f"{_PAGE}{_RECORDED} WHERE dataset = ? AND uid = ?) AS p"
    return next((_listed(row) for row in driver_rows(connection, sql, (dataset, uid))), None)


def _listed(row: tuple[object, ...]) -> Listed:
    listed = row_of(Listed, row)
    return listed._replace(finished=bool(listed.finished))


def beside_played(connection: Connection, episode_id: str) -> tuple[str | None, str | None]:
    """Give the ids of the episodes before and after one of a reel, in the order in which the run began them."""
    found = []
    for sign, direction in (("<", "DESC"), (">", "ASC")):
        sql = f"""
            SELECT other.id FROM replay_episodes AS e JOIN reels AS mine ON mine.key = e.reel
            JOIN reels ON reels.run = mine.run JOIN replay_episodes AS other ON other.reel = reels.key
            WHERE e.id = ? AND (other.began_ns, other.key) {sign} (e.began_ns, e.key)
            ORDER BY other.began_ns {direction}, other.key {direction} LIMIT 1"""
        rows = driver_rows(connection, sql, (episode_id,))
        found.append(str(rows[0][0]) if rows else None)
    return found[0], found[1]


def beside_recorded(connection: Connection, dataset: str, number: int, most: int) -> tuple[list[str], list[str]]:
    """Give the uids of finished episodes before and behind a number of a dataset, the nearest first.

    Args:
        connection: To the catalogue.
        dataset: The dataset.
        number: The place of the episode.
        most: How many of each; some may have been dropped.
    """
    found = []
    for sign, direction in (("<", "DESC"), (">", "ASC")):
        sql = f"""
            SELECT uid FROM episode_folders WHERE dataset = ? AND number {sign} ? AND finished AND uid IS NOT NULL
            ORDER BY number {direction} LIMIT ?"""
        found.append([str(row[0]) for row in driver_rows(connection, sql, (dataset, number, most))])
    return found[0], found[1]


def returns_of(connection: Connection, run: int) -> list[Return]:
    """Give what came of each episode that agents played in a run, in order of their begin."""
    sql = """
        SELECT e.id, e.total_reward, e.steps, e.began_ns FROM replay_episodes AS e JOIN reels ON reels.key = e.reel
        WHERE reels.run = ? ORDER BY e.began_ns, e.key"""
    return rows_of(Return, driver_rows(connection, sql, (run,)))
