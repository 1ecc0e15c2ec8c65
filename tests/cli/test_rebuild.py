"""`playhead rebuild`."""

from __future__ import annotations

from pathlib import Path

import playhead
from tests.cli.conftest import BROKEN, FIRST
from tests.cli.invoking import answer, in_terminal, invoke, start


def test_makes_the_catalogue_anew(path: Path) -> None:
    before = [answer("show", run["id"], store=path) for run in answer("ls", store=path)]
    (path / "playhead.db").write_bytes(b"ruined")
    assert invoke("rebuild", store=path).stdout == "Read 4 runs.\n"
    assert [answer("show", run["id"], store=path) for run in answer("ls", store=path)] == before


def test_a_run_that_cannot_be_read_is_named_and_ends_with_1(path: Path) -> None:
    meta = next(path.rglob(BROKEN)) / "meta.json"
    meta.write_text("{")
    done = start("rebuild", store=path)
    assert (done.returncode, done.stdout) == (1, "Read 3 runs.\n")
    assert done.stderr.startswith(f"playhead: {meta} is damaged")
    assert done.stderr.count("\n") == 1
    found = answer("rebuild", store=path, expect=1)
    assert found["runs"] == 3
    assert found["problems"][0]["path"] == str(meta)
    assert FIRST in invoke("ls", store=path).stdout


def test_json_without_problems(path: Path) -> None:
    assert answer("rebuild", store=path) == {"runs": 4, "problems": []}


def test_waits_for_runs_that_are_being_recorded(path: Path) -> None:
    with playhead.open(path) as store, store.run("p", "n", run_id="busy", environment=False):
        error = invoke("rebuild", store=path, expect=1).stderr
    assert "busy" in error


def test_shows_how_far_it_is_in_a_terminal(path: Path) -> None:
    code, shown = in_terminal("rebuild", store=path)
    assert code == 0
    assert "Reading runs" in shown
    assert "Read 4 runs." in shown
    assert start("rebuild", store=path).stderr == ""
