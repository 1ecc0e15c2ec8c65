"""Taking over a Runicorn folder: everything arrives, nothing twice, nothing outside, and the source stays as it is."""

from __future__ import annotations

import json
import math
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

import playhead
from playhead import disk
from playhead.errors import NotFound, ReadOnly, StoreLocked, WrongType
from playhead.integrations import runicorn
from tests.integrations.conftest import DEAD_PID, MOMENT, RunicornFolder, append, png, tree, write

A, B, C = "20261115_072340_aaaaaa", "20261115_072340_bbbbbb", "20261115_072340_cccccc"
GOLDEN = Path(__file__).parents[3] / "shared" / "golden"


def strict(path: Path) -> list[Any]:
    """Read lines as a parser that knows no bare NaN."""

    def refuse(token: str) -> None:
        raise ValueError(token)

    return [json.loads(line, parse_constant=refuse) for line in path.read_text().splitlines()]


def assert_is_the_demo_run(run: playhead.Run) -> None:
    assert (run.project, run.name, run.status) == ("demo", "expA", "finished")
    assert run["loss"].values[:5].tolist() == [1 / (i + 1) for i in range(5)]
    assert math.isnan(run["loss"].values[5])
    assert run["acc"].values.tolist() == [i / 5 for i in range(5)]
    assert list(run["loss"].steps) == [1, 2, 3, 4, 5, 100]
    assert (run.primary_metric, run.best, run.best_step) == ("loss", 0.2, 5)
    assert run.summary()["note"] == "x"
    assert "hello" in run.logs()
    assert [(image.key, image.step) for image in run.media] == [("img", 1)]
    assert run.media[0].path.read_bytes()[:4] == b"\x89PNG"
    assert run.points == 11


# -- both layouts ---------------------------------------------------------------------------------------------------


def test_a_run_of_the_old_layout_arrives_whole(folder: RunicornFolder, store: playhead.Store) -> None:
    folder.old("demo", "expA", A)
    report = runicorn.migrate(folder.path, store)
    assert (report.found, report.imported, report.skipped, report.refused) == (1, 1, 0, [])
    assert report.points_in == report.points_out == 11
    assert_is_the_demo_run(store.runs[A])


def test_a_run_of_the_new_layout_arrives_whole_with_its_config(folder: RunicornFolder, store: playhead.Store) -> None:
    folder.new("demo/expA", A)
    assert runicorn.migrate(folder.path, store).imported == 1
    assert_is_the_demo_run(store.runs[A])
    assert store.runs[A].config == {"lr": 0.5, "seed": 7}
    assert [run.id for run in store.runs(where="config.lr = 0.5")] == [A]


@pytest.mark.parametrize("version", ["040", "072"])
def test_what_the_real_program_wrote_arrives_whole(version: str, store: playhead.Store) -> None:
    source = GOLDEN / f"runicorn_{version}"
    if not source.is_dir():
        return  # the same values are checked above, on files made here
    before = tree(source)
    report = runicorn.migrate(source, store)
    assert (report.found, report.imported, report.points_in, report.points_out) == (1, 1, 11, 11)
    assert report.artifacts == (1 if version == "040" else 0)
    assert_is_the_demo_run(store.runs[0])
    assert tree(source) == before


def test_a_path_of_one_level_has_the_name_default_and_a_deep_one_keeps_all_levels(
    folder: RunicornFolder, store: playhead.Store
) -> None:
    folder.new("solo", A)
    folder.new("cv/detection/yolo", B)
    folder.new("", C)
    runicorn.migrate(folder.path, store)
    found = {run.id: (run.project, run.name) for run in store.runs}
    assert found == {A: ("solo", "default"), B: ("cv", "detection/yolo"), C: ("default", "default")}


def test_without_a_meta_file_the_folders_name_the_run(folder: RunicornFolder, store: playhead.Store) -> None:
    (folder.old("demo", "expA", A) / "meta.json").unlink()
    (folder.new("cv/yolo/v2", B) / "meta.json").unlink()
    runicorn.migrate(folder.path, store)
    assert (store.runs[A].project, store.runs[A].name) == ("demo", "expA")
    assert (store.runs[B].project, store.runs[B].name) == ("cv", "yolo/v2")
    assert store.runs[A].created_at == MOMENT  # from status.json


