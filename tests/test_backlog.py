"""A catalogue that cannot be written ends no recording: it is behind, says so once, and catches up."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from sqlalchemy import event

import playhead
from playhead import StoreLocked, claims
from playhead.catalog import database
from playhead.catalog.files import files_of
from playhead.integrations.gymnasium import Recorder
from playhead.layout import Layout
from playhead.recording import lead, run_writer
from tests.dump import assert_catalogue_agrees_with_folders

HOLDER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.readline()
connection.execute("ROLLBACK")
"""
PATIENT = 60.0  # seconds until a test gives up


@pytest.fixture(autouse=True)
def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 3)  # instead of a minute
    monkeypatch.setattr(run_writer, "FINISH_SECONDS", 0.5)


@contextlib.contextmanager
def held(path: Path) -> Iterator[None]:
    """Let another process hold the catalogue of a store."""
    command = [sys.executable, "-c", HOLDER, str(Layout(path).database)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield
        finally:
            process.communicate("go on\n")


@contextlib.contextmanager
def one_warning(match: str) -> Iterator[None]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    said = [str(warning.message) for warning in caught if warning.category is RuntimeWarning]
    assert len(said) == 1, said
    assert match in said[0]
    assert "behind" in said[0]


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENT
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def record_everything(robot: Any, run: Any, folder: Path) -> None:
    """Call whatever records."""
    for value in range(10):
        run.log({"loss": value})
    run.log_text("a line")
    run.log_image("image", np.zeros((4, 4, 3), np.uint8))
    run.set_primary_metric("loss", "min")
    run.summary(score=0.5)
    run.tag("kept")
    run.note("a note")
    for new_episode in (robot.new_episode, lambda: run.new_episode("robot")):
        with new_episode() as episode:
            episode.append("x", 1.0, 1_000)
            episode.set_static("task", "grasp")
    with run.trace("fit") as trace:
        trace.append({"w": 1.0})
    with Recorder(gymnasium.make("CartPole-v1"), run) as env:
        env.reset(seed=1)
        for _ in range(5):
            env.step(0)
    (folder / "model").write_bytes(b"weights")
    run.log_artifact("policy", folder / "model")
    run.use_artifact("policy:latest")
    run.flush(sync=True)
    time.sleep(1.0)  # two rounds of the background
    run.log({"loss": -1.0})


def assert_all_is_there(path: Path, run_id: str, status: str) -> None:
    with playhead.open(path) as store:
        run = store.runs[run_id]
        assert run.status == status
        assert run["loss"].values.tolist() == [*range(10), -1]
        assert (run.best, run.tags, run.notes, run.summary()["score"]) == (-1, ["kept"], "a note", 0.5)
        assert (len(run.media), run.datasets, len(store.dataset("robot"))) == (1, {"robot": 1}, 2)
        assert len(store.runs(where="summary.score = 0.5")) == 1
        assert [episode.length for episode in run.episodes if hasattr(episode, "length")] == [5]
        assert [use["name"] for use in run.artifacts_used] == ["policy"]
        assert list(run.traces) == ["fit"]
        assert not claims.paths(Layout(path))
    assert_catalogue_agrees_with_folders(path)


def test_recording_goes_on_while_another_process_holds_the_catalogue(tmp_path: Path) -> None:
    path = tmp_path / "store"
    with playhead.open(path) as store, store.run("p", "n", environment=False) as run:
        robot = store.dataset("robot")
        with one_warning(" has held "), held(path):
            record_everything(robot, run, tmp_path)
            with pytest.raises(StoreLocked):  # what it would give is not all of it
                run["loss"]
        with playhead.open(path, mode="r") as reader:  # it catches up by itself
            wait_until(lambda: reader.runs[run.id].points == 11 and reader.runs[run.id].best == -1)
            wait_until(lambda: reader.runs[run.id].datasets == {"robot": 1} and reader.runs[run.id].tags == ["kept"])
        assert run["loss"].values[-1] == -1
    assert_all_is_there(path, run.id, "finished")


def test_who_logs_flat_out_waits_at_most_once_for_a_catalogue_that_another_process_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lead, "MOST", 1 << 20)
    path, calls = tmp_path / "store", 200_000
    with playhead.open(path) as store, store.run("p", "n", environment=False) as run:
        run.log({"loss": 0.0})
        run.flush()
        slow = []
        with one_warning(" has held "), held(path):
            for _ in range(calls):
                began = time.monotonic()
                run.log({"loss": 1.0})
                slow.append(time.monotonic() - began)
            wait_until(lambda: store._home.backlog.trouble is not None)
        assert sum(one > 0.3 for one in slow) <= 1
        assert max(slow) < lead.PATIENCE + 1.0
        assert len(run["loss"]) == 1 + calls


