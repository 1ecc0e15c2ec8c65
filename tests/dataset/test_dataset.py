"""Datasets: episodes in blocks, views of them, and edits beside them."""

from __future__ import annotations

import json
import math
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from playhead.dataset import Dataset, EditedDataset, LocalDataset, LocalDatasetWriter
from playhead.episode import DiskEpisodeWriter, Episode, EpisodeView, Unfinished
from playhead.errors import BadKey, BadSlice, Damaged, NotFound, OutOfRange, WrongType

GOLDEN = Path(__file__).parents[3] / "shared" / "golden"


def record(root: Path, count: int, first: int = 0) -> LocalDataset:
    writer = LocalDatasetWriter(root)
    for number in range(first, first + count):
        with writer.new_episode() as episode:
            episode.set_static("id", number)
            episode.append("x", float(number), 1000 + number)
    return LocalDataset(root)


def ids(episodes: Any) -> list[int]:
    return [episode["id"] for episode in episodes]


def test_episodes_lie_in_blocks_of_a_thousand(tmp_path: Path) -> None:
    (tmp_path / "000000000000" / "000000000998").mkdir(parents=True)
    dataset = record(tmp_path, 2, first=999)
    assert (tmp_path / "000000000000" / "000000000999" / "x.parquet").exists()
    assert (tmp_path / "000000001000" / "000000001000" / "x.parquet").exists()
    assert ids(dataset[1:]) == [999, 1000]


def test_positions_slices_and_lists(tmp_path: Path) -> None:
    dataset = record(tmp_path, 5)
    assert isinstance(dataset[0], Episode)
    assert (dataset[-1]["id"], dataset[np.int64(2)]["id"]) == (4, 2)
    assert isinstance(dataset[1:4], list)
    assert ids(dataset[1:4]) == [1, 2, 3]
    assert ids(dataset[4:1:-1]) == [4, 3, 2]
    assert ids(dataset[[0, 3, -1]]) == ids(dataset[np.array([0, 3, 4])]) == [0, 3, 4]
    assert ids(dataset) == [0, 1, 2, 3, 4]
    assert ids(reversed(dataset)) == [4, 3, 2, 1, 0]
    for mask in ([True, False, True, False, False], np.zeros(5, bool)):
        with pytest.raises(TypeError, match="Boolean indexing is not supported"):
            dataset[mask]
    for key in (5, -6, [9]):
        with pytest.raises(OutOfRange):
            dataset[key]
    for key in ("a", 1.5, None):
        with pytest.raises(BadKey):
            dataset[key]  # type: ignore[call-overload]


def test_a_key_that_is_none_is_refused_by_its_own_name(tmp_path: Path) -> None:
    """Was a bug: errors of NumPy and Python came through, and one of a function passed for a bad slice."""
    dataset = record(tmp_path, 2)
    with pytest.raises(BadKey, match="not list"):
        dataset[[0, [1]]]  # type: ignore[list-item]
    with pytest.raises(BadKey, match="not list"):
        dataset[0].time[[0, [1]]]
    with pytest.raises(BadSlice):
        dataset[::0]

    def failing(_episode: Episode) -> Episode:
        raise TypeError("mine")

    with pytest.raises(TypeError, match="mine"):
        dataset.transform(failing)[0:1]


def test_a_cache_may_keep_nothing(tmp_path: Path) -> None:
    """Was a bug: a KeyError."""
    dataset = record(tmp_path, 2).cached(0)
    assert [dataset[1].uid, dataset[1].uid] == [dataset[-1].uid] * 2
    assert dataset[1] is not dataset[1]


def test_numbers_are_never_used_twice(tmp_path: Path) -> None:
    record(tmp_path, 2)
    LocalDatasetWriter(tmp_path).new_episode().abort()
    with LocalDatasetWriter(tmp_path).new_episode() as episode:
        assert episode.path.name == "000000000003"
    assert len(LocalDataset(tmp_path)) == 3


def test_the_number_of_what_was_discarded_is_not_used_again(tmp_path: Path) -> None:
    """Was a bug: the next recording lay under the number of another one."""
    record(tmp_path, 1)
    writer = LocalDatasetWriter(tmp_path).new_episode()
    writer._tape.abandon()  # as a kill would
    (unfinished,) = LocalDataset(tmp_path).unfinished
    unfinished.discard()
    assert LocalDataset(tmp_path).unfinished == []
    with LocalDatasetWriter(tmp_path).new_episode() as episode:
        assert (writer.path.name, episode.path.name) == ("000000000001", "000000000002")
    with pytest.raises(NotFound, match="removed"):
        unfinished.discard()