def test_the_files_are_strict_json_with_our_keys_and_the_original_ones(
    folder: RunicornFolder, store: playhead.Store
) -> None:
    folder.new("demo/expA", A, meta={"alias": "first", "tags": ["b", "a"], "odd": float("inf")})
    runicorn.migrate(folder.path, store)
    run = store.runs[A]
    meta = json.loads((run.path / "meta.json").read_text())
    assert (meta["id"], meta["project"], meta["name"], meta["alias"]) == (A, "demo", "expA", "first")
    assert (meta["python"], meta["hostname"], meta["pid"], meta["odd"]) == ("3.11.7", "elsewhere", 1, "Infinity")
    assert run.tags == ["a", "b"]
    origin = meta.pop("imported_from")
    assert (origin["program"], origin["workspace_root"]) == ("runicorn", "/home/someone/project")
    assert str(folder.path) not in json.dumps(meta)
    sixth = strict(run.path / "events.jsonl")[5]
    assert (sixth["data"]["loss"], sixth["not_finite"]) == (None, {"loss": "NaN"})
    assert math.isnan(run.summary()["worst"])
    summary = json.loads((run.path / "summary.json").read_text())
    assert (summary["worst"], summary["$not_finite"]) == (None, {"NaN": [["worst"]]})
    assert not list(run.path.rglob("*.lock"))
    assert (run.path / "media" / "1_abcdef_img.png").read_bytes() == png()
    assert (run.path / "assets.json").is_file()


def test_the_catalogue_can_be_rebuilt_from_what_was_imported(folder: RunicornFolder, tmp_path: Path) -> None:
    folder.old("demo", "expA", A)
    folder.recycled(B)
    with playhead.open(tmp_path / "store") as store:
        runicorn.migrate(folder.path, store)
        before = store.sql("SELECT * FROM experiments ORDER BY id").to_pylist()
    assert playhead.rebuild(tmp_path / "store") == []
    with playhead.open(tmp_path / "store") as store:
        assert store.sql("SELECT * FROM experiments ORDER BY id").to_pylist() == before


def test_files_that_playhead_does_not_know_come_along(folder: RunicornFolder, store: playhead.Store) -> None:
    source = folder.old("demo", "expA", A)
    (source / "code").mkdir()
    (source / "code" / "train.py").write_text("pass\n")
    write(source / "artifacts_created.json", {"artifacts": []})
    write(source / "environment.json", {"git_commit": "abc"})
    runicorn.migrate(folder.path, store)
    run = store.runs[A]
    assert (run.path / "code" / "train.py").read_text() == "pass\n"
    assert json.loads((run.path / "artifacts_created.json").read_text()) == {"artifacts": []}
    assert run.environment == {"git_commit": "abc"}


def test_a_store_of_playhead_is_a_runicorn_folder_too_and_keeps_its_stamps(tmp_path: Path) -> None:
    with playhead.open(tmp_path / "first") as first, first.run("a/b", "n", environment=False) as run:
        run.log({"loss": 1.0, "inf": math.inf})
        with first.attach(run.id) as other:
            other.log({"loss": 2.0})
    with playhead.open(tmp_path / "second") as second:
        assert runicorn.migrate(tmp_path / "first", second).is_complete
        copy = second.runs[run.id]
        assert (copy.project, copy["inf"].values.tolist()) == ("a/b", [math.inf])
        assert copy.metrics().to_pylist() == run.metrics().to_pylist()


# -- again and again ------------------------------------------------------------------------------------------------


def test_a_second_time_doubles_nothing(folder: RunicornFolder, store: playhead.Store) -> None:
    folder.old("demo", "expA", A)
    folder.recycled(B)
    runicorn.migrate(folder.path, store)
    before = tree(store.path / "demo")
    report = runicorn.migrate(folder.path, store)
    assert (report.found, report.imported, report.skipped, report.differing) == (2, 0, 2, [])
    assert tree(store.path / "demo") == before
    assert store.info()["points"] == 22


def test_new_runs_are_added_to_those_that_are_there(folder: RunicornFolder, store: playhead.Store) -> None:
    folder.old("demo", "expA", A)
    runicorn.migrate(folder.path, store)
    folder.new("demo/expA", B)
    report = runicorn.migrate(folder.path, store)
    assert (report.imported, report.skipped) == (1, 1)
    assert {run.id for run in store.runs} == {A, B}


