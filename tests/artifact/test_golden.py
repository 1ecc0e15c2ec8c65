"""Artifacts of the real program open here; and what is written here has the forms that it reads."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import playhead
from playhead.layout import Layout

GOLDEN = Path(__file__).parents[3] / "shared" / "golden" / "runicorn_040"


@pytest.fixture
def golden(store: playhead.Store) -> playhead.Store:
    if not GOLDEN.is_dir():
        pytest.skip("the golden samples are not here")
    shutil.copytree(GOLDEN / "artifacts", store.path / "artifacts", copy_function=shutil.copyfile)
    return store


def test_versions_of_the_real_program_are_listed_and_handed_out(golden: playhead.Store, tmp_path: Path) -> None:
    (row,) = golden.artifacts
    assert (row.type, row.name, row.latest, row.num_files, row.size_bytes) == ("model", "model-a", 1, 1, 30)
    version = golden.artifacts["model-a:latest"]
    assert (version.created_by_run, version.files, version.verify()) == ("20261115_072340_c07142", ["m.bin"], [])
    assert version.download(tmp_path / "out").joinpath("m.bin").stat().st_size == 30


def test_versions_are_added_to_an_artifact_of_the_real_program(golden: playhead.Store, tmp_path: Path) -> None:
    before = golden.artifacts["model-a:v1"]
    version = golden.artifacts.save("model-a", before.file("m.bin"), aliases=["best"])
    assert version.version == 2
    assert len(list(golden.path.glob("artifacts/.dedup/??/*"))) == 1
    assert golden.artifacts["model-a:v1"].verify() == []
    found = json.loads((golden.path / "artifacts/model/model-a/versions.json").read_text())
    assert found["aliases"] == {"latest": 2, "best": 2}
    assert [entry["aliases"] for entry in found["versions"]] == [[], ["latest", "best"]]


def keys_of(content: Any) -> Any:
    """Give the keys of JSON in their order, at every depth, and the kinds of values."""
    if isinstance(content, dict):
        return [(key, keys_of(value)) for key, value in content.items()]
    if isinstance(content, list):
        return [keys_of(item) for item in content[:1]]
    return type(content).__name__


def test_our_files_have_the_keys_of_theirs_in_the_same_order(golden: playhead.Store, tmp_path: Path) -> None:
    (tmp_path / "m.bin").write_bytes(bytes(30))
    with golden.run("demo", "ours") as run:
        run.log_artifact("ours", tmp_path / "m.bin")
        run.use_artifact("ours:latest")
    theirs = Layout(golden.path).artifacts.artifact("model", "model-a")
    ours = Layout(golden.path).artifacts.artifact("model", "ours")
    run_of_theirs = next(GOLDEN.glob("demo/*/runs/*"))
    for one, other in (
        (theirs.versions, ours.versions),
        (theirs.version(1).metadata, ours.version(1).metadata),
        (theirs.version(1).manifest, ours.version(1).manifest),
        (run_of_theirs / "artifacts_created.json", run.path / "artifacts_created.json"),
        (run_of_theirs / "artifacts_used.json", run.path / "artifacts_used.json"),
    ):
        due, found = keys_of(json.loads(one.read_text())), keys_of(json.loads(other.read_text()))
        assert found[: len(due)] == due, other
        # What is more lies at the top, where the real program looks keys up by name and minds no others.
        assert {key for key, _ in found[len(due) :]} <= {"metadata_digests", "digest"}
