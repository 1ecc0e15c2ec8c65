"""The metrics of a run as the commands show them: one line for each name and stage."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playhead.run import Run

CURVE_SAMPLES = 40


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric in one stage, over all processes that logged it. `min` and `max` are None where all values are NaN."""

    name: str
    stage: str
    points: int
    last: float
    last_step: int
    last_ns: int
    min: float | None
    min_step: int | None
    max: float | None
    max_step: int | None
    longest: Any  # the series of the process that logged most of it

    def described(self) -> dict[str, Any]:
        """Give the figures with stable keys, for JSON."""
        names = ("name", "stage", "points", "last", "last_step", "min", "min_step", "max", "max_step")
        return {name: getattr(self, name) for name in names}


def metrics_of(run: Run) -> list[Metric]:
    """List the metrics of a run by name and stage."""
    grouped: dict[tuple[str, str], list[Any]] = {}
    for row in run.metrics_summary():
        grouped.setdefault((row.name, row.stage), []).append(row)
    return [_merged(rows) for rows in grouped.values()]


def _merged(rows: Sequence[Any]) -> Metric:
    newest = max(rows, key=lambda row: row.last_ns)
    numeric = [row for row in rows if row.min_value is not None] or [newest]
    lowest = min(numeric, key=lambda row: row.min_value)
    highest = max(numeric, key=lambda row: row.max_value)
    return Metric(
        name=newest.name,
        stage=newest.stage,
        points=sum(row.points for row in rows),
        last=math.nan if newest.last_value is None else newest.last_value,
        last_step=newest.last_step,
        last_ns=newest.last_ns,
        min=lowest.min_value,
        min_step=lowest.min_step,
        max=highest.max_value,
        max_step=highest.max_step,
        longest=max(rows, key=lambda row: row.points),
    )


def newest_of(run: Run, name: str) -> Metric | None:
    """Give a metric by name, in the stage that was logged last; None where it was never logged."""
    stages = [metric for metric in metrics_of(run) if metric.name == name]
    return max(stages, key=lambda metric: metric.last_ns, default=None)


def curve_of(run: Run, metric: Metric) -> list[float | None]:
    """Give a few values of a metric, spread over its life."""
    return run.samples(metric.longest, CURVE_SAMPLES)
