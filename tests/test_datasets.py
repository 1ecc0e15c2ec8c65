"""Datasets of a store: recorded under runs, listed by the catalogue, found again, addressed by refs."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

import numpy as np
import pytest

import playhead
from playhead.dataset import LocalDatasetWriter
from playhead.errors import BadName, BadRef, Closed, NotFound, ReadOnly
from playhead.ref import EpisodeRef
from tests.dump import assert_catalogue_agrees_with_folders


def listed(store: playhead.Store) -> list[tuple[str, int, int]]:
    rows = store.sql("SELECT dataset, number, finished FROM episode_folders ORDER BY 1, 2").to_pylist()
    return [tuple(row.values()) for row in rows]  # type: ignore[misc]


def test_a_run_records_episodes_into_a_dataset(store: playhead.Store) -> None:
    with store.run("p", "teleop", run_id="run_a") as run:
        for number in range(2):
            with run.new_episode("teleop/left") as episode:
                episode.append("joint", np.arange(3.0) + number, 5)
                episode.set_static("ok", True)
            assert len(run.episodes) == number + 1
    with store.dataset("teleop/left").new_episode() as episode:
        episode.append("joint", np.arange(3.0), 5)
    dataset = store.dataset("teleop/left")
    assert store.datasets == ["teleop/left"]
    assert len(dataset) == 3
    assert [episode["joint"][0][0][0] for episode in store.runs["run_a"].episodes] == [0, 1]
    assert [episode.uid for episode in store.runs["run_a"].episodes] == [dataset[0].uid, dataset[1].uid]
    assert listed(store) == [("teleop/left", 0, 1), ("teleop/left", 1, 1), ("teleop/left", 2, 1)]
    with pytest.raises(Closed):
        run.new_episode("teleop/left")
    with pytest.raises(BadName):
        store.dataset("../x")
    assert "3 episodes" in repr(dataset)


def test_the_catalogue_is_rebuilt_from_the_folders(store: playhead.Store) -> None:
    with store.run("p", "r") as run, run.new_episode("d") as episode:
        episode.append("x", 1.0, 5)
    unfinished = store.dataset("d").new_episode()
    unfinished.append("x", 1.0, 5)
    unfinished._tape.abandon()
    rows = listed(store)
    store.close()
    assert rows == [("d", 0, 1), ("d", 1, 0)]
    assert_catalogue_agrees_with_folders(store.path)


def test_what_was_cut_short_is_recovered_through_the_store(store: playhead.Store) -> None:
    with store.run("p", "r") as run:
        writer = run.new_episode("d")
        writer.append("x", 1.0, 5)
        writer.flush()
        assert len(run.episodes) == 0
        writer._tape.abandon()  # as a kill would
        dataset = store.dataset("d")
        assert len(dataset) == 0
        (unfinished,) = dataset.unfinished
        unfinished.recover()
        assert len(run.episodes) == len(dataset.reload()) == 1
        assert listed(store) == [("d", 0, 1)]
        dropped = store.dataset("d").new_episode()
        dropped._tape.abandon()
        store.dataset("d").unfinished[0].discard()
        assert store.dataset("d").unfinished == []
        assert listed(store) == [("d", 0, 1)]
        store.dataset("d").new_episode().abort()
        assert listed(store) == [("d", 0, 1)]


def test_a_crash_between_the_last_file_and_the_row_is_mended_on_open(store: playhead.Store, tmp_path: Path) -> None:
    writer = store.dataset("d").new_episode()
    writer.append("x", 1.0, 5)
    writer._notify = None
    writer.close()
    assert listed(store) == [("d", 0, 0)]
    with playhead.open(store.path) as again:
        assert listed(again) == [("d", 0, 1)]


def test_episodes_that_were_copied_into_the_store_are_found(store: playhead.Store, tmp_path: Path) -> None:
    with LocalDatasetWriter(tmp_path / "elsewhere").new_episode() as episode:
        episode.append("x", 1.0, 5)
    shutil.copytree(tmp_path / "elsewhere", store.path / "episodes" / "copied")
    assert store.datasets == ["copied"]
    assert len(store.dataset("copied")) == 1
    assert listed(store) == [("copied", 0, 1)]
    shutil.rmtree(store.path / "episodes" / "copied" / "000000000000")
    assert len(store.dataset("copied")) == 0
    assert listed(store) == []


def test_edits_of_a_dataset_of_a_store(store: playhead.Store) -> None:
    for number in range(2):
        with store.dataset("d").new_episode() as episode:
            episode.set_static("n", number)
    dataset = store.dataset("d")
    uid = str(dataset[0].uid)
    fewer = dataset.drop(uid)
    assert (len(dataset), len(fewer), len(store.dataset("d"))) == (2, 1, 1)
    assert "1 dropped" in repr(fewer)
    assert fewer.undrop(uid).set_static(uid, {"n": 5})[0]["n"] == 5
    with fewer.new_episode() as episode:
        episode.set_static("n", 9)
    assert len(store.dataset("d")) == 3


def test_a_store_that_is_open_for_reading_reads_datasets(store: playhead.Store) -> None:
    with store.dataset("d").new_episode() as episode:
        episode.append("x", 1.0, 5)
    with playhead.open(store.path, mode="r") as reading:
        assert reading.dataset("d")[0]["x"][0] == (1.0, 5)
        with pytest.raises(ReadOnly):
            reading.dataset("d").new_episode()


def test_a_store_that_is_open_for_reading_is_not_changed(store: playhead.Store) -> None:
    """Was a bug: edits were written, and recover() said ReadOnly after it had changed the files."""
    for _ in range(2):
        with contextlib.suppress(KeyError), store.dataset("d").new_episode() as episode:
            episode.append("x", 1.0, 5)
            if len(store.dataset("d")):
                raise KeyError
    folder = store.dataset("d").path
    before = {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}
    with playhead.open(store.path, mode="r") as reading:
        dataset = reading.dataset("d")
        (unfinished,), uid = dataset.unfinished, str(dataset[0].uid)
        for change in (
            lambda: dataset.drop(uid),
            lambda: dataset.undrop(uid),
            lambda: dataset.set_static(uid, {"a": 1}),
            unfinished.recover,
            unfinished.discard,
        ):
            with pytest.raises(ReadOnly, match="mode='a'"):
                change()
    assert {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")} == before


def test_a_sample_has_a_ref(store: playhead.Store) -> None:
    with store.dataset("my data/ü").new_episode() as episode:
        episode.append("arm.joint 1", np.arange(3.0), 5)
    dataset = store.dataset("my data/ü")
    ref = dataset.ref(str(dataset[0].uid), "arm.joint 1", 0)
    assert str(ref) == f"ep://my%20data%2F%C3%BC/{dataset[0].uid}/arm.joint%201/0"
    assert EpisodeRef.parse(str(ref)) == ref
    assert store.resolve(str(ref)).tolist() == [0, 1, 2]
    for wrong, match in [
        (str(ref)[:-1] + "1", "out of range"),
        (str(ref).replace("joint", "elbow"), "there is: arm.joint 1"),
        (f"ep://my%20data%2F%C3%BC/{'0' * 32}/x/0", "uid"),
        ("ep://other/abc/x/0", "there is: my data/ü"),
    ]:
        with pytest.raises(NotFound, match=match):
            store.resolve(wrong)


@pytest.mark.parametrize(
    "text",
    ["", "ep://", "ep://d/u/s", "ep://d/u/s/", "ep://d/u/s/-1", "ep://d/u/s/01", "ep://d/u/s/1/2", "ep://d/u/s/1\n", " ep://d/u/s/1",
     "ep://d/../s/1", "ep://d%2f/u/s/1", "ep://d e/u/s/1", "h6://r/frames/1", "ep://d/u/s/१", "EP://d/u/s/1", None, 5],
)  # fmt: skip
def test_other_texts_are_no_refs(store: playhead.Store, text: str) -> None:
    with pytest.raises(BadRef, match="ep://dataset/uid/signal/17"):
        store.resolve(text)
