"""A check that ends in a way that nobody foresaw is reported with its file, and everything else is looked at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import playhead
from playhead import recovery
from playhead.care import collecting, usage, verify
from playhead.care.repairing import Repair
from playhead.check import values, verify_episode
from playhead.lanes.files.manifest import Manifest
from playhead.layout import Layout, RunFolder, VersionFolder
from tests.care.test_verifying import change

Patch = pytest.MonkeyPatch


def failing(known: Callable[..., Any], where: str) -> Callable[..., Any]:
    """Return a function that fails if one of its arguments is a file or folder of this name."""

    def call(*arguments: Any, **options: Any) -> Any:
        if any(where in str(getattr(one, "path", one)) for one in arguments):
            raise KeyError("rows")
        return known(*arguments, **options)

    return call


def test_a_check_of_the_store_names_the_file_and_goes_on(path: Path, monkeypatch: Patch) -> None:
    change(path / "tables/numbers/steps.npy")
    monkeypatch.setattr(RunFolder, "parts", failing(RunFolder.parts, "run_b"))
    (found,) = [finding for finding in verify(path, full=True) if "could not be checked" in finding.found]
    assert (found.severity, found.path) == ("damage", path / "pong/dqn/runs/run_b")
    assert "KeyError: 'rows'" in found.found
    assert "report this message" in found.mend
    assert "tables" in {finding.lane for finding in verify(path, full=True) if not finding.is_harmless}


def test_a_check_of_an_episode_names_the_file_and_goes_on(path: Path, monkeypatch: Patch) -> None:
    folder = path / "episodes/teleop/000000000000/000000000001"
    change(folder / "said.parquet")
    monkeypatch.setattr(values, "look", failing(lambda *_: [], "["))  # every signal with numbers
    found = {finding.path.name: finding.text for finding in verify_episode(folder)}
    assert "could not be checked: KeyError" in found["joint.parquet"]
    assert "a Parquet file" in found["said.parquet"]


def test_a_repair_goes_on(path: Path, monkeypatch: Patch) -> None:
    for name in ("replay/index.json", "tables/numbers/manifest.json"):
        (path / name).write_bytes(b"{")
    monkeypatch.setattr(Repair, "_write_index", failing(Repair._write_index, "index.json"))
    deeds = {deed.path.name: deed for deed in Repair(Layout(path)).mend(verify(path))}
    assert "KeyError" in deeds["index.json"].left
    assert deeds["manifest.json"].done


def test_sizes_and_garbage_leave_the_version_out(path: Path, monkeypatch: Patch) -> None:
    stray = path / "artifacts/.dedup/aa" / ("aa" + "0" * 62)
    stray.parent.mkdir(exist_ok=True)
    stray.write_bytes(b"left by a crash")
    left = path / ".meta.json.999999999-0badf00d.tmp"
    left.write_bytes(b"{")
    monkeypatch.setattr(Manifest, "load", failing(Manifest.load, "policy/v1"))
    assert VersionFolder(path / "artifacts/model/policy/v1").manifest.exists()
    assert usage.measure(Layout(path)).total > 0
    with playhead.open(path) as store:
        done = collecting.collect(store._home, older_than=0)
    assert [found.path for found in done.garbage] == [left]
    assert "could not be checked: KeyError" in done.problems[0]
    assert stray.exists()


def test_a_rebuild_lists_everything_else(path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr(recovery, "index_part", failing(recovery.index_part, "run_b"))
    (problem,) = playhead.rebuild(path)
    assert problem.path == str(path / "pong/dqn/runs/run_b")
    assert "could not be checked: KeyError" in str(problem)
    monkeypatch.undo()
    with playhead.open(path, mode="r") as store:
        assert {"run_a", "run_c"} <= {run.id for run in store.runs}
        assert len(store.runs["run_a"]["loss"]) == 200
