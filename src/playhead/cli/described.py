"""Runs as plain values with stable keys, for JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playhead.cli.metrics import metrics_of
from playhead.cli.status import DIED, status_of

if TYPE_CHECKING:
    from playhead.run import Run
    from playhead.store import Store


def outline(store: Store, run: Run) -> dict[str, Any]:
    """Give what a list says of a run."""
    return {
        "id": run.id,
        "project": run.project,
        "name": run.name,
        "status": run.status,
        "died": status_of(store, run) == DIED,
        "exit_reason": run.exit_reason,
        "created_at": run.created_at,
        "ended_at": run.ended_at,
        "duration": run.duration,
        "primary_metric": run.primary_metric,
        "best": run.best,
        "best_step": run.best_step,
        "points": run.points,
        "tags": run.tags,
        "deleted_at": run.deleted_at,
        "path": str(run.path),
    }


def summary_of(run: Run) -> dict[str, Any]:
    """Give the summary values that the program set itself; the best value is shown on its own."""
    from playhead.facts import BEST

    return {key: value for key, value in run.summary().items() if key not in BEST}


def whole(store: Store, run: Run, log: list[str]) -> dict[str, Any]:
    """Give everything that is known of a run.

    Args:
        store: Its store.
        run: The run.
        log: The lines of its log to include.
    """
    return outline(store, run) | {
        "notes": run.notes,
        "config": run.config,
        "summary": summary_of(run),
        "environment": run.environment,
        "metrics": [metric.described() for metric in metrics_of(run)],
        "media": [
            {"key": item.key, "step": item.step, "ts_ns": item.ts_ns, "caption": item.caption, "path": str(item.path)}
            for item in run.media
        ],
        **run.holdings.described(),
        "log": log,
    }
