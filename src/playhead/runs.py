"""Runs: the lazy sequence behind `store.runs`."""

from __future__ import annotations

import contextlib
import numbers
import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, SupportsIndex, overload

from playhead.catalog.query import RunQuery
from playhead.catalog.schema import STATUSES
from playhead.errors import BadKey, BadQuery, BadSlice, OutOfRange, WrongType
from playhead.home import Home
from playhead.layout import several
from playhead.run import Run

if TYPE_CHECKING:
    from playhead.catalog.database import Connection
    from playhead.catalog.runs import RunRow

_MOST = 1 << 62  # runs; SQLite counts no further than to 64 bits


class Runs(Sequence[Run]):
    """Runs of a store, oldest first unless told otherwise; nothing is read before it is needed.

    Indexed by position (`runs[-1]`), slice or id (`runs["20261115_081200_a1b2c3"]`). Called, it narrows:
    `store.runs("pong", where="config.lr < 1e-3 and best > 0.9")`.
    """

    def __init__(self, home: Home, query: RunQuery) -> None:
        self._home = home
        self._query = query

    def __call__(
        self,
        project: str | None = None,
        *,
        status: str | None = None,
        tags: Iterable[str] | str = (),
        where: str | None = None,
        order: str | None = None,
        limit: int | None = None,
    ) -> Runs:
        """Narrow to some of these runs.

        Args:
            project: Only of this project.
            status: Only `running`, `finished`, `failed` or `interrupted` ones.
            tags: Only those that have all of these.
            where: A condition in the `where` language, such as `"config.lr < 1e-3 and best > 0.9"`.
            order: What to sort by: a name of the `where` language, `-name` for the largest first, several with commas
                between; `best` for the good runs first, `-best` for the bad.
            limit: At most this many, in this order.

        Raises:
            BadQuery: The condition, the status or the order cannot be understood.
        """
        if status is not None and status not in STATUSES:
            raise BadQuery(f"no status {status!r}; there is: {', '.join(STATUSES)}")
        if limit is not None and (not isinstance(limit, numbers.Integral) or limit < 0):
            raise WrongType(f"limit is a number of runs, not {limit!r}")
        if order is not None and not isinstance(order, str):
            raise WrongType(f"order is a name of the where language, or several with commas between, not {order!r}")
        wanted = tuple(several(tags, "tags"))
        limit = None if limit is None else min(int(limit), _MOST)
        query = self._query.narrowed(project=project, status=status, tags=wanted, where=where, order=order, limit=limit)
        query.check()
        return Runs(self._home, query)

    @property
    def deleted(self) -> Runs:
        """The runs in the recycle bin."""
        return Runs(self._home, self._query.narrowed(deleted=True))

    def __len__(self) -> int:
        with self._home.database.read() as connection:
            return self._query.count(connection)

    def __iter__(self) -> Iterator[Run]:
        with self._home.database.read() as connection:
            rows = self._query.rows(connection)
        return (Run(self._home, row) for row in rows)

    def __contains__(self, run: object) -> bool:
        run_id = run.id if isinstance(run, Run) else run
        with self._home.database.read() as connection:
            return isinstance(run_id, str) and self._query.row_of(connection, run_id) is not None

    def get(self, run_id: str) -> Run | None:
        """Give a run by id, or None."""
        with self._home.database.read() as connection:
            row = self._query.row_of(connection, run_id)
        return None if row is None else Run(self._home, row)

    @overload
    def __getitem__(self, index: SupportsIndex | str) -> Run: ...
    @overload
    def __getitem__(self, index: slice) -> list[Run]: ...
    def __getitem__(self, index: SupportsIndex | str | slice) -> Run | list[Run]:
        """Give a run by position or id, or a list of runs by slice.

        Raises:
            NotFound: No run has the id.
            OutOfRange: There are fewer runs.
            BadKey: It is no position, slice or id.
        """
        with self._home.database.read() as connection:
            if isinstance(index, str):
                found = self._query.row_of(connection, index)
                if found is None:
                    raise self._query.missing(connection, index)
                return Run(self._home, found)
            if isinstance(index, slice):
                try:
                    wanted = range(*index.indices(self._query.count(connection)))
                except (TypeError, ValueError) as error:
                    raise BadSlice(f"runs cannot be sliced so: {error}") from None
                rows = self._rows(connection, wanted)
                return [Run(self._home, row) for row in rows]
            row = self._row_at(connection, _position(index))
        if row is None:
            raise OutOfRange(f"no run at position {index}: there are {len(self)} runs")
        return Run(self._home, row)

    def _rows(self, connection: Connection, wanted: range) -> Sequence[RunRow]:
        if not wanted:
            return ()
        first, last = min(wanted[0], wanted[-1]), max(wanted[0], wanted[-1])
        rows = self._query.rows(connection, first, last - first + 1)
        return [rows[position - first] for position in wanted]

    def _row_at(self, connection: Connection, index: int) -> RunRow | None:
        if abs(index) > _MOST:
            return None
        if index < 0:
            if self._query.limit is None:
                return self._query.row_from_end(connection, -1 - index)
            index += self._query.count(connection)
            if index < 0:
                return None
        return next(iter(self._query.rows(connection, index, 1)), None)

    def __repr__(self) -> str:
        total = len(self)
        shown = "".join(f"\n  {run!r}" for run in self[max(0, total - 5) :])
        more = f"\n  … and {total - 5} before" if total > 5 else ""
        return f"<Runs: {total}>{more}{shown}"


def _position(index: SupportsIndex) -> int:
    """Take a whole number of any kind, also of NumPy, but no truth value."""
    if not isinstance(index, bool):
        with contextlib.suppress(TypeError):
            return operator.index(index)
    raise BadKey(f"runs are indexed by position, slice or id, not {type(index).__name__}")
