"""Steps and episodes of agents in the catalogue."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update
from sqlalchemy.dialects.sqlite import insert as upsert
from sqlalchemy.exc import IntegrityError

from playhead.catalog.database import driver_rows
from playhead.catalog.schema import info_shapes, reel_agents, reels, replay_episodes
from playhead.catalog.typed_rows import numbers_in, row_of, rows_of
from playhead.errors import OutOfOrder

_COLUMNS = ("episode", "agent", "step", "place", "action", "reward", "flags", "ts", "shape", "info")
_ROWS = 400  # a statement; see `points`
_INSERT = f"INSERT INTO replay_steps ({', '.join(_COLUMNS)}) VALUES "
_MARKS = f"({','.join('?' * len(_COLUMNS))})"
_INSERT_MANY = _INSERT + ",".join([_MARKS] * _ROWS)


class ReelRow(NamedTuple):
    """A reel, and how many of its steps are indexed."""

    key: int
    id: str
    run: int
    number: int
    steps: int


class EpisodeRow(NamedTuple):
    """An episode, as the catalogue holds it."""

    key: int
    reel: int
    number: int
    id: str
    first: int
    steps: int
    total_reward: float | None
    terminated: bool
    truncated: bool
    how: str | None
    began_ns: int
    ended_ns: int | None


class Played(NamedTuple):
    """How much agents played."""

    reels: int
    episodes: int
    steps: int


@dataclass(frozen=True, slots=True)
class EpisodeFigures:
    """What is put in of an episode."""

    reel: int
    number: int
    id: str
    first: int
    steps: int
    total_reward: float | None
    terminated: bool
    truncated: bool
    how: str | None
    began_ns: int
    ended_ns: int | None
    facts: str


_REEL = select(*(reels.c[name] for name in ReelRow._fields))
_EPISODE = select(*(replay_episodes.c[name] for name in EpisodeRow._fields))
# Built once: SQLAlchemy's cost lies in building statements, hardly in running them.
_WITH_REEL = select(reels.c.id, *(replay_episodes.c[name] for name in EpisodeRow._fields)).join(
    replay_episodes, replay_episodes.c.reel == reels.c.key
)
_OF_RUN = _WITH_REEL.where(reels.c.run == bindparam("of_run")).order_by(
    replay_episodes.c.began_ns, replay_episodes.c.key
)
_BY_ID = _WITH_REEL.where(replay_episodes.c.id == bindparam("of_id"))


def put_reel(connection: Connection, run: int, reel_id: str, number: int, facts: str) -> ReelRow:
    """Give the row of a reel, made if it is missing."""
    found = reel(connection, reel_id)
    if found is None:
        connection.execute(insert(reels), {"id": reel_id, "run": run, "number": number, "facts": facts})
        found = reel(connection, reel_id)
        assert found is not None
    return found


def reel(connection: Connection, reel_id: str) -> ReelRow | None:
    """Find a reel."""
    row = connection.execute(_REEL.where(reels.c.id == reel_id)).first()
    return None if row is None else row_of(ReelRow, row)


def reels_of(connection: Connection, run: int) -> list[ReelRow]:
    """List the reels of a run."""
    query = _REEL.where(reels.c.run == run).order_by(reels.c.number)
    return rows_of(ReelRow, connection.execute(query))


def set_facts(connection: Connection, key: int, steps: int, facts: str) -> None:
    """Note how many steps of a reel are indexed, and what does not change in it."""
    connection.execute(update(reels).where(reels.c.key == key).values(steps=steps, facts=facts))


def look_of_reel(connection: Connection, reel_id: str) -> tuple[Any, ...] | None:
    """Return all that the catalogue says of a reel but for its steps; None if it knows none."""
    found = driver_rows(connection, "SELECT key, steps, facts FROM reels WHERE id = ?", (reel_id,))
    if not found:
        return None
    key, steps, facts = found[0]
    numbers_in([(key, steps)])
    episodes = driver_rows(
        connection, "SELECT number, first, steps, how, ended_ns FROM replay_episodes WHERE reel = ? ORDER BY 1", (key,)
    )
    agents = driver_rows(connection, "SELECT name FROM reel_agents WHERE reel = ? ORDER BY agent", (key,))
    return steps, facts, list(episodes), [name for (name,) in agents]


def put_agents(connection: Connection, key: int, names: Sequence[str]) -> None:
    """Note the agents of a reel."""
    if names:
        rows = [{"reel": key, "agent": agent, "name": name} for agent, name in enumerate(names)]
        connection.execute(insert(reel_agents).prefix_with("OR IGNORE"), rows)


_PUT = upsert(replay_episodes)
_PUT = _PUT.on_conflict_do_update(
    index_elements=["reel", "number"],
    set_={name: _PUT.excluded[name] for name in EpisodeFigures.__slots__ if name not in ("reel", "number")},
)


def put_episodes(connection: Connection, found: Iterable[EpisodeFigures]) -> None:
    """Add episodes, or bring their rows up to date."""
    rows = [asdict(figures) for figures in found]
    if rows:
        connection.execute(_PUT, rows)


def episode_keys(connection: Connection, key: int, first: int) -> dict[int, int]:
    """Give the keys of the episodes of a reel from a number on."""
    query = select(replay_episodes.c.number, replay_episodes.c.key).where(
        replay_episodes.c.reel == key, replay_episodes.c.number >= first
    )
    return {row.number: row.key for row in connection.execute(query)}


def last_episode(connection: Connection, key: int) -> EpisodeRow | None:
    """Give the newest episode of a reel."""
    query = _EPISODE.where(replay_episodes.c.reel == key).order_by(replay_episodes.c.number.desc()).limit(1)
    row = connection.execute(query).first()
    return None if row is None else row_of(EpisodeRow, row)


def add_steps(connection: Connection, columns: Sequence[Sequence[Any]]) -> None:
    """Insert steps, given as all columns of them, in order.

    Raises:
        OutOfOrder: Two steps of an agent have one number.
    """
    width, count = len(_COLUMNS), len(columns[0])
    flat: list[Any] = [None] * (width * count)  # and no tuple for each step: thousands wake the garbage collector
    for place, column in enumerate(columns):
        flat[place::width] = column
    for start in range(0, count, _ROWS):
        batch = tuple(flat[start * width : (start + _ROWS) * width])
        statement = _INSERT_MANY if start + _ROWS <= count else _INSERT + ",".join([_MARKS] * (count - start))
        try:
            connection.exec_driver_sql(statement, batch)
        except IntegrityError as error:
            raise OutOfOrder(f"two steps of an episode that have the same number: {error.orig}") from error


def shape_key(connection: Connection, names: str) -> int:
    """Give the key of the names of an info, made if they are new."""
    query = select(info_shapes.c.key).where(info_shapes.c.names == names)
    found = connection.execute(query).scalar()
    if found is None:
        connection.execute(upsert(info_shapes).on_conflict_do_nothing(), {"names": names})
        found = connection.execute(query).scalar_one()
    return int(found)


def episodes_of(connection: Connection, run: int) -> list[tuple[str, EpisodeRow]]:
    """List the episodes of a run with the ids of their reels, in order of their begin."""
    return [(str(row[0]), row_of(EpisodeRow, row[1:])) for row in connection.execute(_OF_RUN, {"of_run": run})]


def episode(connection: Connection, episode_id: str) -> tuple[str, EpisodeRow] | None:
    """Find an episode by its id, with the id of its reel."""
    row = connection.execute(_BY_ID, {"of_id": episode_id}).first()
    return None if row is None else (str(row[0]), row_of(EpisodeRow, row[1:]))


def like_episode(connection: Connection, prefix: str, limit: int = 10) -> list[str]:
    """List ids of episodes that begin with a text."""
    condition = func.substr(replay_episodes.c.id, 1, len(prefix)) == prefix
    return list(connection.execute(select(replay_episodes.c.id).where(condition).limit(limit)).scalars())


def counts(connection: Connection) -> dict[str, int]:
    """Count what there is."""
    found = connection.execute(
        select(func.count(), func.coalesce(func.sum(replay_episodes.c.steps), 0)).select_from(replay_episodes)
    ).one()
    return {"replay_episodes": found[0], "steps": found[1]}


def played(connection: Connection, run: int) -> Played:
    """Count what agents played in a run."""
    of_run = reels.c.run == run
    count = select(func.count()).select_from(replay_episodes).join(reels, reels.c.key == replay_episodes.c.reel)
    environments, steps = connection.execute(
        select(func.count(), func.coalesce(func.sum(reels.c.steps), 0)).where(of_run)
    ).one()
    return Played(environments, connection.execute(count.where(of_run)).scalar_one(), steps)


# -- steps as the view spells them ------------------------------------------------------------------------------------

VIEW_COLUMNS = (
    "episode_id",
    "step_index",
    "action",
    "reward",
    "terminated",
    "truncated",
    "frame_ref",
    "obs_ref",
    "info",
    "timestamp",
    "agent_id",
    "run_id",
    "ts_ns",
)
_SELECT = f"SELECT {', '.join(VIEW_COLUMNS)} FROM steps "


def steps_of(connection: Connection, episode_id: str) -> list[tuple[Any, ...]]:
    """Give the steps of an episode in the order in which they were recorded."""
    return list(driver_rows(connection, _SELECT + "WHERE episode_id = ? ORDER BY row", (episode_id,)))


def step_at(connection: Connection, reel_id: str, row: int) -> tuple[Any, ...] | None:
    """Give the step at a position of a reel: the episode is found first, by its index."""
    query = (
        select(replay_episodes.c.id)
        .join(reels, reels.c.key == replay_episodes.c.reel)
        .where(reels.c.id == reel_id, replay_episodes.c.first <= row)
        .order_by(replay_episodes.c.first.desc())
        .limit(1)
    )
    found = connection.execute(query).scalar()
    if found is None:
        return None
    rows = driver_rows(connection, _SELECT + "WHERE episode_id = ? AND row = ?", (found, row))
    return tuple(rows[0]) if rows else None


def recent_steps(connection: Connection, run: int, count: int) -> list[tuple[Any, ...]]:
    """Give the newest steps of a run, oldest first; in each reel episodes are walked from the newest back."""
    found: list[tuple[Any, ...]] = []
    for known in reels_of(connection, run):
        query = _EPISODE.where(replay_episodes.c.reel == known.key).order_by(replay_episodes.c.number.desc())
        missing = count
        for row in connection.execute(query):
            newest = _SELECT + "WHERE episode_id = ? ORDER BY row DESC LIMIT ?"
            found += driver_rows(connection, newest, (row.id, missing))
            missing -= row.steps
            if missing <= 0:
                break
    return sorted(found, key=lambda step: step[-1])[-count:] if count else []


def remove(connection: Connection, run: int) -> None:
    """Forget the reels of a run."""
    connection.execute(delete(reels).where(reels.c.run == run))