def test_a_source_that_went_on_is_reported_and_the_store_kept(folder: RunicornFolder, store: playhead.Store) -> None:
    source = folder.old("demo", "expA", A)
    runicorn.migrate(folder.path, store)
    append(source, '{"ts": 1700000099, "type": "metrics", "data": {"loss": 0.1, "global_step": 101}}')
    report = runicorn.migrate(folder.path, store)
    assert [finding.run for finding in report.differing] == [f"demo/expA/runs/{A}"]
    assert not report.is_complete
    assert store.runs[A].points == 11


def test_edits_in_the_store_are_no_difference(folder: RunicornFolder, store: playhead.Store) -> None:
    folder.old("demo", "expA", A)
    runicorn.migrate(folder.path, store)
    store.runs[A].tag("good")
    assert runicorn.migrate(folder.path, store).differing == []


def test_a_run_of_the_same_id_that_was_recorded_in_the_store_is_kept_and_reported(
    folder: RunicornFolder, store: playhead.Store
) -> None:
    folder.old("demo", "expA", A)
    with store.run("mine", "n", run_id=A, environment=False) as run:
        run.log({"x": 1})
    report = runicorn.migrate(folder.path, store)
    assert (report.present, len(report.differing)) == (1, 1)
    assert store.runs[A].project == "mine"


def test_a_run_that_is_being_recorded_in_the_store_is_not_touched(
    folder: RunicornFolder, store: playhead.Store
) -> None:
    folder.old("demo", "expA", A)
    with store.run("demo", "expA", run_id=A, environment=False) as run:
        run.log({"x": 1})
        assert runicorn.migrate(folder.path, store).imported == 0
    assert store.runs[A].metric_names() == ["x"]


def test_two_runs_of_one_id_in_the_source_give_one_run_and_a_finding(
    folder: RunicornFolder, store: playhead.Store
) -> None:
    folder.old("demo", "expA", A)
    append(folder.new("other/place", A), '{"ts": 1700000099, "type": "metrics", "data": {"x": 1, "global_step": 1}}')
    report = runicorn.migrate(folder.path, store)
    assert (report.found, report.imported, len(report.differing)) == (2, 1, 1)


def test_only_one_migration_at_a_time(folder: RunicornFolder, store: playhead.Store) -> None:
    folder.old("demo", "expA", A)
    runicorn.migrate(folder.path, store)
    with disk.locked(store.path / ".incoming"), pytest.raises(StoreLocked, match="under way"):
        runicorn.migrate(folder.path, store)


def test_leftovers_of_a_crash_are_removed(folder: RunicornFolder, store: playhead.Store) -> None:
    (store.path / ".incoming" / A / "media").mkdir(parents=True)
    runicorn.migrate(folder.path, store)
    assert os.listdir(store.path / ".incoming") == []


def test_progress_sees_every_run(folder: RunicornFolder, store: playhead.Store) -> None:
    folder.old("demo", "expA", A)
    folder.new("demo/expA", B)
    seen: list[str] = []

    def progress(runs: Sequence[Any]) -> Iterable[Any]:
        assert len(runs) == 2
        for run in runs:
            yield run
            seen.append(run.path.name)

    runicorn.migrate(folder.path, store, progress)
    assert seen == [A, B]


# -- how a run ended ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "meaning"),
    [
        ("Completed", "finished"),
        ("error", "failed"),
        ("crashed", "failed"),
        ("killed", "interrupted"),
        ("cancelled", "interrupted"),
        ("aborted", "interrupted"),
        ("preempted", "finished"),
        (None, "finished"),
    ],
)
def test_words_for_the_status_are_mapped_in_the_file_too(
    word: str | None, meaning: str, folder: RunicornFolder, store: playhead.Store
) -> None:
    folder.old("demo", "expA", A, status={"status": word, "started_at": MOMENT})
    runicorn.migrate(folder.path, store)
    assert store.runs[A].status == meaning
    assert json.loads((store.runs[A].path / "status.json").read_text())["status"] == meaning


def test_a_run_without_a_status_file_is_finished(folder: RunicornFolder, store: playhead.Store) -> None:
    (folder.old("demo", "expA", A) / "status.json").unlink()
    runicorn.migrate(folder.path, store)
    assert store.runs[A].status == "finished"