def test_what_was_discarded_outside_of_a_dataset_leaves_nothing(tmp_path: Path) -> None:
    writer = DiskEpisodeWriter(tmp_path / "mine")
    writer._tape.abandon()
    Unfinished(writer.path).discard()
    assert list(tmp_path.iterdir()) == []


def test_folders_with_other_names_and_a_missing_root_are_no_episodes(tmp_path: Path) -> None:
    record(tmp_path, 1)
    for name in ("notes", "12", "0000000000001", "abcdefghijkl"):
        (tmp_path / name).mkdir()
        (tmp_path / "000000000000" / name).mkdir()
    assert len(LocalDataset(tmp_path)) == 1
    assert len(LocalDataset(tmp_path / "missing")) == 0


def test_several_processes_record_at_once(tmp_path: Path) -> None:
    script = (
        "import sys; from playhead.dataset import LocalDatasetWriter as W\n"
        "w = W(sys.argv[1])\n"
        "for n in range(10):\n"
        "    with w.new_episode() as e: e.append('x', n, n)\n"
    )
    processes = [subprocess.Popen([sys.executable, "-c", script, str(tmp_path)]) for _ in range(3)]
    assert [process.wait() for process in processes] == [0, 0, 0]
    dataset = LocalDataset(tmp_path)
    assert len(dataset) == 30
    assert len({episode.uid for episode in dataset}) == 30


def test_unfinished_episodes_are_skipped_listed_and_recovered(tmp_path: Path) -> None:
    record(tmp_path, 1)
    writer = LocalDatasetWriter(tmp_path).new_episode()
    writer.append("x", 1.0, 1)
    writer.flush()
    writer._tape.abandon()  # as a kill would
    dataset = LocalDataset(tmp_path)
    assert len(dataset) == 1
    assert "1 unfinished" in repr(dataset)
    for unfinished in dataset.unfinished:
        unfinished.recover()
    again = LocalDataset(tmp_path)
    assert (len(again), again.unfinished) == (2, [])
    assert again[1]["x"][0] == (1.0, 1)
    assert again.by_uid(writer.uid)["x"][0] == (1.0, 1)
    with pytest.raises(NotFound):
        again.by_uid("nobody")


def test_views_of_datasets(tmp_path: Path) -> None:
    a, b = record(tmp_path / "a", 4), record(tmp_path / "b", 3, first=10)
    both = a + b
    assert ids(both) == [0, 1, 2, 3, 10, 11, 12]
    assert (both[4]["id"], both[-1]["id"]) == (10, 12)
    assert ids(sum([a, b, a], start=0)) == [0, 1, 2, 3, 10, 11, 12, 0, 1, 2, 3]  # type: ignore[call-overload]
    asked: list[int] = []

    def is_even(episode: Episode) -> bool:
        asked.append(episode["id"])
        return bool(episode["id"] % 2 == 0)

    even = both.filter(is_even)
    assert asked == []
    assert ids(even) == [0, 2, 10, 12]
    assert ids(even) == [0, 2, 10, 12]
    assert len(asked) == 7
    changed = even.transform(lambda episode: EpisodeView(episode.signals, {"id": -episode["id"]}))
    assert ids(changed) == [0, -2, -10, -12]
    kept = changed.cached(2)
    assert kept[0] is kept[0]
    assert [kept[n]["id"] for n in (0, 1, 2, 0)] == [0, -2, -10, 0]
    assert isinstance(kept, Dataset)
    assert ids(pickle.loads(pickle.dumps(a.cached()))) == [0, 1, 2, 3]


def test_edits_are_views_beside_the_recordings(tmp_path: Path) -> None:
    dataset = record(tmp_path, 3)
    uids = [str(episode.uid) for episode in dataset]
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    first = dataset.edited
    second = first.drop(uids[0]).set_static(uids[1], {"id": 100, "verdict": "good"})
    assert (ids(first), ids(second)) == ([0, 1, 2], [100, 2])
    assert second[0].static == {"id": 100, "verdict": "good"}
    assert second[0]["x"][0] == (1.0, 1001)
    assert (second[0].uid, second.dropped) == (uids[1], {uids[0]})
    third = second.undrop(uids[0]).set_static(uids[1], {"id": 7})
    assert ids(third) == ids(LocalDataset(tmp_path).edited) == [0, 7, 2]
    assert {path: path.read_bytes() for path in before} == before
    lines = [json.loads(line) for line in (tmp_path / "edits.jsonl").read_text().splitlines()]
    assert lines[0] == {"op": "drop", "v": 1, "ep": uids[0]}
    assert lines[1] == {"op": "set_static", "v": 1, "ep": uids[1], "data": {"id": 100, "verdict": "good"}}
    with pytest.raises(NotFound, match="nobody"):
        third.drop("nobody")
    with pytest.raises(WrongType, match="JSON-serializable"):
        third.set_static(uids[0], {"x": np.zeros(2)})


