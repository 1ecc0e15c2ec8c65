"""What lies elsewhere: with a checksum, without a copy, and missed when it changes."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import numpy as np
import pytest

import playhead


def referring(uri: str, **options: object) -> playhead.Artifact:
    artifact = playhead.Artifact("data", type="dataset")
    artifact.add_reference(uri, **options)  # type: ignore[arg-type]
    return artifact


def test_a_file_elsewhere_is_hashed_and_watched(store: playhead.Store, tmp_path: Path) -> None:
    path = tmp_path / "large.bin"
    path.write_bytes(b"x" * 1000)
    version = store.artifacts.save(referring(path.as_uri()))
    (reference,) = version.references
    assert reference.checksum == "sha256:" + hashlib.sha256(b"x" * 1000).hexdigest()
    assert (reference.size, version.size, version.num_files) == (1000, 1000, 0)
    assert version.verify() == []
    path.write_bytes(b"y" * 1000)
    assert "save a new version" in str(version.verify()[0])
    with pytest.raises(playhead.Damaged, match="save a new version"):
        version.download(tmp_path / "out")
    assert not (tmp_path / "out").exists()
    path.unlink()
    with store.run("p", "n") as run, pytest.raises(playhead.Damaged, match="nothing at"):
        run.use_artifact("data:latest")


def test_a_folder_elsewhere_is_watched_as_a_whole(store: playhead.Store, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a").write_text("a")
    version = store.artifacts.save(referring(folder.as_uri()))
    assert version.verify() == []
    (folder / "b").write_text("")
    assert len(version.verify()) == 1


def test_a_checksum_that_does_not_fit_is_refused_at_once(store: playhead.Store, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("x")
    right = hashlib.sha256(b"x").hexdigest()
    for wrong in ("0" * 64, "sha256:" + "0" * 64):
        with pytest.raises(playhead.Damaged):
            store.artifacts.save(referring((tmp_path / "x").as_uri(), checksum=wrong))
    assert store.artifacts.save(referring((tmp_path / "x").as_uri(), checksum=right)).verify() == []
    with pytest.raises(playhead.NotFound, match="nothing at"):
        store.artifacts.save(referring((tmp_path / "gone").as_uri()))


def test_what_cannot_be_looked_at_keeps_what_was_said(store: playhead.Store) -> None:
    version = store.artifacts.save(referring("s3://bucket/key", checksum="etag:7", size=5, metadata={"region": "x"}))
    (reference,) = version.references
    assert (reference.checksum, reference.size, dict(reference.metadata)) == ("etag:7", 5, {"region": "x"})
    assert version.verify() == []
    for bad in ("no scheme", "bucket/key", "s3://a b", ""):
        with pytest.raises(playhead.BadRef):
            referring(bad)


def test_a_table_of_the_store_is_an_artifact_without_a_copy(store: playhead.Store, tmp_path: Path) -> None:
    rows = np.zeros(10, [("x", "<f4"), ("run_id", "<u4"), ("step_index", "<u2")])
    np.save(tmp_path / "rows.npy", rows)
    store.tables.build("pong", tmp_path / "rows.npy")
    version = store.artifacts.save(referring("playhead://tables/pong"))
    assert version.references[0].checksum.startswith("manifest-sha256:")  # type: ignore[union-attr]
    assert list(store.path.glob("artifacts/.dedup/??/*")) == []
    assert version.verify() == []
    store.tables["pong"].append(tmp_path / "rows.npy")
    assert "It has changed since" in str(version.verify()[0])


def test_a_dataset_of_the_store_is_an_artifact_without_a_copy(store: playhead.Store) -> None:
    with store.run("p", "n") as run, run.new_episode("teleop") as episode:
        episode.append("x", 1.0, 1)
    version = store.artifacts.save(referring("playhead://datasets/teleop"))
    assert version.verify() == []
    with store.run("p", "n") as run, run.new_episode("teleop") as episode:
        episode.append("x", 1.0, 1)
    assert len(version.verify()) == 1


@pytest.mark.parametrize(
    "uri", ["playhead://tables/..", "playhead://traces/a/../../b", "playhead://runs/x", "playhead://tables/"]
)
def test_a_reference_that_leads_out_of_its_lane_is_refused(store: playhead.Store, uri: str) -> None:
    with pytest.raises(playhead.BadName):
        store.artifacts.save(referring(uri))


@pytest.mark.parametrize("uri", ["http://[x", "file://[", "file", "", "s3://a b"])
def test_what_says_no_place_is_refused(uri: str) -> None:
    with pytest.raises(playhead.BadRef, match="is no reference"):
        referring(uri)


def test_odd_things_elsewhere_are_named_and_never_waited_for(store: playhead.Store, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "dangling").symlink_to("nowhere")
    for uri, error, words in (
        ((tmp_path / "pipe").as_uri(), playhead.WrongType, "it is a pipe"),
        ("file:///dev/null", playhead.WrongType, "it is a device"),
        ((tmp_path / "folder").as_uri(), playhead.NotFound, "dangling .* a link to nowhere"),
    ):
        with pytest.raises(error, match=words):
            store.artifacts.save(referring(uri))
    assert list(store.artifacts) == []


def test_what_turned_odd_since_is_a_finding(store: playhead.Store, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("x")
    version = store.artifacts.save(referring(path.as_uri()))
    path.unlink()
    os.mkfifo(path)
    (problem,) = version.verify()
    assert "it is a pipe" in str(problem)