def test_a_run_that_is_still_being_recorded_is_left_for_later(folder: RunicornFolder, store: playhead.Store) -> None:
    running = {"status": "running", "started_at": MOMENT}
    here = {"hostname": socket.gethostname()}
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as recorder:
        folder.old("demo", "expA", A, meta={**here, "pid": recorder.pid}, status=running)
        report = runicorn.migrate(folder.path, store)
        assert (report.imported, report.skipped, len(report.recording)) == (0, 1, 1)
        assert str(recorder.pid) in report.recording[0].reason
        assert "Import again when it has ended" in str(report)
        assert len(store.runs) == 0
        recorder.communicate(b"\n")
    assert runicorn.migrate(folder.path, store).imported == 1


def test_a_run_whose_process_is_gone_has_failed(folder: RunicornFolder, store: playhead.Store) -> None:
    running = {"status": "running", "started_at": MOMENT}
    folder.old("demo", "expA", A, meta={"hostname": socket.gethostname(), "pid": DEAD_PID}, status=running)
    runicorn.migrate(folder.path, store)
    run = store.runs[A]
    assert (run.status, run.exit_reason, run.ended_at) == ("failed", "process_not_found", MOMENT + 6)


def test_a_run_of_another_machine_counts_as_recording_until_its_files_have_been_still(
    folder: RunicornFolder, store: playhead.Store
) -> None:
    source = folder.old("demo", "expA", A, status={"status": "running", "started_at": MOMENT})
    report = runicorn.migrate(folder.path, store)
    assert "elsewhere" in report.recording[0].reason
    for path in source.rglob("*"):
        os.utime(path, (time.time() - 3600,) * 2)
    runicorn.migrate(folder.path, store)
    assert store.runs[A].status == "failed"


def test_deleted_runs_stay_deleted_and_can_be_restored(folder: RunicornFolder, store: playhead.Store) -> None:
    write(folder.old("demo", "expA", A) / ".deleted", {"deleted_at": MOMENT + 50, "reason": "why"})
    (folder.old("demo", "expB", B) / ".deleted").touch()  # that it exists is enough for Runicorn
    folder.recycled(C)
    report = runicorn.migrate(folder.path, store)
    assert (report.imported, report.unreadable_files) == (3, [])
    assert len(store.runs) == 0
    deleted = {run.id: run for run in store.runs.deleted}
    assert set(deleted) == {A, B, C}
    assert deleted[A].deleted_at == MOMENT + 50
    assert (deleted[C].project, deleted[C].name) == ("demo", "expA")
    deleted[C].restore()
    assert_is_the_demo_run(store.runs[C])


# -- what is broken -------------------------------------------------------------------------------------------------


def test_lines_that_are_no_events_are_counted_and_kept(folder: RunicornFolder, store: playhead.Store) -> None:
    bad = [
        '{"ts": 1700000007, "type": "metrics", "data": {"loss": 0.',
        "[1, 2]",
        '{"type": "metrics", "data": {"loss": 1}}',
        b"\xff\xfe\x00",
        "[" * 100_000,
        '{"ts": 1700000007, "type": "metrics", "data": {"loss": ' + "9" * 5000 + "}}",
        '{"ts": 1700000007, "type": "metrics", "data": {"loss": 1, "global_step": 1e300}}',
        '{"ts": 1700000007, "type": "image", "data": {"key": "k", "path": "../../../../etc/passwd"}}',
        '{"ts": 1700000007, "type": "image", "data": {"key": "k", "path": "/etc/passwd"}}',
    ]
    append(folder.old("demo", "expA", A), "", *bad, "  ")
    report = runicorn.migrate(folder.path, store)
    run = store.runs[A]
    kept = (run.path / "events.rejected.txt").read_bytes().splitlines()
    assert report.unreadable_lines == len(bad) == len(kept)
    assert kept == [line.encode() if isinstance(line, str) else line for line in bad]
    assert report.points_in == report.points_out == 11
    assert len(strict(run.path / "events.jsonl")) == 7
    assert f"{len(bad)} lines not readable" in str(report)


def test_a_last_line_without_its_newline_counts_if_it_is_whole(folder: RunicornFolder, store: playhead.Store) -> None:
    source = folder.old("demo", "expA", A)
    with (source / "events.jsonl").open("a") as file:
        file.write('{"ts": 1700000099, "type": "metrics", "data": {"loss": 0.01, "global_step": 101}}')
    runicorn.migrate(folder.path, store)
    assert (store.runs[A].points, store.runs[A].best) == (12, 0.01)


