"""`playhead episode convert`, and `verify` of what agents played."""

from __future__ import annotations

from pathlib import Path

import playhead
from tests.cli.invoking import answer, invoke
from tests.simulators.playing import Maze, game, record


def test_there_and_back_with_the_saving_shown(tmp_path: Path) -> None:
    path = tmp_path / "store"
    with playhead.open(path) as store, store.run("atari", "pong", environment=False) as run:
        record(run, game("Pong"), 60, frames="auto")
    text = invoke("episode", "convert", run.id, "--to", "resimulated", store=path).stdout
    assert "60 steps resimulated in" in text
    assert "bytes before" in text
    found = answer("episode", "convert", "last", "--to", "stored", store=path)
    assert (found["steps"], found["to"]) == (60, "stored")
    with playhead.open(path, mode="r") as store:
        assert len(store.runs) == 3
        assert "stored" in store.runs[found["run_id"]].tags
    again = invoke("episode", "convert", found["run_id"], "--to", "stored", expect=1, store=path)
    assert "stored already" in again.output


def test_what_is_refused_leaves_no_run(tmp_path: Path) -> None:
    path = tmp_path / "store"
    with playhead.open(path) as store, store.run("maze", "m", run_id="r", environment=False) as run:
        record(run, Maze(), 40, frames="auto")
    before = sorted(str(one.relative_to(path)) for one in path.rglob("*") if one.is_file())
    for target in ("stored", "resimulated", "stored"):
        invoke("episode", "convert", "last", "--to", target, expect=1, store=path)
    with playhead.open(path, mode="r") as store:
        assert [run.id for run in store.runs] == ["r"]
        assert len(store.runs.deleted) == 0
    after = sorted(str(one.relative_to(path)) for one in path.rglob("*") if one.is_file())
    assert [name for name in after if "playhead.db" not in name] == [
        name for name in before if "playhead.db" not in name
    ]


def test_verify_of_a_run_and_of_an_episode(tmp_path: Path) -> None:
    path = tmp_path / "store"
    with playhead.open(path) as store, store.run("atari", "pong", environment=False) as run:
        record(run, game("Pong"), 40)
    assert answer("episode", "verify", run.id, store=path)["findings"] == []
    assert answer("episode", "verify", f"{run.id}-ep0000", store=path)["episodes"] == 1
    assert "no dataset" in invoke("episode", "verify", "nothing/0", expect=1, store=path).output


def test_verify_of_what_cannot_be_made_here_warns(tmp_path: Path) -> None:
    path = tmp_path / "store"
    with playhead.open(path) as store, store.run("maze", "m", environment=False) as run:
        record(run, Maze(), 40)
    findings = answer("episode", "verify", run.id, store=path)["findings"]
    assert [one["severity"] for one in findings] == ["warning"]
    assert "resimulate(episode, make)" in findings[0]["text"]
