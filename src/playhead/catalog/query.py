"""Which runs, in which order: a question that narrows, and its answers page by page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

from sqlalchemy import Connection, bindparam, func, select
from sqlalchemy.dialects import sqlite

from playhead.catalog import fields, where
from playhead.catalog.database import driver_rows
from playhead.catalog.fields import Resolver
from playhead.catalog.runs import ROW, RunRow
from playhead.catalog.schema import runs
from playhead.catalog.typed_rows import check
from playhead.errors import NotFound

_DIALECT = sqlite.dialect(paramstyle="named")
_row = partial(tuple.__new__, RunRow)  # what `RunRow._make` does, without a call into Python for each of thousands


@dataclass(frozen=True, slots=True)
class RunQuery:
    """Which runs, in which order. Immutable: each narrowing gives a new one.

    Attributes:
        also: Columns and what they must be besides, where a query was narrowed twice by one of them.
    """

    project: str | None = None
    status: str | None = None
    tags: tuple[str, ...] = ()
    where: str | None = None
    order: str = "created_at"
    limit: int | None = None
    deleted: bool | None = False
    also: tuple[tuple[str, str], ...] = ()

    def narrowed(self, **changes: Any) -> RunQuery:
        """Give the query with further conditions."""
        if changes.get("where") and self.where:
            changes["where"] = f"({self.where}) and ({changes['where']})"
        if changes.get("tags"):
            changes["tags"] = (*self.tags, *changes["tags"])
        if changes.get("limit") is not None and self.limit is not None:
            changes["limit"] = min(self.limit, changes["limit"])
        for name in ("project", "status"):
            if changes.get(name) is not None and getattr(self, name) is not None:
                changes["also"] = (*changes.get("also", self.also), (name, changes.pop(name)))
        return replace(self, **{key: value for key, value in changes.items() if value not in (None, ())})

    def conditions(self, resolver: Resolver) -> list[Any]:
        """Build what a run must fit."""
        conditions: list[Any] = []
        if self.deleted is not None:
            conditions.append(runs.c.deleted_at.is_not(None) if self.deleted else runs.c.deleted_at.is_(None))
        if self.project is not None:
            conditions.append(runs.c.project == self.project)
        if self.status is not None:
            conditions.append(runs.c.status == self.status)
        conditions += [runs.c[name] == value for name, value in self.also]
        conditions += [resolver("tags").contains(tag) for tag in self.tags]
        if self.where:
            conditions.append(where.parse(self.where, resolver))
        return conditions

    def check(self) -> None:
        """Raise what is wrong with the condition or the order, before anything is asked."""
        _page(self, (), self.order)

    def count(self, connection: Connection) -> int:
        """Count the runs that fit."""
        ((total,),) = driver_rows(connection, *_count(self, self._common(connection)))
        return int(total)

    def _common(self, connection: Connection) -> tuple[bool, ...]:
        """Find out which of the conditions many runs fit; see `Resolver`."""
        counts = (driver_rows(connection, *probe)[0][0] for probe in _probes(self))
        return tuple(count >= Resolver.LIMIT for count in counts)

    def rows(self, connection: Connection, offset: int = 0, limit: int | None = None) -> list[RunRow]:
        """Give the rows from `offset` on."""
        if self.limit is not None:
            room = max(0, self.limit - offset)
            limit = room if limit is None else min(limit, room)
        return self._rows(connection, self.order, offset, -1 if limit is None else limit)

    def row_from_end(self, connection: Connection, offset: int) -> RunRow | None:
        """Give the row `offset` places before the last, without counting all; only where there is no limit."""
        return next(iter(self._rows(connection, self.order, offset, 1, is_reversed=True)), None)

    def _rows(
        self, connection: Connection, order: str, offset: int, limit: int, *, is_reversed: bool = False
    ) -> list[RunRow]:
        sql, parameters = _page(self, self._common(connection), order, is_reversed)
        page = {**parameters, "page_limit": limit, "page_offset": offset}
        rows = driver_rows(connection, sql, page)
        check(RunRow, rows)
        return list(map(_row, rows))

    def row_of(self, connection: Connection, run_id: str) -> RunRow | None:
        """Give the row with an id, if it fits."""
        sql, parameters = _one(self)
        rows = driver_rows(connection, sql, {**parameters, "wanted_id": run_id})
        check(RunRow, rows)
        return next(map(_row, rows), None)

    def missing(self, connection: Connection, run_id: str) -> NotFound:
        """Make the error for an id that does not fit; it lists the newest that do."""
        return NotFound.among("run", run_id, [row.id for row in self._rows(connection, "-created_at", 0, 11)])


# Building and compiling a statement takes longer than running it: both are done once a query.

Statement = tuple[str, Mapping[str, Any]]


@lru_cache(maxsize=256)
def _probes(query: RunQuery) -> tuple[Statement, ...]:
    resolver = Resolver()
    query.conditions(resolver)
    return tuple(map(_compiled, resolver.probes))


@lru_cache(maxsize=256)
def _page(query: RunQuery, common: tuple[bool, ...], order: str, is_reversed: bool = False) -> Statement:
    ranks = fields.order_by(order, is_reversed=is_reversed)
    statement = ROW.where(*query.conditions(Resolver(common))).order_by(*ranks)
    return _compiled(statement.limit(bindparam("page_limit")).offset(bindparam("page_offset")))


@lru_cache(maxsize=256)
def _count(query: RunQuery, common: tuple[bool, ...]) -> Statement:
    if query == RunQuery():  # all but the deleted: both counts come from small indexes
        deleted = select(func.count()).where(runs.c.deleted_at.is_not(None)).scalar_subquery()
        return _compiled(select(select(func.count()).select_from(runs).scalar_subquery() - deleted))
    fitting = select(runs.c.key).where(*query.conditions(Resolver(common)))
    if query.limit is not None:
        fitting = fitting.limit(query.limit)
    return _compiled(select(func.count()).select_from(fitting.subquery()))


@lru_cache(maxsize=256)
def _one(query: RunQuery) -> Statement:
    return _compiled(ROW.where(runs.c.id == bindparam("wanted_id"), *query.conditions(Resolver())))


def _compiled(statement: Any) -> Statement:
    compiled = statement.compile(dialect=_DIALECT, compile_kwargs={"render_postcompile": True})
    return str(compiled), compiled.params