def test_a_clock_that_was_set_back_makes_no_metric_of_the_time(folder: RunicornFolder, store: playhead.Store) -> None:
    early = {"loss": 3.0, "global_step": 200, "time": MOMENT - 60}
    append(folder.old("demo", "expA", A), json.dumps({"ts": MOMENT - 60, "type": "metrics", "data": early}))
    report = runicorn.migrate(folder.path, store)
    assert report.points_in == report.points_out == 12
    assert store.runs[A].metric_names() == ["acc", "loss"]


def test_values_of_odd_types_are_brought_to_those_of_the_catalogue(
    folder: RunicornFolder, store: playhead.Store
) -> None:
    source = folder.old("demo", "expA", A)
    odd = [
        {"x": 1, "step": 7},
        {"x": 2, "global_step": 8.0, "stage": 3},
        {"x": 2**70, "global_step": "9"},
        {"x": True, "global_step": 10, "text": "words", "list": [1, 2], "nothing": None},
        {"x": "-Infinity", "global_step": 11, "\ud800": 5},
    ]
    append(source, *(json.dumps({"ts": MOMENT + 9, "type": "metrics", "data": data}) for data in odd))
    picture = {"key": "k", "path": "media/p.png", "step": "5", "caption": [1]}
    append(source, json.dumps({"ts": MOMENT + 9, "type": "image", "data": picture}))
    report = runicorn.migrate(folder.path, store)
    run = store.runs[A]
    assert run["x"].values.tolist() == [1, 2, float(2**70), 1, -math.inf]
    assert list(run["x"].steps) == [7, 8, 9, 10, 11]
    assert report.points_in == report.points_out == 17
    assert run.media[-1].step == 5
    assert run.media[-1].caption == "[1]"
    assert report.unreadable_lines == 0


def test_json_files_that_cannot_be_read_are_kept_beside(folder: RunicornFolder, store: playhead.Store) -> None:
    source = folder.old("demo", "expA", A)
    (source / "status.json").write_text('{"status": "fini')
    (source / "summary.json").write_text("[]")
    (source / "meta.json").write_text("")
    report = runicorn.migrate(folder.path, store)
    run = store.runs[A]
    assert (run.project, run.name, run.status, run.points) == ("demo", "expA", "finished", 11)
    assert (run.path / "status.json.rejected.txt").read_text() == '{"status": "fini'
    assert sorted(Path(name).name for name in report.unreadable_files) == ["meta.json", "status.json", "summary.json"]


def test_values_of_odd_types_in_meta_do_no_harm(folder: RunicornFolder, store: playhead.Store) -> None:
    odd = {"created_at": float("nan"), "pid": 2**80, "tags": "solo", "config": [1], "notes": None, "big": 10**400}
    folder.old("demo", "expA", A, meta=odd)
    folder.old("demo", "expA", B, meta={"tags": {"no": 1}, "config": {"n": 10**400, "\ud800": 1}, "created_at": "now"})
    assert runicorn.migrate(folder.path, store).imported == 2
    assert (store.runs[A].tags, store.runs[A].config, store.runs[A].created_at) == (["solo"], {}, MOMENT)
    assert store.runs[B].tags == []


def test_a_best_value_that_was_nan_for_ever_is_put_right(folder: RunicornFolder, store: playhead.Store) -> None:
    source = folder.old("demo", "expA", A)
    best = {"best_metric_name": "loss", "best_metric_mode": "min"}
    write(source / "summary.json", {**best, "best_metric_value": float("nan"), "best_metric_step": 1})
    runicorn.migrate(folder.path, store)
    assert store.runs[A].best == 0.2
    assert store.runs[A].summary()["best_metric_value"] == 0.2


def test_folders_that_are_no_runs_are_refused(folder: RunicornFolder, store: playhead.Store) -> None:
    (folder.path / "demo" / "expA" / "runs" / "tmp").mkdir(parents=True)
    (folder.path / "runs" / "demo" / A).mkdir(parents=True)
    report = runicorn.migrate(folder.path, store)
    assert sorted(finding.run for finding in report.refused) == ["demo/expA/runs/tmp", f"runs/demo/{A}"]
    assert "no meta.json" in report.refused[0].reason


