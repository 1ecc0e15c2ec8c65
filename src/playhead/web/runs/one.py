"""One run: everything that is known of it without reading its points."""

from __future__ import annotations

from collections import Counter
from typing import Any

from playhead import clock, facts
from playhead.catalog import browse
from playhead.catalog import episodes as catalog_episodes
from playhead.catalog import runs as catalog_runs
from playhead.errors import Damaged
from playhead.run import Run
from playhead.web.answers import number, plain
from playhead.web.errors import without_root
from playhead.web.routes import Answer, Ask, Route
from playhead.web.runs import rows
from playhead.web.runs.logfile import LogFile
from playhead.web.schema import FLOAT, INTEGER, MAPPING, SECONDS, STAMP, TEXT, by_name, maybe, record, several


def describe_run(ask: Ask) -> Any:
    """Give a run."""
    run = rows.find_run(ask.site, ask["id"])
    row, origin = run._row, rows.origin_ns(run._row)
    with ask.site.home.database.read() as connection:
        state = next(iter(browse.states(connection, [run.id])), None)
        metrics = catalog_runs.metrics_of(connection, row.key)
        datasets = Counter(known.dataset for known in catalog_episodes.of_run(connection, run.id))
    summary = readable(run.summary, str(ask.store.path))
    return rows.row_of(ask.site, row) | {
        "config": plain(run.config),
        "summary": plain({name: value for name, value in summary.items() if name not in facts.BEST}),
        "environment": plain(readable(lambda: run.environment, str(ask.store.path))),
        "origin_ns": str(origin),
        "metrics": [_metric(found, origin) for found in metrics],
        "media": 0 if state is None else state.media,
        "episodes": 0 if state is None else state.episodes,
        "datasets": dict(datasets),
        "log_bytes": LogFile(run._folder.logs).size,
        "path": row.run_dir,
    }


def readable(read: Any, root: str) -> dict[str, Any]:
    """Give what a file of a run says; where it is damaged, that, so that the rest of the run can be seen."""
    try:
        return dict(read())
    except Damaged as error:
        return {"unreadable": without_root(str(error), root)}


def _metric(found: Any, origin: int) -> dict[str, Any]:
    return {
        "key": found.key,
        "name": found.name,
        "stage": found.stage,
        "part": found.part,
        "points": found.points,
        "last_value": number(found.last_value),
        "last_step": found.last_step,
        "last_s": None if found.last_ns is None else (found.last_ns - origin) / clock.SECOND,
        "min_value": number(found.min_value),
        "min_step": found.min_step,
        "max_value": number(found.max_value),
        "max_step": found.max_step,
    }


_METRIC = record(
    {
        "key": INTEGER,
        "name": TEXT,
        "stage": TEXT,
        "part": INTEGER,
        "points": INTEGER,
        "last_value": FLOAT,
        "last_step": maybe(INTEGER),
        "last_s": maybe(SECONDS),
        "min_value": FLOAT,
        "min_step": maybe(INTEGER),
        "max_value": FLOAT,
        "max_step": maybe(INTEGER),
    }
)
_RUN = record(
    {
        **rows.MEMBERS,
        "config": MAPPING,
        "summary": MAPPING,
        "environment": MAPPING,
        "origin_ns": STAMP,
        "metrics": several(_METRIC),
        "media": INTEGER,
        "episodes": INTEGER,
        "datasets": by_name(INTEGER),
        "log_bytes": INTEGER,
        "path": TEXT,
    }
)


def environment_of(run: Run, root: str) -> dict[str, Any]:
    """Give where and with what a run ran, by dotted names."""
    return facts.flatten(readable(lambda: run.environment, root), "environment")


ROUTES = (
    Route(
        "GET",
        "/api/runs/{id}",
        describe_run,
        "Give a run: config, summary, environment, its metrics without their points.",
        parameters=(rows.RUN_ID,),
        answer=Answer("The run.", _RUN),
    ),
)
