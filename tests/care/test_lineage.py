"""The lists of artifacts of a run: one that is lost is found, and written again as it was."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

import playhead
from playhead import checksums
from playhead.care import Finding
from playhead.layout import RunFolder
from tests.care.test_repairing import repair
from tests.care.test_verifying import wrong

RUN = "pong/export/runs/run_c"


def lineage(path: Path) -> object:
    with playhead.open(path, mode="r") as store:
        run = store.runs["run_c"]
        return store.artifacts["policy:v1"].lineage().to_json(), run.artifacts_created, run.artifacts_used


def lineage_of_version(path: Path) -> object:
    with playhead.open(path, mode="r") as store:
        return store.artifacts["policy:v1"].lineage().to_json()


def resumed(store: playhead.Store) -> playhead.RunWriter:
    return store.run("pong", "export", run_id="run_c", resume=True, environment=False)


def empty(file: Path) -> None:
    file.write_text(json.dumps({"artifacts": []}))


def other(file: Path) -> None:
    """Put the other list there, whole and with its digest."""
    names = {"artifacts_created.json": "artifacts_used.json", "artifacts_used.json": "artifacts_created.json"}
    file.write_bytes(file.with_name(names[file.name]).read_bytes())


def found_in(path: Path) -> set[tuple[Path, str]]:
    return {(finding.path, finding.cure) for finding in wrong(path)}


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-20])


def garble(file: Path) -> None:
    file.write_bytes(b"\xff\x00 no list")


def change_a_name(file: Path) -> None:
    """Change what it says, and leave its digest."""
    file.write_text(file.read_text().replace("policy", "polity"))


LOSSES = [Path.unlink, empty, other, truncate, garble, change_a_name]
NAMES = ["artifacts_created.json", "artifacts_used.json"]


@pytest.mark.parametrize("lose", LOSSES)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("is_noted", [True, False])
def test_a_lost_list_is_written_again(path: Path, name: str, lose: Callable[[Path], None], is_noted: bool) -> None:
    before, file = lineage(path), path / RUN / name
    data = file.read_bytes()
    if not is_noted:  # a run of an earlier version
        (path / RUN / "checksums.json").unlink()
    lose(file)
    lost = file.read_bytes() if file.exists() else None
    findings = wrong(path)
    assert [finding.path for finding in findings] == [file], findings
    assert "playhead repair" in findings[0].mend
    deeds = repair(path)
    assert deeds[0].done == "written again from the catalogue", deeds
    assert file.read_bytes() == data
    assert [aside.read_bytes() for aside in path.glob(f".quarantine/*/{RUN}/{name}")] == (
        [] if lost is None else [lost]
    )
    assert lineage(path) == before
    assert wrong(path) == []


@pytest.mark.parametrize("lose", LOSSES)
@pytest.mark.parametrize("name", NAMES)
def test_a_run_that_is_resumed_writes_a_lost_list_again(path: Path, name: str, lose: Callable[[Path], None]) -> None:
    before, file = lineage(path), path / RUN / name
    data = file.read_bytes()
    lose(file)
    with playhead.open(path) as store, resumed(store) as run:
        assert file.read_bytes() == data
        lose(file)  # once more, while it is recorded
        run.log({"x": 1})
    assert file.read_bytes() == data
    assert lineage(path) == before
    assert wrong(path) == []


@pytest.mark.parametrize("lose", LOSSES)
def test_what_is_added_to_a_lost_list_comes_behind_what_it_said(path: Path, lose: Callable[[Path], None]) -> None:
    source = path.parent / "more.bin"
    source.write_bytes(b"more")
    with playhead.open(path) as store:
        with resumed(store) as run:
            for name in NAMES:
                lose(path / RUN / name)
            run.use_artifact("policy:v2")
            lose(path / RUN / "artifacts_used.json")
            made = run.log_artifact("policy", source)
            assert made.facts.parent_artifacts == ("model/policy:v1", "model/policy:v2")
        run = store.runs["run_c"]
        assert [entry["version"] for entry in run.artifacts_used] == [1, 2]
        assert [entry["version"] for entry in run.artifacts_created] == [1, 2, 3]
        assert store.sql("SELECT count(*) AS n FROM artifact_uses").to_pylist() == [{"n": 2}]
    assert wrong(path) == []


@pytest.mark.parametrize("lose", LOSSES)
@pytest.mark.parametrize("name", NAMES)
def test_a_resumed_run_that_dies_leaves_a_lost_list_whole(path: Path, name: str, lose: Callable[[Path], None]) -> None:
    before, file = lineage(path), path / RUN / name
    data = file.read_bytes()
    child = os.fork()
    if child == 0:
        resumed(playhead.open(path)).log({"x": 1})
        lose(file)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    playhead.open(path).close()
    assert file.read_bytes() == data
    assert lineage(path) == before
    assert wrong(path) == []


@pytest.mark.parametrize("is_used", [True, False])
def test_a_list_whose_writer_died_before_it_was_noted_is_noted(path: Path, is_used: bool) -> None:
    source = path.parent / "more.bin"
    source.write_bytes(b"more")
    child = os.fork()
    if child == 0:
        run = resumed(playhead.open(path))
        checksums.note = lambda *_: os._exit(0)  # type: ignore[assignment]
        run.use_artifact("policy:v2") if is_used else run.log_artifact("policy", source)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    with playhead.open(path) as store:
        run = store.runs["run_c"]
        assert [entry["version"] for entry in run.artifacts_used] == ([1, 2] if is_used else [1])
        assert [entry["version"] for entry in run.artifacts_created] == ([1, 2] if is_used else [1, 2, 3])
    assert wrong(path) == []


@pytest.mark.parametrize("lose", LOSSES)
def test_a_rebuild_keeps_the_uses_of_a_damaged_list_and_names_it(path: Path, lose: Callable[[Path], None]) -> None:
    used, file = lineage_of_version(path), path / RUN / "artifacts_used.json"
    data = file.read_bytes()
    lose(file)
    assert [problem.path for problem in playhead.rebuild(path)] == [str(file)]
    assert lineage_of_version(path) == used
    assert [finding.path for finding in wrong(path)] == [file]
    repair(path)
    assert file.read_bytes() == data
    assert wrong(path) == []


def test_a_rebuild_takes_a_list_as_it_is_if_nothing_is_noted_of_it(path: Path) -> None:
    (path / RUN / "checksums.json").unlink()
    empty(path / RUN / "artifacts_used.json")
    assert playhead.rebuild(path) == []
    with playhead.open(path, mode="r") as store:
        assert store.sql("SELECT * FROM artifact_uses").to_pylist() == []
    assert wrong(path) == []


def test_a_list_that_is_as_noted_is_believed_and_not_the_catalogue(path: Path) -> None:
    file = path / RUN / "artifacts_used.json"
    data = file.read_bytes()
    add = "INSERT INTO artifact_uses SELECT run, type, name, 2, used_at FROM artifact_uses"
    with contextlib.closing(sqlite3.connect(path / "playhead.db")) as catalogue:
        catalogue.execute(add)
        catalogue.commit()
    with playhead.open(path) as store, resumed(store) as run:
        run.log({"x": 1})
    assert file.read_bytes() == data
    assert [finding.cure for finding in wrong(path)] == ["rebuild"]
    repair(path)
    assert file.read_bytes() == data
    assert wrong(path) == []


def test_a_list_that_was_emptied_by_hand_before_it_was_noted_is_written_again(path: Path) -> None:
    before, file = lineage(path), path / RUN / "artifacts_used.json"
    empty(file)
    checksums.note(RunFolder(file.parent), [file])
    assert [(finding.path, finding.cure) for finding in wrong(path)] == [(file, "lineage")]
    repair(path)
    assert lineage(path) == before
    assert wrong(path) == []


def test_a_list_of_which_nothing_else_is_known_stays_as_it_is_and_is_found(path: Path) -> None:
    file = path / RUN / "artifacts_used.json"
    garble(file)
    lost = file.read_bytes()
    (path / "playhead.db").unlink()
    with playhead.open(path) as store:
        with resumed(store) as run, pytest.raises(playhead.Damaged, match=r"artifacts_used\.json is damaged"):
            run.use_artifact("policy:v2")
        assert store.runs["run_c"].status == "finished"
    assert file.read_bytes() == lost
    assert [(finding.path, finding.cure) for finding in wrong(path)] == [(file, "")]


def test_the_replays_of_a_run_with_an_unreadable_list_are_indexed(path: Path) -> None:
    with playhead.open(path, mode="r") as store:
        steps = store.sql("SELECT count(*) AS n FROM steps").to_pylist()
    file = next(path.glob("pong/*/runs/run_a")) / "artifacts_used.json"
    garble(file)
    os.utime(file.parent, (1, 1))  # else the rebuild looks at it once more
    assert [problem.path for problem in playhead.rebuild(path)] == [str(file)]
    with playhead.open(path, mode="r") as store:
        assert store.sql("SELECT count(*) AS n FROM steps").to_pylist() == steps


def test_a_list_is_found_without_reading_all(path: Path) -> None:
    (path / RUN / "artifacts_used.json").unlink()
    told: list[Finding] = wrong(path, full=False)
    assert [(finding.path.name, finding.cure) for finding in told] == [("artifacts_used.json", "lineage")]


def test_a_lost_list_stays_found_after_a_rebuild(path: Path) -> None:
    file = path / RUN / "artifacts_used.json"
    file.unlink()
    playhead.rebuild(path)
    assert [finding.path for finding in wrong(path)] == [file]


def test_a_run_that_dies_before_it_noted_a_version_names_it_afterwards(tmp_path: Path) -> None:
    path, source = tmp_path / "store", tmp_path / "model.bin"
    source.write_bytes(b"model")
    child = os.fork()
    if child == 0:
        run = playhead.open(path).run("p", "n", run_id="r", environment=False)
        run.log_artifact("policy", source)
        (run.path / "artifacts_created.json").unlink()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    with playhead.open(path) as store:
        assert [entry["version"] for entry in store.runs["r"].artifacts_created] == [1]
    assert wrong(path) == []
