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
