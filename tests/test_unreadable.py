"""A file that the system does not give: one that nobody may read, on a bad part of a disk, or a link to itself."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path

import pytest

import playhead
from playhead.care import verify
from tests.care import everything

RUN, EPISODE = "pong/dqn/runs/run_a", "episodes/teleop/000000000000/000000000001"
PLACES = [
    *(f"{RUN}/{name}" for name in ("meta.json", "status.json", "summary.json", "events.jsonl", "checksums.json")),
    *("pong/export/runs/run_c/artifacts_used.json", "pong/export/runs/run_c/artifacts_created.json"),
    *("replay/run_a", "replay/run_a/0000.h5", "replay/run_b.journal"),
    *("replay/run_b.journal/000000.seg", "replay/index.json", "traces/run_a/fit.trace", "traces/run_a"),
    *(f"{EPISODE}/{name}" for name in ("meta.json", "static.json", "joint.parquet", "camera.mp4")),
    *("artifacts/model/policy/versions.json", "artifacts/model/policy/v1/metadata.json", "artifacts/model/policy"),
    *("tables/numbers/metadata.db", "tables/numbers/steps.npy", "tables/numbers/manifest.json"),
]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("whole") / "store"
    everything.make(path)
    return path


def listed(path: Path) -> set[str]:
    with playhead.open(path) as store:
        folders = store.sql("SELECT folder FROM episode_folders").to_pylist()
        found = {run.id for run in store.runs} | {artifact.name for artifact in store.artifacts}
        return found | {*store.tables} | {row["folder"] for row in folders}


@pytest.mark.parametrize("has_catalogue", [True, False])
@pytest.mark.parametrize("place", PLACES)
def test_everything_else_can_be_used(whole: Path, tmp_path: Path, place: str, has_catalogue: bool) -> None:
    path = tmp_path / "store"
    shutil.copytree(whole, path, symlinks=True)
    due = listed(path)
    file = path / place
    shutil.rmtree(file) if file.is_dir() else file.unlink()
    file.symlink_to(file.name)
    if not has_catalogue:
        for one in path.glob("playhead.db*"):
            one.unlink()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert {one for one in due - listed(path) if one not in place} == set()
        problems = playhead.rebuild(path)
        assert {one for one in due - listed(path) if one not in place} == set()
    if place.endswith(("meta.json", "status.json", "events.jsonl")) and "runs" in place:
        assert any(file.name in str(problem) for problem in problems)
    found = [finding for finding in verify(path, full=True) if not finding.is_harmless]
    assert any(file.name in str(finding) for finding in found), [*map(str, found)]
