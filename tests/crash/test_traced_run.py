"""A run with traces, killed at its every change of the disk: no step that was flushed is lost, and nothing is left over."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import playhead
from playhead import traces
from playhead.testing import count_operations, killed_at
from tests.test_traces import put, same, steps, update

SHARE = float(os.environ.get("PLAYHEAD_CAMPAIGN", "0.1"))
HISTORY = steps(40)


def work(path: Path, acknowledge: Callable[[Any], object]) -> None:
    """Record a run with a trace, go on with it, remove another run for good."""
    with playhead.open(path) as store:
        for run_id, part in (("r1", HISTORY[:25]), ("r2", HISTORY[:5]), ("r1", HISTORY[25:])):
            with store.run("fit", "gd", run_id=run_id, resume=True, environment=False) as run:
                trace = run.trace("fit", update, bucket=4)
                put(trace, part)
                trace.flush()
                acknowledge([run_id, len(trace)])
        store.runs["r2"].delete()
        store.purge()


@pytest.mark.parametrize("torn", [False, True])
def test_no_step_is_lost_and_nothing_is_left_over(tmp_path: Path, torn: bool) -> None:
    changes = count_operations(lambda: work(tmp_path / "counted", lambda _: None))
    kills = 0
    for n in range(int(torn), changes, max(1, round(1 / SHARE))):
        path = tmp_path / f"store{n}"
        crash = killed_at(n, lambda acknowledge, path=path: work(path, acknowledge), torn=torn)
        kills += crash.killed
        with playhead.open(path) as store:
            _check(store, [length for run_id, length in crash.acknowledged if run_id == "r1"])
    assert kills > 5


def _check(store: playhead.Store, acknowledged: list[int]) -> None:
    if acknowledged:
        found = store.runs["r1"].traces.open("fit", step=update)
        assert len(found) >= acknowledged[-1]
        assert all(same(found.seek(step), HISTORY[step][0]) for step in range(len(found)))
    assert list(traces.verify(store._home)) == []
    assert list(store.path.glob("traces/*/.*")) == []
    known = {run.id for run in [*store.runs, *store.runs.deleted]}
    assert {*store._home.layout.traced_runs()} <= known