def test_a_damaged_episode_does_not_hide_the_others(tmp_path: Path) -> None:
    """Was a bug: as soon as one episode was dropped, a damaged one kept all from being read."""
    dataset = record(tmp_path, 4)
    uids = [episode.uid or "" for episode in dataset]
    damaged = dataset[1].meta["path"]
    (Path(damaged) / "meta.json").write_bytes(b"{bad")
    dataset = LocalDataset(tmp_path)
    assert dataset.by_uid(uids[3])["id"] == 3
    edited = dataset.edited.drop(uids[2])
    assert len(edited) == 3
    assert (edited[0]["id"], edited[2]["id"]) == (0, 3)
    with pytest.raises(Damaged):
        _ = edited[1].uid


def test_a_damaged_meta_keeps_no_other_episode_from_being_iterated(tmp_path: Path) -> None:
    dataset = record(tmp_path, 3)
    edited = dataset.edited.set_static(str(dataset[2].uid), {"verdict": "good"})
    (Path(dataset[1].meta["path"]) / "meta.json").write_bytes(bytes(300))
    found = [*edited]
    assert (found[0]["id"], found[2]["verdict"]) == (0, "good")
    assert list(found[1]["x"])
    for use in (lambda: found[1].uid, lambda: found[1].static):
        with pytest.raises(Damaged, match=r"meta\.json"):
            use()


def test_numbers_that_are_not_finite_come_back_from_an_edit(tmp_path: Path) -> None:
    """Was a bug: they came back as the texts that stand for them in the file."""
    dataset = record(tmp_path, 1)
    given = {"score": float("nan"), "top": [float("inf"), {"low": -float("inf")}]}
    edited = dataset.edited.set_static(str(dataset[0].uid), given)[0]
    assert math.isnan(edited["score"])
    assert edited["top"] == given["top"]


def test_an_edit_that_hides_a_signal_is_refused_when_it_is_read(tmp_path: Path) -> None:
    dataset = record(tmp_path, 1)
    edited = dataset.edited.set_static(str(dataset[0].uid), {"x": 1})
    assert edited[0].uid == dataset[0].uid
    with pytest.raises(ValueError, match="also a signal"):
        edited[0]["x"]


@pytest.mark.parametrize(
    "line",
    ["{", "[]", '{"op": "rename", "v": 1, "ep": "x"}', '{"op": "drop", "v": 2, "ep": "x"}', '{"op": "drop", "v": 1, "ep": 5}',
     '{"op": "set_static", "v": 1, "ep": "x", "data": 5}'],
)  # fmt: skip
def test_a_line_that_is_no_edit_is_damage_with_its_number(tmp_path: Path, line: str) -> None:
    record(tmp_path, 1)
    (tmp_path / "edits.jsonl").write_text('{"op": "drop", "v": 1, "ep": "unknown"}\n' + line + "\n")
    with pytest.raises(Damaged, match=r"edits\.jsonl:2"):
        _ = LocalDataset(tmp_path).edited


def test_edits_in_the_folders_of_episodes_are_read_too(tmp_path: Path) -> None:
    dataset = record(tmp_path, 2)
    uid = str(dataset[0].uid)
    log = Path(dataset[0].meta["path"]) / "edits.jsonl"
    log.write_text(json.dumps({"op": "drop", "v": 1, "ep": uid}) + "\n")
    assert ids(dataset.edited) == [1]
    assert ids(EditedDataset(dataset, tmp_path).undrop(uid)) == [1]  # what lies with the episode comes later


@pytest.mark.parametrize("generation", [1, 2, 3])
def test_the_vectors_of_every_generation_of_positronic_open(generation: int) -> None:
    root = GOLDEN / f"positronic_g{generation}"
    if not root.exists():
        pytest.skip("the samples of other programs are not here")
    dataset = LocalDataset(root)
    assert len(dataset) == 2
    for k, episode in enumerate(dataset):
        assert episode.static == {"task": "pick", "id": 100 + k, "gains": [1.5, 2.5]}
        joint = episode["joint"]
        assert joint.timestamps.tolist() == [10**9 * k + 33 * 10**6 * i for i in range(40)]
        assert np.array_equal(joint.values, [np.arange(7, dtype=np.float32) * np.float32(0.25) + i for i in range(40)])
        assert episode["grip"].values.tolist() == [i / 40 for i in range(0, 40, 4)]
        assert episode["label"].values.tolist() == [f"l{i}" for i in range(10)]
        assert episode["closed"].values.tolist() == [i % 8 == 0 for i in range(0, 40, 4)]
        assert episode["count"].values.tolist() == list(range(0, 40, 4))
        assert episode.uid
        assert os.fspath(root) in episode.meta["path"]
