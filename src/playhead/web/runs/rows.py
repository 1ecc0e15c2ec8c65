"""Runs as rows: which ones are meant, and what a list says of each."""

from __future__ import annotations

from typing import Any

from playhead import clock
from playhead.catalog import runs as catalog_runs
from playhead.catalog.query import RunQuery
from playhead.catalog.runs import RunRow
from playhead.catalog.schema import STATUSES
from playhead.catalog.typed_rows import items_in
from playhead.errors import NotFound
from playhead.run import Run
from playhead.web.answers import number
from playhead.web.liveness import Liveness
from playhead.web.routes import Ask, Parameter, flag, in_path, text, texts
from playhead.web.schema import FLAG, FLOAT, INTEGER, SECONDS, TEXT, maybe, record, several
from playhead.web.site import Site

RUN_ID = in_path("id", "The run.", longest=128)

FILTERS: tuple[Parameter, ...] = (
    text("project", "Only runs of this project."),
    text("status", "Only runs with this status.", choices=STATUSES),
    texts("tag", "Only runs with this tag; several mean all of them.", most=50),
    text("where", "A condition in the where language, such as `config.lr < 1e-3 and best > 0.9`.", longest=8_000),
    flag("deleted", "The runs in the recycle bin instead of those that are not."),
)
ORDER = text(
    "order",
    "What to sort by: names of the where language with commas between; `-name` is largest first, `best` good first.",
    longest=2_000,
)

_BEST = record({"name": TEXT, "value": FLOAT, "step": maybe(INTEGER)})
MEMBERS = {
    "id": TEXT,
    "project": TEXT,
    "name": TEXT,
    "status": {"enum": list(STATUSES)},
    "is_stale": FLAG,
    "live": several(TEXT),
    "created_at": SECONDS,
    "ended_at": maybe(SECONDS),
    "duration": maybe(SECONDS),
    "tags": several(TEXT),
    "notes": TEXT,
    "points": INTEGER,
    "best": maybe(_BEST),
    "exit_reason": maybe(TEXT),
    "deleted_at": maybe(SECONDS),
}


def query_of(ask: Ask, *, order: str | None = None) -> RunQuery:
    """Give which runs a request means.

    Raises:
        BadQuery: The condition or the order cannot be understood.
    """
    query = RunQuery(
        project=ask["project"],
        status=ask["status"],
        tags=ask["tag"],
        where=ask["where"],
        order=order or ("-deleted_at" if ask["deleted"] else "-created_at"),
        deleted=bool(ask["deleted"]),
    )
    query.check()
    return query


def find_run(site: Site, run_id: str) -> Run:
    """Give a run, in the recycle bin or not.

    Raises:
        NotFound: There is none with this id.
    """
    with site.home.database.read() as connection:
        row = catalog_runs.find(connection, run_id)
        if row is None:
            near = catalog_runs.ids_like(connection, run_id[:15])
            raise NotFound.among("run", run_id, near) if near else NotFound(f"no run {run_id!r} in this store")
    return Run(site.home, row)


def origin_ns(row: RunRow) -> int:
    """Give the stamp from which the times of a run count."""
    return round(row.created_at * clock.SECOND)


def row_of(site: Site, row: RunRow) -> dict[str, Any]:
    """Give what a list says of a run."""
    liveness = site.keep(Liveness, lambda: Liveness(site.home.layout))
    best = None
    if row.best_metric_name is not None and row.best_metric_value is not None:
        best = {"name": row.best_metric_name, "value": number(row.best_metric_value), "step": row.best_metric_step}
    duration, is_stale = row.duration_seconds, liveness.is_stale(row.id, row.status)
    if row.status == "running" and not is_stale:
        duration = max(0.0, clock.now() - row.created_at)
    with site.home.database.understood():
        tags = sorted(items_in(row.tags))
    return {
        "id": row.id,
        "project": row.project,
        "name": row.name,
        "status": row.status,
        "is_stale": is_stale,
        "live": liveness.shown(row.id),
        "created_at": row.created_at,
        "ended_at": row.ended_at,
        "duration": duration,
        "tags": tags,
        "notes": row.notes,
        "points": row.metric_count,
        "best": best,
        "exit_reason": row.exit_reason,
        "deleted_at": row.deleted_at,
    }
