"""`playhead rm`."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import BROKEN, FIRST, SECOND
from tests.cli.invoking import answer, invoke


def test_puts_runs_into_the_recycle_bin_and_says_how_to_undo(path: Path) -> None:
    shown = invoke("rm", FIRST, "20260101_11", store=path).stdout
    assert f"playhead restore {FIRST} {SECOND}" in shown
    assert [run["id"] for run in answer("ls", store=path)] == [BROKEN]
    assert next(path.rglob(FIRST)).is_dir()


def test_keeps_the_reason(path: Path) -> None:
    assert answer("rm", "last", "--reason", "wrong seed", store=path) == {"deleted": [BROKEN]}
    marker = next(path.rglob(BROKEN)) / ".deleted"
    assert json.loads(marker.read_text())["reason"] == "wrong seed"


def test_one_unknown_run_deletes_none(path: Path) -> None:
    invoke("rm", FIRST, "nonsense", store=path, expect=1)
    assert len(answer("ls", store=path)) == 3
