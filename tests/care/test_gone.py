"""A file that is gone and that others rely on: named before and after a rebuild, and what it said is not made up."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import playhead
from playhead.care import collecting, verify
from tests.care.test_repairing import repair
from tests.care.test_verifying import wrong

RUN, POLICY = "pong/dqn/runs/run_a", "artifacts/model/policy"


def told(path: Path) -> set[Path]:
    return {finding.path for finding in verify(path, full=True) if not finding.is_harmless}


def test_a_run_without_the_file_that_makes_it_one_is_named_also_after_a_rebuild(path: Path) -> None:
    meta = path / RUN / "meta.json"
    meta.unlink()
    for _ in range(2):
        assert meta in told(path)
        assert str(meta) in " ".join(map(str, playhead.rebuild(path)))


def test_repair_makes_a_run_again_that_the_catalogue_knows(path: Path) -> None:
    with playhead.open(path) as store:
        before = store.runs["run_a"].config, store.runs["run_a"].tags, store.runs["run_a"].created_at
    (path / RUN / "meta.json").unlink()
    assert any("written anew" in deed.done for deed in repair(path))
    with playhead.open(path) as store:
        assert (store.runs["run_a"].config, store.runs["run_a"].tags, store.runs["run_a"].created_at) == before
    assert path / RUN / "meta.json" not in told(path)


def test_a_folder_in_which_nothing_was_recorded_never_was_a_run(path: Path) -> None:
    folder = path / "pong/dqn/runs/begun"
    folder.mkdir()
    (folder / "status.json").write_text("{}")
    (folder / "events.jsonl").touch()
    assert playhead.rebuild(path) == []
    assert not [place for place in told(path) if folder in (place, *place.parents)]


@pytest.mark.parametrize("has_catalogue", [True, False])
def test_a_run_of_which_nobody_knows_how_it_ended_did_not_fail(path: Path, has_catalogue: bool) -> None:
    status = path / RUN / "status.json"
    status.unlink()
    if not has_catalogue:
        for file in path.glob("playhead.db*"):
            file.unlink()
    else:
        assert status.name in " ".join(map(str, playhead.rebuild(path)))
    for _ in range(2):
        with playhead.open(path) as store:
            assert (store.runs["run_a"].status, store.runs["run_a"].exit_reason) == ("finished", None)
        assert status in told(path)


def test_a_list_of_versions_that_is_gone_is_named_and_made_again(path: Path) -> None:
    versions = path / POLICY / "versions.json"
    with playhead.open(path, mode="r") as store:
        before = [(one.version, list(one.aliases)) for one in store.artifacts.versions("policy")]
    versions.unlink()
    assert versions in told(path)
    assert any("written anew" in deed.done for deed in repair(path))
    with playhead.open(path, mode="r") as store:
        assert [(one.version, list(one.aliases)) for one in store.artifacts.versions("policy")] == before
    assert wrong(path) == []


@pytest.mark.parametrize("rebuilds", [True, False])
def test_an_artifact_that_is_gone_is_named(path: Path, rebuilds: bool) -> None:
    shutil.rmtree(path / POLICY)
    if rebuilds:
        playhead.rebuild(path)
    assert path / POLICY / "versions.json" in told(path)


def replace_artifact(path: Path, other: Path) -> None:
    shutil.rmtree(path / POLICY)
    shutil.copytree(other / POLICY, path / POLICY, symlinks=True)
    shutil.copytree(other / "artifacts/.dedup", path / "artifacts/.dedup", dirs_exist_ok=True)


@pytest.mark.parametrize("rebuilds", [True, False])
@pytest.mark.parametrize("same_maker", [True, False])
def test_the_artifact_of_another_store_is_named(path: Path, tmp_path: Path, rebuilds: bool, same_maker: bool) -> None:
    other, source = tmp_path / "other", tmp_path / "weights.bin"
    source.write_bytes(b"others")
    run_id = "run_c" if same_maker else "run_z"
    with playhead.open(other) as store, store.run("pong", "n", run_id=run_id, environment=False) as run:
        for _ in range(2):
            run.log_artifact("policy", source)
    replace_artifact(path, other)
    if rebuilds:
        playhead.rebuild(path)
    assert path / POLICY / "versions.json" in told(path)


def test_versions_that_counted_are_no_garbage_when_their_list_is_gone_and_others_are_saved(
    path: Path, tmp_path: Path
) -> None:
    source = tmp_path / "weights.bin"
    source.write_bytes(b"new")
    (path / POLICY / "versions.json").unlink()
    with playhead.open(path) as store:
        with store.run("pong", "n", environment=False) as run:
            assert run.log_artifact("policy", source).version == 3
        collecting.collect(store._home, older_than=0)
    assert {"v1", "v2", "v3"} <= {file.name for file in (path / POLICY).iterdir()}
