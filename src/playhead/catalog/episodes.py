"""Episode folders in the catalogue: what lies in the datasets of the store."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass, fields
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, delete, func, select
from sqlalchemy.dialects.sqlite import insert

from playhead.catalog.schema import episode_folders
from playhead.catalog.typed_rows import row_of, rows_of


@dataclass(frozen=True, slots=True)
class EpisodeFacts:
    """What the folder of an episode says, as the catalogue holds it. One field a column."""

    dataset: str
    number: int
    uid: str | None
    run_id: str | None
    folder: str
    created_ns: int | None
    duration_ns: int | None
    finished: bool
    signals: str
    static: str


class Known(NamedTuple):
    """Where an episode is, and whether it was whole when it was looked at."""

    dataset: str
    number: int
    folder: str
    finished: bool
    uid: str | None = None


class Count(NamedTuple):
    """How much is in a dataset."""

    dataset: str
    episodes: int
    unfinished: int
    duration_ns: int


_TABLE = episode_folders
_KNOWN = select(*(_TABLE.c[name] for name in Known._fields))
_PUT = insert(_TABLE)
_PUT = _PUT.on_conflict_do_update(
    index_elements=["dataset", "number"],
    set_={name: _PUT.excluded[name] for name in EpisodeFacts.__slots__ if name not in ("dataset", "number")},
)


def put(connection: Connection, found: Iterable[EpisodeFacts]) -> None:
    """Add episodes, or bring their rows up to date."""
    rows = [asdict(facts) for facts in found]
    if rows:
        connection.execute(_PUT, rows)


def remove(connection: Connection, dataset: str, numbers: Iterable[int]) -> None:
    """Forget episodes whose folders are gone."""
    rows = [{"of_dataset": dataset, "of_number": number} for number in numbers]
    if rows:
        where = (_TABLE.c.dataset == bindparam("of_dataset")) & (_TABLE.c.number == bindparam("of_number"))
        connection.execute(delete(_TABLE).where(where), rows)


def of_dataset(connection: Connection, dataset: str) -> list[Known]:
    """List what is known of a dataset, in order."""
    query = _KNOWN.where(_TABLE.c.dataset == dataset).order_by(_TABLE.c.number)
    return rows_of(Known, connection.execute(query))


def facts_of(connection: Connection, dataset: str, numbers: Collection[int]) -> dict[int, EpisodeFacts]:
    """Return all that is known of some episodes of a dataset, by number."""
    query = select(*(_TABLE.c[field.name] for field in fields(EpisodeFacts))).where(_TABLE.c.dataset == dataset)
    found = rows_of(EpisodeFacts, connection.execute(query))
    return {one.number: one for one in found if one.number in numbers}


def of_run(connection: Connection, run_id: str) -> list[Known]:
    """List the episodes that a run recorded, in order of time."""
    query = _KNOWN.where(_TABLE.c.run_id == run_id).order_by(_TABLE.c.created_ns, _TABLE.c.number)
    return rows_of(Known, connection.execute(query))


def unfinished(connection: Connection) -> list[Known]:
    """List the episodes that were not whole when they were looked at."""
    return rows_of(Known, connection.execute(_KNOWN.where(_TABLE.c.finished.is_(False))))


def newest(connection: Connection, dataset: str) -> int:
    """Return the highest number that is known in a dataset; -1 if there is none."""
    row = connection.execute(select(func.max(_TABLE.c.number)).where(_TABLE.c.dataset == dataset)).scalar()
    return -1 if row is None else int(row)


def by_uid(connection: Connection, dataset: str, uid: str) -> Known | None:
    """Find an episode by its identity."""
    row = connection.execute(_KNOWN.where((_TABLE.c.dataset == dataset) & (_TABLE.c.uid == uid))).first()
    return None if row is None else row_of(Known, row)


def counts(connection: Connection) -> list[Count]:
    """Count what is in each dataset."""
    query = select(
        _TABLE.c.dataset,
        func.count(),
        func.count().filter(_TABLE.c.finished.is_(False)),
        func.coalesce(func.sum(_TABLE.c.duration_ns), 0),
    )
    return rows_of(Count, connection.execute(query.group_by(_TABLE.c.dataset).order_by(_TABLE.c.dataset)))
