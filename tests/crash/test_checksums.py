"""Whatever change of the disk a recorder or an editor dies at, no text of a sound run is told of as damaged.

Here some of the changes; `make campaign` does all of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import playhead
from playhead import checksums
from playhead.care import verify
from playhead.layout import Layout
from playhead.testing import killed_at, operations_of

STRIDE = max(1, round(1.2 / float(os.environ.get("PLAYHEAD_CAMPAIGN", "0.1"))))


def record(path: Path) -> None:
    """Record, join, end, edit, go on."""
    with playhead.open(path) as store:
        with store.run("p", "n", run_id="run", environment=False) as run:
            run.set_primary_metric("loss")
            run.log({"loss": 0.5})
            run.log_text("hello")
            rank = store.attach("run")
            rank.log({"x": 1.0})
        rank.log_text("stayed")
        rank.finish()
        store.runs["run"].tag("kept")
        store.runs["run"].summary(wins=3)
        with store.run("p", "n", run_id="run", resume=True, environment=False) as run:
            run.log({"loss": 0.25})


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("torn", [False, True])
def test_killed_at_each_change_nothing_is_told_of_and_all_is_noted(tmp_path: Path, torn: bool) -> None:
    changes = operations_of(lambda: record(tmp_path / "counted"))
    places, killed = range(STRIDE // 2 * torn, len(changes), STRIDE), 0
    for n in places:
        path = tmp_path / f"{n}"
        killed += killed_at(n, _recording(path), torn=torn).killed
        playhead.open(path).close()  # as the next user does
        found = [str(finding) for finding in verify(path, full=True) if not finding.is_harmless]
        assert found == [], f"killed at change {n}, {changes[n]}"
        for folder in Layout(path).run_folders():
            there = {path.name for path in (folder.meta, folder.status, folder.events(), folder.logs) if path.exists()}
            assert checksums.load(folder).keys() >= there, changes[n]
    assert killed >= len(places) / 2  # the background of a run writes more often where the machine is slow
    print(f"texts of runs: killed{' and torn' * torn} at {len(places)} of {len(changes)} changes, sound each time")


def _recording(path: Path) -> Callable[[object], None]:
    return lambda _acknowledge: record(path)