@pytest.mark.parametrize("has_closed", [False, True])
def test_a_run_ends_while_another_process_holds_the_catalogue(tmp_path: Path, has_closed: bool) -> None:
    path = tmp_path / "store"
    store = playhead.open(path)
    robot = store.dataset("robot")
    with store.run("p", "n", environment=False) as run, one_warning(" has held "), held(path):
        record_everything(robot, run, tmp_path)
        run.finish("interrupted", "why")
        assert (run.status, run.exit_reason) == ("interrupted", "why")
        if has_closed:
            store.close()
    if not has_closed:
        store.close()  # which indexes the rest, now that it can
    assert_all_is_there(path, run.id, "interrupted")


def test_beginning_while_another_process_holds_the_catalogue_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "store"
    with playhead.open(path) as store:
        with store.run("p", "n", run_id="before", environment=False) as run:
            run.log({"loss": 1.0})
        with held(path):
            for begin in (
                lambda: store.run("p", "n", run_id="new"),
                lambda: store.run("p", "n", run_id="before", resume=True),
            ):
                with pytest.raises(StoreLocked, match="for 3 s"):
                    begin()
            assert (store.runs["before"].status, len(store.runs)) == ("finished", 1)
            assert not claims.paths(Layout(path))
        for run_id in ("new", "before"):
            with store.run("p", "n", run_id=run_id, resume=True, environment=False) as run:
                run.log({"loss": 2.0})
        assert store.runs["before"]["loss"].values.tolist() == [1, 2]


def delete(store: playhead.Store) -> None:
    for path in files_of(Layout(store.path).database):
        path.unlink(missing_ok=True)


def replace(store: playhead.Store) -> None:
    delete(store)
    playhead.open(store.path).close()


def damage(store: playhead.Store) -> None:
    for path in files_of(Layout(store.path).database):
        if path.exists() and not path.name.endswith("-shm"):
            size = max(path.stat().st_size, 100_000)
            with open(path, "r+b") as file:
                file.write(os.urandom(size))


def set_everywhere(store: playhead.Store, setting: str) -> None:
    """Change a setting of all connections of a store."""

    def change(connection: sqlite3.Connection, *_: object) -> None:
        connection.execute(setting)

    event.listen(store._home.database._engine, "checkout", change)


def forbid(store: playhead.Store) -> None:
    set_everywhere(store, "PRAGMA query_only=ON")  # SQLite then says what it says of a file that is write-protected


def fill(store: playhead.Store) -> None:
    set_everywhere(store, "PRAGMA max_page_count=1")  # and here, what it says of a full disk


@pytest.mark.parametrize("happen", [delete, replace, damage, forbid, fill])
def test_recording_goes_on_whatever_becomes_of_the_catalogue(
    tmp_path: Path, happen: Callable[[playhead.Store], None]
) -> None:
    path = tmp_path / "store"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        store = playhead.open(path)
        robot = store.dataset("robot")
        with store.run("p", "n", environment=False) as run:
            for value in range(5_000 if happen is fill else 1):
                run.log({"first": value})
                if value == 0:
                    run.flush()
                    happen(store)
            record_everything(robot, run, tmp_path)
        with contextlib.suppress(playhead.PlayheadError):  # the store itself may be gone
            store.close()
    said = [str(warning.message) for warning in caught if warning.category is RuntimeWarning]
    assert len(said) <= 1, said
    assert said or happen in (delete, damage)  # of which SQLite may notice nothing
    if happen is damage:
        playhead.rebuild(path)
    assert_all_is_there(path, run.id, "finished")


def test_an_edit_that_the_catalogue_did_not_learn_is_learnt_by_the_next_open(tmp_path: Path) -> None:
    path = tmp_path / "store"
    with playhead.open(path) as store:
        with store.run("p", "n", environment=False) as run:
            run.log({"loss": 1.0})
        with held(path), pytest.raises(StoreLocked):
            store.runs[run.id].tag("late")
        assert store.runs[run.id].tags == []
        with playhead.open(path) as again:
            assert again.runs[run.id].tags == ["late"]
        assert not claims.paths(Layout(path))
