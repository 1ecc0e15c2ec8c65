"""The lists of artifacts of a run: one that is lost is found, and written again as it was."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import playhead
from playhead.care import Finding
from tests.care.test_repairing import repair
from tests.care.test_verifying import wrong

RUN = "pong/export/runs/run_c"


def lineage(path: Path) -> object:
    with playhead.open(path, mode="r") as store:
        run = store.runs["run_c"]
        return store.artifacts["policy:v1"].lineage().to_json(), run.artifacts_created, run.artifacts_used


def empty(file: Path) -> None:
    file.write_text(json.dumps({"artifacts": []}))


def other(file: Path) -> None:
    """Put the other list there, whole and with its digest."""
    names = {"artifacts_created.json": "artifacts_used.json", "artifacts_used.json": "artifacts_created.json"}
    file.write_bytes(file.with_name(names[file.name]).read_bytes())


def found_in(path: Path) -> set[tuple[Path, str]]:
    return {(finding.path, finding.cure) for finding in wrong(path)}


@pytest.mark.parametrize("lose", [Path.unlink, empty, other])
@pytest.mark.parametrize("name", ["artifacts_created.json", "artifacts_used.json"])
@pytest.mark.parametrize("is_noted", [True, False])
def test_a_lost_list_is_written_again(path: Path, name: str, lose: object, is_noted: bool) -> None:
    if lose is other and not is_noted and name == "artifacts_used.json":
        pytest.skip("nothing says which of two whole lists is the right one, if one has all that is in the other")
    before, file = lineage(path), path / RUN / name
    data = file.read_bytes()
    if not is_noted:  # a run of an earlier version
        (path / RUN / "checksums.json").unlink()
    assert callable(lose)
    lose(file)
    findings = wrong(path)
    assert [finding.path for finding in findings] == [file], findings
    if is_noted or lose is not other:
        deeds = repair(path)
        assert deeds[0].done == "written again from the catalogue", deeds
        assert file.read_bytes() == data
        assert lineage(path) == before
        assert wrong(path) == []
    else:  # both may be right, and only a person knows
        assert findings[0].cure == ""
        assert "restore it" in findings[0].mend.lower()


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
