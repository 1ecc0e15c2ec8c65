"""What holds of a whole store after any cut, whatever was recorded in it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import playhead
from playhead.care import verify
from tests.dump import assert_catalogue_agrees_with_folders


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
        assert "comes to its end" not in finding.expected, finding
    assert_catalogue_agrees_with_folders(path)
