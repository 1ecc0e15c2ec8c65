"""Traces under the lens."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from playhead import traces
from playhead.care.finding import DAMAGE, Finding, Thing, of_damage
from playhead.care.ground import Ground

LANE = "traces"


def things(ground: Ground) -> Iterator[Thing]:
    """Tell of every trace."""
    for run_id in ground.layout.traced_runs():
        for name, file in ground.layout.traces(run_id).files().items():
            yield Thing(LANE, f"{run_id}/{name}", partial(check, file))


def check(file: Path, full: bool) -> Iterator[Finding]:
    """Look at one trace."""
    if full:
        yield from (of_damage(LANE, error) for error in traces.verify_file(file))
    elif file.exists() and not file.stat().st_size:
        yield Finding(DAMAGE, LANE, file, "a trace", "an empty file", "Restore it from a copy")
