"""What holds of a whole store after any cut, whatever was recorded in it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import playhead
from playhead.care import verify
from playhead.care.finding import DAMAGE, REBUILD
from tests.dump import assert_catalogue_agrees_with_folders

REBUILT = 1 / 8  # of the states are compared with a catalogue that is made again of their files


def most(told: Sequence[str], what: str) -> int:
    """Return the largest number that was promised of something, as in `points 12`; 0 where nothing was."""
    return max((int(line.rpartition(" ")[2]) for line in told if line.rpartition(" ")[0] == what), default=0)


def hold_together(path: Path) -> None:
    """A store that was opened can be recorded into; its check ends; its catalogue says what its files say."""
    with playhead.open(path) as store:
        with store.run("p", "after", run_id="after", environment=False) as run:
            run.log({"loss": 3.0})
        assert run["loss"].values.tolist() == [3.0]
    for finding in verify(path, full=True):
        assert finding.severity != DAMAGE, finding
        assert finding.cure != REBUILD, f"the catalogue does not say what the files say: {finding}"
    if random.random() < REBUILT:
        assert_catalogue_agrees_with_folders(path)
