"""What the next open does about claims, damaged files and hostile ones."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import playhead
from playhead import claims, recovery
from playhead.care import verify
from playhead.errors import Misplaced
from playhead.layout import Layout


def killed_run(path: Path, run_id: str = "r") -> Path:
    """Leave what a killed recorder leaves; give the folder of its run."""
    script = (
        f"import playhead, os\nrun = playhead.open({str(path)!r}).run('p', 'n', run_id={run_id!r})\n"
        "run.log({'a': 1})\nos.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", script], check=False)
    return path / "p" / "n" / "runs" / run_id


@pytest.mark.parametrize("name", ["meta.json", "status.json", "summary.json"])
def test_a_damaged_run_is_named_and_all_others_can_be_used(tmp_path: Path, name: str) -> None:
    folder = killed_run(tmp_path / "s")
    (folder / name).write_text('{"half": ')
    with pytest.warns(RuntimeWarning, match=name), playhead.open(tmp_path / "s") as store:
        with store.run("p", "other", environment=False) as run:
            run.log({"a": 2})
        assert store.runs[run.id]["a"].values.tolist() == [2]
    (folder / name).write_text('{"id": "r", "project": "p", "name": "n", "created_at": 1.0}')
    with playhead.open(tmp_path / "s") as store:
        assert store.runs["r"]["a"].values.tolist() == [1]


@pytest.mark.parametrize("run_dir", ["../outside", "/outside", "p/../../outside", ""])
def test_a_hostile_claim_touches_nothing_outside_the_store(tmp_path: Path, run_dir: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("x")
    killed_run(tmp_path / "s")
    (claim,) = (tmp_path / "s" / ".recording").iterdir()
    claim.write_text(json.dumps(json.loads(claim.read_text()) | {"run_dir": run_dir.replace("/outside", str(outside), 1)
                     if run_dir == "/outside" else run_dir}))  # fmt: skip
    with pytest.warns(RuntimeWarning, match="stay inside"):
        playhead.open(tmp_path / "s").close()
    assert (outside / "precious").read_text() == "x"


def test_a_claim_that_is_no_json_is_ignored(tmp_path: Path) -> None:
    killed_run(tmp_path / "s")
    (tmp_path / "s" / ".recording" / "x.1.json").write_text("{")
    (tmp_path / "s" / ".recording" / "y.1.json").write_text(
        '{"run_id": "../y", "run_dir": "a", "part": 1, "process": {}}'
    )
    with playhead.open(tmp_path / "s") as store:
        assert store.runs["r"].status == "failed"


def test_a_media_path_that_leads_out_is_left_out_and_all_others_are_there(tmp_path: Path) -> None:
    folder = killed_run(tmp_path / "s")
    with (folder / "events.jsonl").open("a") as file:
        for second, path in enumerate(("media/a.png", "../../../../x.png", "media/b.png")):
            data = {"key": "k", "path": path, "step": second}
            file.write(json.dumps({"ts": 1794727420.5 + second, "type": "image", "data": data}) + "\n")
    with playhead.open(tmp_path / "s") as store:
        assert [one.path.name for one in store.runs["r"].media] == ["a.png", "b.png"]


def test_a_run_that_died_before_it_was_one_leaves_nothing(tmp_path: Path) -> None:
    playhead.open(tmp_path / "s").close()
    layout = Layout(tmp_path / "s")
    folder = layout.run("p", "n", "r")
    pid = os.fork()
    if pid == 0:
        claims.Claim.make(layout, "r", folder)
        folder.path.mkdir(parents=True)
        os._exit(0)
    os.waitpid(pid, 0)
    with playhead.open(tmp_path / "s") as store:
        assert len(store.runs) == 0
        assert not folder.path.exists()
        with store.run("p", "n", run_id="r", environment=False):
            pass


def test_a_purge_that_died_half_way_is_finished_or_undone(tmp_path: Path) -> None:
    with playhead.open(tmp_path / "s") as store:
        with store.run("p", "n", run_id="r", environment=False) as run:
            run.log({"a": 1})
        store.runs["r"].delete()
        folder = Layout(store.path).run("p", "n", "r")
        pid = os.fork()
        if pid == 0:
            claims.Claim.for_editing(Layout(store.path), "r", folder)
            with playhead.open(tmp_path / "s") as mine, mine._home.database.write() as connection:
                connection.exec_driver_sql("DELETE FROM runs")
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
    with playhead.open(tmp_path / "s") as store:
        assert store.runs.deleted["r"]["a"].values.tolist() == [1]
        assert store.purge() == ["r"]


def test_a_run_whose_meta_was_lost_keeps_its_events(tmp_path: Path) -> None:
    folder = killed_run(tmp_path / "s")
    kept = (folder / "meta.json").rename(tmp_path / "meta.json")
    with pytest.warns(RuntimeWarning, match="events without it"):
        playhead.open(tmp_path / "s").close()
    assert (folder / "events.jsonl").read_bytes().count(b"\n") == 1
    kept.rename(folder / "meta.json")
    with playhead.open(tmp_path / "s") as store:
        assert store.runs["r"]["a"].values.tolist() == [1]


def test_a_run_is_not_begun_in_a_folder_that_is_there(tmp_path: Path) -> None:
    with playhead.open(tmp_path / "s") as store:
        folder = Layout(store.path).run("p", "n", "r").path
        folder.mkdir(parents=True)
        (folder / "notes.txt").write_text("mine")
        with pytest.raises(playhead.Exists):
            store.run("p", "n", run_id="r")
        assert (folder / "notes.txt").read_text() == "mine"
        assert list((store.path / ".recording").glob("*.json")) == []


def test_episodes_of_a_recorder_that_met_a_rebuild_are_indexed_by_the_next_open(tmp_path: Path) -> None:
    path = tmp_path / "s"
    script = (
        f"import playhead, os\nrun = playhead.open({str(path)!r}).run('p', 'n', run_id='r', environment=False)\n"
        "for number in range(3):\n    with run.new_episode('d') as episode:\n        episode.append('x', 1.0, 1)\n"
        "os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", script], check=False)
    with closing(sqlite3.connect(path / "playhead.db")) as database, database:
        database.execute("DELETE FROM episode_folders WHERE number = 1")  # others recorded the next
    assert [str(found) for found in verify(path, full=True) if not found.is_harmless] == []
    playhead.open(path).close()
    with closing(sqlite3.connect(path / "playhead.db")) as database:
        assert database.execute("SELECT number FROM episode_folders ORDER BY number").fetchall() == [(0,), (1,), (2,)]


def test_who_edits_a_run_while_the_claim_of_an_earlier_editor_is_settled_keeps_the_claim(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s"
    with playhead.open(path) as store:
        store.run("p", "n", run_id="r", environment=False).close()
        run = store.runs["r"]
        claims.Claim.for_editing(store._home.layout, "r", run._folder).leave()
        edited, looked = threading.Event(), threading.Event()
        take_in = playhead.Run._take_in

        def hold(run: playhead.Run) -> None:
            edited.set()
            looked.wait(30)
            take_in(run)

        settle = recovery.settle

        def settled(*arguments: Any) -> None:
            settle(*arguments)
            editor.start()
            assert edited.wait(30)

        monkeypatch.setattr(playhead.Run, "_take_in", hold)
        monkeypatch.setattr(recovery, "settle", settled)
        editor = threading.Thread(target=run.note, args=("looks good",))
        try:
            assert recovery.recover(store._home) == ["r"]
            (claim,) = claims.of_run(store._home.layout, "r")
            assert claim.is_live()  # that of the second editor
        finally:
            looked.set()
            editor.join()
        assert claims.paths(store._home.layout) == []
        assert store.runs["r"].notes == "looks good"


def swap(one: Path, other: Path) -> None:
    beside = one.with_name("beside")
    one.rename(beside)
    other.rename(one)
    beside.rename(other)


def reported(path: Path) -> set[Path]:
    return {Path(finding.path) for finding in verify(path) if not finding.is_harmless}


def two_killed_runs(path: Path) -> list[Path]:
    """Leave two runs that nobody has settled yet; return their folders."""
    script = (
        f"import playhead, os\nstore = playhead.open({str(path)!r})\n"
        "runs = [store.run('p', 'n', run_id=name, environment=False) for name in ('one', 'two')]\n"
        "for number, run in enumerate(runs):\n    run.log({'a': number})\nos._exit(9)"
    )
    subprocess.run([sys.executable, "-c", script], check=False)
    return [path / "p" / "n" / "runs" / run_id for run_id in ("one", "two")]


UNRECOVERED = "ignore:a run could not be recovered"


@pytest.mark.filterwarnings(UNRECOVERED)
def test_events_of_two_killed_runs_that_were_swapped_are_never_adopted(tmp_path: Path) -> None:
    path = tmp_path / "s"
    files = {folder / "events.jsonl" for folder in two_killed_runs(path)}
    swap(*files)
    with pytest.warns(RuntimeWarning, match="another file than its name says"), playhead.open(path) as store:
        assert {run_id: list(store.runs[run_id]) for run_id in ("one", "two")} == {"one": [], "two": []}
        with pytest.raises(playhead.Damaged, match="found one of run"):
            store.run("p", "n", run_id="one", resume=True)
    assert reported(path) == files
    assert {Path(problem.path) for problem in playhead.rebuild(path)} == files
    assert reported(path) == files
    swap(*files)
    with playhead.open(path) as store:
        assert [store.runs[run_id].status for run_id in ("one", "two")] == ["failed", "failed"]
        assert [store.runs[run_id]["a"].values.tolist() for run_id in ("one", "two")] == [[0], [1]]
    assert reported(path) == set()


@pytest.mark.filterwarnings(UNRECOVERED)
@pytest.mark.parametrize("has_catalogue", [True, False])
@pytest.mark.parametrize("ends", ["killed", "finished"])
def test_the_meta_of_another_run_in_the_folder_of_a_killed_one_harms_neither(
    tmp_path: Path, ends: str, has_catalogue: bool
) -> None:
    path = tmp_path / "s"
    if ends == "killed":
        _, two = two_killed_runs(path)
    else:
        with playhead.open(path) as store, store.run("p", "n", run_id="one", environment=False) as run:
            run.log({"a": 0})
        two = killed_run(path, "two")
    meta = two / "meta.json"
    before = meta.read_bytes()
    meta.write_bytes((path / "p/n/runs/one/meta.json").read_bytes())
    if not has_catalogue:
        for file in path.glob("playhead.db*"):
            file.unlink()
    with pytest.warns(RuntimeWarning, match="two/meta.json"), playhead.open(path) as store:
        assert (store.runs["one"].status, store.runs["one"]["a"].values.tolist()) == (
            "failed" if ends == "killed" else ends,
            [0],
        )
    assert meta in reported(path)
    assert [Path(problem.path) for problem in playhead.rebuild(path)] == [meta]
    meta.write_bytes(before)
    with playhead.open(path) as store:
        assert store.runs["two"].status == "failed"
        assert store.runs["two"]["a"].values.tolist() == [1]


@pytest.mark.filterwarnings(UNRECOVERED)
@pytest.mark.parametrize("ends", ["killed", "finished"])
def test_the_status_of_another_run_is_never_adopted(tmp_path: Path, ends: str) -> None:
    path = tmp_path / "s"
    if ends == "killed":
        one, two = two_killed_runs(path)
    else:
        with playhead.open(path) as store, store.run("p", "n", run_id="one", environment=False) as run:
            run.log({"a": 0})
            one = run.path
        two = killed_run(path, "two")
    files = {one / "status.json", two / "status.json"}
    swap(*files)
    assert reported(path) == files
    with pytest.warns(RuntimeWarning, match="two/status.json is another file"), playhead.open(path) as store:
        assert store.runs["one"].status == ("running" if ends == "killed" else ends)
        with pytest.raises(Misplaced):
            store.run("p", "n", run_id="two", resume=True)
    assert reported(path) == files
    assert {Path(problem.path) for problem in playhead.rebuild(path)} == files
    assert reported(path) == files
    swap(*files)
    playhead.rebuild(path)
    with playhead.open(path) as store:
        assert store.runs["one"].status == ("failed" if ends == "killed" else ends)
        assert store.runs["two"].status == "failed"
    assert reported(path) == set()


@pytest.mark.filterwarnings(UNRECOVERED)
def test_a_run_that_ended_and_says_that_it_runs_covers_nothing_up(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with playhead.open(path) as store, store.run("p", "n", run_id="one", environment=False) as run:
        run.log({"a": 0})
        run.log_text("a line")
    status, log = run.path / "status.json", run.path / "logs.txt"
    before = status.read_bytes()
    status.write_text(json.dumps({"status": "running", "started_at": json.loads(before)["started_at"]}))
    log.write_bytes(log.read_bytes().replace(b"line", b"lime"))
    assert [Path(problem.path) for problem in playhead.rebuild(path)] == [status]
    with pytest.warns(RuntimeWarning, match="status.json is damaged: expected how the run ended"):
        playhead.open(path).close()
    assert {Path(finding.path) for finding in verify(path, full=True) if not finding.is_harmless} == {status, log}
    status.write_bytes(before)
    assert playhead.rebuild(path) == []
    with playhead.open(path) as store:
        assert store.runs["one"].status == "finished"
    assert [Path(finding.path) for finding in verify(path, full=True) if not finding.is_harmless] == [log]


def test_a_run_that_was_resumed_and_killed_is_settled_without_its_claim(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with playhead.open(path) as store, store.run("p", "n", run_id="one", environment=False) as run:
        run.log({"a": 0})
    script = (
        f"import playhead, os\nrun = playhead.open({str(path)!r}).run('p', 'n', run_id='one', resume=True)\n"
        "run.log({'a': 1})\nos.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", script], check=False)
    for claim in (path / ".recording").iterdir():
        claim.unlink()
    with playhead.open(path) as store:
        assert store.runs["one"].status == "failed"
        assert store.runs["one"]["a"].values.tolist() == [0, 1]
    assert [finding for finding in verify(path, full=True) if not finding.is_harmless] == []


def test_an_integer_that_is_no_float_in_the_events_of_a_killed_run_is_left_out(tmp_path: Path) -> None:
    events = killed_run(tmp_path / "s") / "events.jsonl"
    (line,) = events.read_text().splitlines()
    with events.open("a") as file:
        file.write(line.replace('"a":1', '"a":1' + "0" * 400) + "\n" + line.replace('"a":1', '"a":2') + "\n")
    with playhead.open(tmp_path / "s") as store:
        assert store.runs["r"]["a"].values.tolist() == [1, 2]
    assert playhead.rebuild(tmp_path / "s") == []


def test_one_run_that_cannot_be_recovered_for_a_reason_that_nobody_foresaw_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_killed_runs(tmp_path / "s")
    settle = recovery.settle

    def failing(home: Any, claim: claims.Claim) -> None:
        if claim.run_id == "one":
            raise KeyError("odd")
        settle(home, claim)

    monkeypatch.setattr(recovery, "settle", failing)
    with pytest.warns(RuntimeWarning, match=r"one\.1\.json could not be checked"):
        store = playhead.open(tmp_path / "s")
    with store:
        assert store.runs["two"].status == "failed"