def test_artifacts_are_counted_and_never_taken_for_runs(folder: RunicornFolder, store: playhead.Store) -> None:
    version = folder.path / "artifacts" / "model" / "runs" / "v1"
    version.mkdir(parents=True)
    write(version / "manifest.json", {"files": []})
    report = runicorn.migrate(folder.path, store)
    assert (report.found, report.artifacts, report.refused) == (0, 1, [])


# -- what is hostile ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "meta",
    [
        {"project": "..", "name": "x"},
        {"project": "p", "name": "../../x"},
        {"project": "/etc", "name": "x"},
        {"project": "p\0", "name": "x"},
        {"project": "x" * 300, "name": "x"},
        {"path": "../../outside"},
        {"path": "a/../../b"},
        {"id": "../../outside"},
        {"id": "a/b"},
    ],
)
def test_hostile_names_are_refused_and_nothing_is_written_outside(
    meta: dict[str, str], folder: RunicornFolder, store: playhead.Store, tmp_path: Path
) -> None:
    folder.at(folder.path / "runs" / "demo" / A, meta=meta)
    before = set(tmp_path.iterdir())
    report = runicorn.migrate(folder.path, store)
    assert (report.found, report.imported, len(report.refused)) == (1, 0, 1)
    assert report.refused[0].reason
    assert set(tmp_path.iterdir()) == before
    assert {path.name for path in store.path.iterdir() if not path.name.startswith("playhead.")} <= {
        ".incoming",
        ".recording",
    }


def test_a_folder_whose_name_cannot_be_an_id_is_refused(folder: RunicornFolder, store: playhead.Store) -> None:
    folder.old("demo", "expA", "my run")
    report = runicorn.migrate(folder.path, store)
    assert "'my run' cannot be a run id" in report.refused[0].reason


def test_names_of_lanes_are_stored_safely(folder: RunicornFolder, store: playhead.Store) -> None:
    folder.old("replay", "x", A)
    folder.new("artifacts/y", B)
    assert runicorn.migrate(folder.path, store).imported == 2
    assert [run.project for run in store.runs(order="id")] == ["replay", "artifacts"]
    assert not (store.path / "replay").exists()


