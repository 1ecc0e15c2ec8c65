"""Whole files of another store, or of another day, with all the right names in them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import playhead
from playhead.care import optimizing, verify
from tests.care.test_repairing import repair
from tests.care.test_verifying import wrong


def make(path: Path, seed: int) -> Path:
    """Make a store; all of them have the same ids, and values of their own."""
    with playhead.open(path) as store:
        with store.run("p", "n", run_id="r", environment=False) as run:
            run.log({"loss": float(seed)})
            for parts in (1, 2):
                for _ in range(parts):
                    reel = run.new_reel(facts={"parts": parts})
                    for step in range(10):
                        reel.step({"observations": np.arange(3.0) + seed}, float(seed), step == 9, False)
                    reel.close()
            for form in ("trace", "json"):
                with run.trace(f"fit_{form}", form=form) as trace:
                    trace.append({"w": [float(seed)]}, error=1.0, input=1.0)
        with store.dataset("d").new_episode(uid="u", created_ts_ns=1000) as episode:
            for k in range(9):
                episode.append("x", float(k * seed), 1000 + k)
        store.tables.build("t", np.arange(50.0) + seed)
    return path


@pytest.mark.parametrize(
    "where",
    ["replay/r.h5", "replay/r.1/0000.h5", "replay/r.1", "traces/r/fit_trace.trace", "traces/r/fit_json.json"],
)
def test_a_sealed_file_of_another_store_is_found_and_stays_found(tmp_path: Path, where: str) -> None:
    path, other = make(tmp_path / "one", 1), make(tmp_path / "other", 2)
    _copy(other / where, path / where)
    for _ in range(2):
        found = wrong(path)
        assert any(path / where in (finding.path, *finding.path.parents) for finding in found), found
        assert not [finding for finding in found if "rebuild" in finding.mend]  # the catalogue is right
        playhead.rebuild(path)


@pytest.mark.parametrize("lose", [Path.unlink, lambda file: shutil.rmtree(file.parent)])
def test_a_sealed_file_that_is_gone_is_found_and_stays_found(tmp_path: Path, lose: Callable[[Path], None]) -> None:
    path = make(tmp_path / "one", 1)
    lose(path / "traces/r/fit_trace.trace")
    playhead.rebuild(path)
    assert path / "traces/r/fit_trace.trace" in {finding.path for finding in wrong(path)}


def test_what_a_repair_moved_aside_is_not_missed(tmp_path: Path) -> None:
    path = make(tmp_path / "one", 1)
    file = path / "replay/r.h5"
    file.write_bytes(file.read_bytes()[:-30])
    assert any("moved to" in deed.done for deed in repair(path))
    repair(path)  # the list of replays for other programs
    assert wrong(path) == []


def test_notes_follow_a_run_that_goes_on_and_what_is_compressed_again(tmp_path: Path) -> None:
    path = make(tmp_path / "one", 1)
    with playhead.open(path) as store:
        with store.run("p", "n", run_id="r", resume=True, environment=False) as run:
            reel = run.new_reel(facts={"parts": 1})
            reel.step({"observations": np.arange(3.0)}, 1.0, True, False)
            with run.trace("fit_trace") as trace:
                trace.append({"w": [9.0]}, error=0.5, input=1.0)
        assert wrong(path) == []
        assert optimizing.compact(store._home, level=15).recompressed
    assert wrong(path) == []
    noted = json.loads((path / "p/n/runs/r/checksums.json").read_text())["sealed"]
    assert set(noted) == {
        *(f"replay/r{number}/000{part}.h5" for number in ("", ".1") for part in (0, 1)),
        "traces/r/fit_json.json",
        "traces/r/fit_trace.trace",
    }


def test_an_episode_in_another_dataset_is_right_and_noted(tmp_path: Path) -> None:
    path = make(tmp_path / "one", 1)
    with playhead.open(path) as store:
        store.dataset("e").new_episode(uid="v").close()
    (path / "episodes/d/000000000000/000000000000").rename(path / "episodes/e/000000000000/000000000001")
    playhead.rebuild(path)
    with playhead.open(path, mode="r") as store:
        assert [episode.uid for episode in store.dataset("e")] == ["v", "u"]
        assert store.dataset("e")[1]["x"].values.tolist() == [float(k) for k in range(9)]
    assert wrong(path) == []
    assert [finding.path for finding in verify(path) if "moved or copied" in finding.found] == [path / "episodes/e"]


def test_a_table_under_a_second_name_is_refused(tmp_path: Path) -> None:
    path = make(tmp_path / "one", 1)
    shutil.copytree(path / "tables/t", path / "tables/copy")
    with playhead.open(path) as store, pytest.raises(playhead.Damaged, match="found table 't'"):
        _ = store.tables["copy"]
    assert {finding.path for finding in wrong(path)} == {path / "tables/copy"}


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.rmtree(target)
        shutil.copytree(source, target)
    else:
        shutil.copy(source, target)
