"""What a run has besides metrics, told in Python, in a notebook and on the command line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import playhead
from playhead import live
from playhead.holdings import Tally
from playhead.lanes.live import segments
from tests.cli.invoking import answer, invoke

RUN, EMPTY = "everything", "nothing"


def play(run: playhead.RunWriter, episodes: int, steps: int) -> None:
    reel = run.new_reel(facts={"env_id": "Test-v0"})
    for _ in range(episodes):
        reel.begin()
        for step in range(steps):
            reel.step({"observations": np.full(3, step, np.float32)}, 1.0, False, False)
        reel.end("terminated")


@pytest.fixture
def recorded(store: playhead.Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[playhead.RunWriter]:
    """A run that has one of everything and is being recorded, beside one that has nothing."""
    shared = tmp_path / "shared"
    shared.mkdir()
    monkeypatch.setattr(segments, "FOLDER", shared)
    weights = tmp_path / "weights.bin"
    weights.write_bytes(b"weights")
    store.run("p", "empty", run_id=EMPTY, environment=False).close()
    store.artifacts.save("base", weights)
    with store.run("p", "full", run_id=RUN, environment=False) as run:
        play(run, episodes=3, steps=4)
        with run.new_episode("teleop") as episode:
            episode.append("force", 1.0, 1)
        with run.trace("fit") as trace:
            for step in range(1200):
                trace.append(step, error=1 / (step + 1))
        run.log_artifact("policy", weights)
        run.use_artifact("base:latest")
        run.flush()
        with live.LiveWriter(RUN, rate=None) as writer:
            writer.publish(np.zeros((4, 4, 3), np.uint8))
            yield run


LINES = {
    "played": "3 episodes, 12 steps",
    "episodes": "1 in teleop",
    "traces": "fit (1,200 steps)",
    "made": "model/policy:v1",
    "used": "model/base:v1",
    "live": RUN,
}


def test_one_line_for_each_kind(store: playhead.Store, recorded: playhead.RunWriter) -> None:
    assert store.runs[RUN].holdings.lines() == LINES
    assert store.runs[EMPTY].holdings.lines() == {}


def test_plain_values(store: playhead.Store, recorded: playhead.RunWriter) -> None:
    found = store.runs[RUN].holdings.described()
    [trace] = found.pop("traces")
    assert found == {
        "played": {"reels": 1, "episodes": 3, "steps": 12},
        "datasets": {"teleop": 1},
        "artifacts_made": ["model/policy:v1"],
        "artifacts_used": ["model/base:v1"],
        "live": [RUN],
        "problems": [],
    }
    assert (trace["name"], trace["steps"], trace["best"], trace["is_recorded"]) == ("fit", 1200, 1199, False)


def test_a_run_that_has_ended_is_not_live(store: playhead.Store, recorded: playhead.RunWriter) -> None:
    recorded.finish()
    assert store.runs[RUN].holdings.live == ()
    assert store.info()["live"] == []


def test_several_environments_and_many_names_take_one_line(store: playhead.Store) -> None:
    with store.run("p", "n", environment=False) as run:
        play(run, 1, 2)
        play(run, 1, 2)
        for number in range(6):
            run.trace(f"t{number}").close()
    lines = store.runs[run.id].holdings.lines()
    assert lines["played"] == "2 episodes, 4 steps of 2 environments"
    assert lines["traces"] == "t0 (0 steps), t1 (0 steps), t2 (0 steps), t3 (0 steps) and 2 more"


def test_what_is_damaged_is_told_and_hides_nothing_else(store: playhead.Store, recorded: playhead.RunWriter) -> None:
    (recorded.path / "artifacts_created.json").write_text("[")
    file = recorded.traces.path("fit")
    file.write_bytes(file.read_bytes()[:-20])
    found = store.runs[RUN].holdings
    lines = found.lines()
    assert "artifacts_created.json" in lines.pop("damage")
    assert lines["traces"] == "fit (cannot be read)"
    assert "made" not in lines
    assert lines["used"] == LINES["used"]
    assert str(file) in found.described()["traces"][0]["problem"]


def test_a_notebook_shows_it(store: playhead.Store, recorded: playhead.RunWriter) -> None:
    shown = store.runs[RUN]._repr_html_()
    for line in LINES.values():
        assert line in shown


def test_show(store: playhead.Store, recorded: playhead.RunWriter) -> None:
    shown = invoke("show", RUN, store=store.path).stdout
    for kind, line in LINES.items():
        assert re.search(rf"^  {kind} +{re.escape(line)}$", shown, re.MULTILINE), kind
    described = answer("show", RUN, store=store.path)
    assert described["traces"][0]["steps"] == 1200
    assert described["artifacts_made"] == ["model/policy:v1"]


def test_ls(store: playhead.Store, recorded: playhead.RunWriter) -> None:
    lines = invoke("ls", store=store.path).stdout.splitlines()
    assert lines[0].split()[-2:] == ["holds", "tags"]
    assert "4 episodes, 1 trace, 1 artifact, live" in lines[1]
    held = {run["id"]: run["holds"] for run in answer("ls", store=store.path)}
    assert held == {RUN: Tally(4, 1, 1, True)._asdict(), EMPTY: Tally(0, 0, 0, False)._asdict()}


def test_info(store: playhead.Store, recorded: playhead.RunWriter) -> None:
    store.tables.build("rows", np.zeros(5, [("x", "f4")]))
    found = store.info()
    expected = {"replay_episodes": 3, "steps": 12, "episodes": 1, "traces": 1, "tables": 1, "artifacts": 2}
    assert {name: found[name] for name in expected} == expected
    assert (found["artifact_versions"], found["live"]) == (2, [RUN])
    shown = invoke("info", store=store.path).stdout
    for line in ("played +3 episodes, 12 steps", "traces +1", "tables +1", "artifacts +2, 2 versions", f"live +{RUN}"):
        assert re.search(rf"^  {line}$", shown, re.MULTILINE), line