def test_links_are_never_followed(folder: RunicornFolder, store: playhead.Store, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key.txt").write_text("secret")
    source = folder.old("demo", "expA", A)
    (source / "media" / "key.txt").symlink_to(secret / "key.txt")
    (source / "media" / "all").symlink_to(secret)
    (source / "summary.json").unlink()
    (source / "summary.json").symlink_to(secret / "key.txt")
    os.mkfifo(source / "pipe")
    elsewhere = RunicornFolder(tmp_path / "elsewhere")
    elsewhere.old("far", "away", B)
    (folder.path / "far").symlink_to(elsewhere.path / "far")
    (folder.path / "demo" / "expA" / "runs" / C).symlink_to(source)
    report = runicorn.migrate(folder.path, store)
    assert [run.id for run in store.runs] == [A]
    assert b"secret" not in b"".join(content or b"" for content in tree(store.runs[A].path).values())
    here = f"demo/expA/runs/{A}"
    expected = ["media/all", "media/key.txt", "pipe", "summary.json"]
    assert sorted(report.left_out) == sorted([*(f"{here}/{name}" for name in expected), "far", f"demo/expA/runs/{C}"])


def test_events_that_are_a_link_are_not_read(folder: RunicornFolder, store: playhead.Store, tmp_path: Path) -> None:
    source = folder.old("demo", "expA", A)
    shutil.move(source / "events.jsonl", tmp_path / "elsewhere.jsonl")
    (source / "events.jsonl").symlink_to(tmp_path / "elsewhere.jsonl")
    (source / "events-2.jsonl").symlink_to(tmp_path / "elsewhere.jsonl")
    report = runicorn.migrate(folder.path, store)
    assert (report.imported, report.points_in, store.runs[A].points) == (1, 0, 0)
    assert len(report.left_out) == 2


def test_files_and_folders_that_take_the_names_of_ours_do_no_harm(
    folder: RunicornFolder, store: playhead.Store
) -> None:
    source = folder.old("demo", "expA", A)
    poison = '{"ts": 1700000007, "type": "metrics", "data": {"x": 1, "global_step": 1' + "0" * 30 + "}}\n"
    names = ["events-0.jsonl", "events-01.jsonl", f"events-{10**30}.jsonl"]
    for name in names:
        (source / name).write_text(poison)
    (source / "summary.json").unlink()
    (source / "summary.json").mkdir()
    (source / "events-5.jsonl").mkdir()
    (source / "events.rejected.txt").mkdir()
    append(source, "not an event")
    (source / os.fsdecode(b"\xff.txt")).write_text("a name that is not text")
    report = runicorn.migrate(folder.path, store)
    assert (report.imported, report.points_in, report.points_out) == (1, 11, 11)
    assert sorted(Path(name).name for name in report.unreadable_files) == sorted(names)
    assert (store.runs[A].path / "events-0.jsonl.rejected.txt").read_text() == poison
    assert sorted(Path(name).name for name in report.left_out) == [
        "events-5.jsonl",
        "events.rejected.txt",
        "summary.json",
    ]


def test_a_run_that_cannot_be_read_is_refused_and_the_others_arrive(
    folder: RunicornFolder, store: playhead.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = folder.old("demo", "expA", A)
    folder.old("demo", "expA", B)
    copy = disk.copy

    def failing_copy(source: disk.StrPath, target: disk.StrPath, *, durable: bool = True) -> None:
        if Path(source) == broken / "logs.txt":
            raise PermissionError(13, "Permission denied", str(source))
        copy(source, target, durable=durable)

    monkeypatch.setattr(disk, "copy", failing_copy)  # root may read anything, so the file system would not refuse
    report = runicorn.migrate(folder.path, store)
    assert (report.imported, len(report.refused)) == (1, 1)
    assert "Permission denied" in report.refused[0].reason
    assert [run.id for run in store.runs] == [B]
    assert os.listdir(store.path / ".incoming") == []


# -- where from and where to ----------------------------------------------------------------------------------------


def test_the_source_is_never_changed(folder: RunicornFolder, store: playhead.Store) -> None:
    folder.old("demo", "expA", A, status={"status": "running"}, meta={"pid": DEAD_PID, "hostname": None})
    folder.recycled(B)
    append(folder.new("demo/expA", C), "half a line")
    before = tree(folder.path)
    assert runicorn.migrate(folder.path, store).imported == 3
    assert tree(folder.path) == before


def test_a_store_inside_the_source_is_not_imported_into_itself(tmp_path: Path) -> None:
    folder = RunicornFolder(tmp_path / "runicorn")
    folder.old("demo", "expA", A)
    with playhead.open(folder.path / "store") as store:
        for _ in range(2):
            assert runicorn.migrate(folder.path, store).found == 1


def test_the_store_itself_is_refused_as_a_source(store: playhead.Store) -> None:
    with pytest.raises(WrongType, match="lies in the store"):
        runicorn.migrate(store.path, store)


def test_a_missing_folder_is_an_error_and_an_empty_one_a_hint(tmp_path: Path, store: playhead.Store) -> None:
    with pytest.raises(NotFound, match="there is no folder"):
        runicorn.migrate(tmp_path / "nowhere", store)
    (tmp_path / "empty").mkdir()
    assert "RUNICORN_DIR" in str(runicorn.migrate(tmp_path / "empty", store))


def test_a_store_open_for_reading_is_refused(folder: RunicornFolder, store: playhead.Store) -> None:
    with playhead.open(store.path, mode="r") as reader, pytest.raises(ReadOnly):
        runicorn.migrate(folder.path, reader)


def test_what_is_in_the_way_is_not_overwritten(folder: RunicornFolder, store: playhead.Store) -> None:
    folder.old("demo", "expA", A)
    taken = store.path / "demo" / "expA" / "runs" / A
    taken.mkdir(parents=True)
    (taken / "mine.txt").write_text("mine")
    report = runicorn.migrate(folder.path, store)
    assert "in the way" in report.refused[0].reason
    assert tree(taken) == {"mine.txt": b"mine"}


def test_long_lists_are_cut_in_the_text_and_whole_in_json(folder: RunicornFolder, store: playhead.Store) -> None:
    source = folder.old("demo", "expA", "bad 0")
    for n in range(1, 25):
        shutil.copytree(source, source.with_name(f"bad {n}"))
    report = runicorn.migrate(folder.path, store)
    assert "… and 5 more" in str(report)
    assert len(report.to_json()["refused"]) == 25
