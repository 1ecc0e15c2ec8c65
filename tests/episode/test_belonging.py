"""Files of episodes that were swapped: what is read is right, or refused, and `verify` reports it; never silent."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import playhead
from playhead import care
from playhead.check import verify_dataset, verify_episode
from playhead.dataset import LocalDataset, LocalDatasetWriter
from playhead.episode import DiskEpisode, DiskEpisodeWriter, Unfinished
from playhead.errors import Damaged, Misplaced
from playhead.lanes.vectors import SimpleSignal, SimpleSignalWriter
from playhead.opening import rebuild

UIDS = ("1" * 32, "2" * 32)
FILES = [
    "x.parquet",
    "y.parquet",
    "t.parquet",
    "v.parquet",
    "cam.mp4",
    "cam.frames.parquet",
    "static.json",
    "meta.json",
]


def picture(number: int) -> np.ndarray[Any, Any]:
    return np.full((32, 48, 3), number, np.uint8)


def fill(episode: DiskEpisodeWriter, which: int) -> None:
    episode.set_static("task", f"task {which}")
    episode.configure("cam", lossless=True)
    episode.configure("cam2", lossless=True)
    for number in range(10):
        stamp = 1000 + number
        episode.append("x", float(number * which), stamp)
        episode.append("y", float(-number * which), stamp)
        episode.append("t", f"{which}: {number}", stamp)
        episode.append("v", np.full(3, number + 100 * which, np.int16), stamp)
        episode.append("cam", picture(10 * which + number), stamp)
        episode.append("cam2", picture(100 + 10 * which + number), stamp)


def values_of(episode: Any) -> dict[str, Any]:
    """Read all of an episode; what is refused is left out."""
    found: dict[str, Any] = {}
    for name in episode.signals:
        try:
            found[name] = np.asarray(episode[name].values).tolist(), episode[name].timestamps.tolist()
        except Damaged:
            continue
    with contextlib.suppress(Damaged):
        found["static"] = episode.static
    return found


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("made") / "store"
    with playhead.open(path) as store, store.run("p", "r", run_id="r", environment=False) as run:
        for which, uid in enumerate(UIDS, 1):
            with run.new_episode("ds", uid=uid) as episode:
                fill(episode, which)
    return path


@pytest.fixture(scope="module")
def right(made: Path) -> dict[str, Any]:
    return {episode.uid: values_of(episode) for episode in LocalDataset(made / "episodes/ds")}


@pytest.fixture
def path(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "store")
    return tmp_path / "store"


def folders(path: Path) -> tuple[Path, Path]:
    one, two = sorted((path / "episodes/ds/000000000000").glob("0*"))
    return one, two


def swap(one: Path, two: Path) -> None:
    aside = one.with_name("aside")
    one.rename(aside)
    two.rename(one)
    aside.rename(two)


def assert_never_wrong(path: Path, right: dict[str, Any]) -> None:
    """Read all by every way: each value is that of the episode under whose uid it was asked for."""
    with playhead.open(path) as store:
        dataset = store.dataset("ds")
        for episode in [*dataset, *store.runs["r"].episodes, *map(dataset.by_uid, UIDS)]:
            found = values_of(episode)
            assert {name: right[episode.uid][name] for name in found} == found


def wrong(path: Path, *, full: bool) -> list[care.finding.Finding]:
    return [finding for finding in care.verify(path, full=full) if not finding.is_harmless]


def test_what_was_not_swapped_is_all_well(path: Path, right: dict[str, Any]) -> None:
    assert right[UIDS[0]]["x"] != right[UIDS[1]]["x"]
    assert list(care.verify(path, full=True)) == list(care.verify(path)) == []
    assert_never_wrong(path, right)


@pytest.mark.parametrize("names", [*([name] for name in FILES), ["cam.mp4", "cam.frames.parquet"]], ids=" and ".join)
def test_a_file_swapped_with_that_of_another_episode_is_reported(
    path: Path, right: dict[str, Any], names: list[str]
) -> None:
    one, two = folders(path)
    for name in names:
        swap(one / name, two / name)
    assert_never_wrong(path, right)
    for full in (False, True):
        # The two halves of a video fit each other only as a pair: that one of them is another's needs every byte.
        if full or names != ["cam.mp4"]:
            found = wrong(path, full=full)
            assert {finding.path.parent for finding in found if finding.lane == "episodes"} == {one, two}
            assert all(finding.cure != "quarantine" for finding in found) or names == ["cam.mp4"]
    assert [finding for finding in verify_episode(one) if finding.severity == "damage"]
    rebuild(path)
    assert_never_wrong(path, right)
    assert wrong(path, full=True)
    for name in names:
        swap(one / name, two / name)
    rebuild(path)
    assert list(care.verify(path, full=True)) == []


@pytest.mark.parametrize(
    "pairs",
    [[("x.parquet", "y.parquet")], [("x.parquet", "t.parquet")], [("cam.mp4", "cam2.mp4")],
     [("cam.frames.parquet", "cam2.frames.parquet")],
     [("cam.mp4", "cam2.mp4"), ("cam.frames.parquet", "cam2.frames.parquet")]],
    ids=str,
)  # fmt: skip
def test_a_file_swapped_with_that_of_another_signal_is_reported(
    path: Path, right: dict[str, Any], pairs: list[tuple[str, str]]
) -> None:
    folder, _ = folders(path)
    for first, second in pairs:
        swap(folder / first, folder / second)
    assert_never_wrong(path, right)
    assert wrong(path, full=True)
    rebuild(path)
    assert_never_wrong(path, right)
    assert wrong(path, full=True)


def test_whole_folders_that_were_swapped_are_served_by_their_uids(path: Path, right: dict[str, Any]) -> None:
    swap(*folders(path))
    found = wrong(path, full=False)
    assert {(finding.lane, finding.cure) for finding in found} == {("catalogue", "rebuild")}
    assert wrong(path, full=True)
    assert_never_wrong(path, right)
    assert wrong(path, full=True) == []  # the catalogue learned of it when an episode was asked for by its uid
    with playhead.open(path) as store:
        assert [episode.uid for episode in store.dataset("ds")] == [UIDS[1], UIDS[0]]


def test_a_folder_moved_to_another_number_or_dataset_is_served_right(path: Path, right: dict[str, Any]) -> None:
    one, two = folders(path)
    one.rename(one.with_name("000000000007"))
    shutil.copytree(two, path / "episodes/other/000000000000/000000000003")
    with playhead.open(path) as store:
        assert values_of(store.dataset("ds").by_uid(UIDS[0])) == right[UIDS[0]]
        assert values_of(store.dataset("other").by_uid(UIDS[1])) == right[UIDS[1]]
    (path / "episodes/ds").rename(path / "episodes/renamed")
    with playhead.open(path) as store:
        assert [values_of(episode) for episode in store.dataset("renamed")] == [right[UIDS[1]], right[UIDS[0]]]


def test_the_error_names_the_file_both_owners_and_the_remedy(path: Path) -> None:
    one, two = folders(path)
    shutil.copy(two / "x.parquet", one / "x.parquet")
    with pytest.raises(Misplaced) as caught:
        _ = DiskEpisode(one)["x"].values
    assert str(caught.value) == (
        f"{one}/x.parquet is another file than its name says: expected a file of episode '{UIDS[0]}', signal 'x', found one of episode "
        f"'{UIDS[1]}', signal 'x'. Move it back to where it belongs, or restore the right file from a copy. If you put "
        "this one here yourself, remove its entry from 'sealed' in meta.json"
    )
    assert isinstance(caught.value, Damaged)
    for again in (pickle.loads(pickle.dumps(DiskEpisode(one)["x"])), DiskEpisode(one)["x"]):
        for read in (len, lambda signal: signal.kind, lambda signal: signal.timestamps):
            with pytest.raises(Misplaced):
                read(again)


def test_a_file_without_an_owner_takes_no_place_of_one_that_has_one(path: Path) -> None:
    one, _ = folders(path)
    with SimpleSignalWriter(one / "x.parquet") as writer:
        writer.append(5.0, 1)
    with SimpleSignalWriter(one / "added.parquet") as writer:
        writer.append(6.0, 1)
    episode = DiskEpisode(one)
    assert episode["added"][0] == (6.0, 1)
    with pytest.raises(Misplaced, match="one that does not say whose it is"):
        _ = episode["x"].values
    assert SimpleSignal(one / "x.parquet")[0] == (5.0, 1)  # alone, it is nobody's
    (found,) = wrong(path, full=False)
    assert found.path == one / "x.parquet"


def test_a_signal_may_be_renamed_by_hand(path: Path, right: dict[str, Any]) -> None:
    one, _ = folders(path)
    (one / "x.parquet").rename(one / "force.parquet")
    (one / "cam.mp4").rename(one / "front.mp4")
    (one / "cam.frames.parquet").rename(one / "front.frames.parquet")
    episode = DiskEpisode(one)
    assert episode["force"].values.tolist() == right[UIDS[0]]["x"][0]
    assert np.asarray(episode["front"].values).tolist() == right[UIDS[0]]["cam"][0]
    shutil.copy(one / "force.parquet", one / "x.parquet")  # nothing was renamed, then: this is a copy
    with pytest.raises(Misplaced):
        _ = DiskEpisode(one)["force"].values
    shutil.copy(one / "t.parquet", one / "y.parquet")
    with pytest.raises(Misplaced):
        _ = DiskEpisode(one)["y"].values


@pytest.mark.parametrize("name", ["x.parquet", "cam.mp4", "static.json"])
def test_a_file_that_is_gone_is_reported(path: Path, name: str) -> None:
    one, _ = folders(path)
    (one / name).unlink()
    for full in (False, True):
        assert one / name in {finding.path for finding in wrong(path, full=full)} or name == "cam.mp4"
        assert wrong(path, full=full)


def test_static_items_of_another_episode_are_refused_and_not_indexed(path: Path) -> None:
    one, two = folders(path)
    swap(one / "static.json", two / "static.json")
    episode = DiskEpisode(one)
    with pytest.raises(Damaged, match=r"static\.json"):
        _ = episode["task"]
    assert len(episode["x"]) == 10
    rebuild(path)
    with playhead.open(path) as store:
        assert [row["static"] for row in store.sql("SELECT static FROM episode_folders").to_pylist()] == ["{}", "{}"]


def test_files_of_earlier_versions_are_noted_once(tmp_path: Path) -> None:
    writer = LocalDatasetWriter(tmp_path / "d")
    for which in (1, 2, 3):
        with writer.new_episode() as episode:
            episode.set_static("which", which)
        with SimpleSignalWriter(episode.path / "x.parquet") as signal:
            signal.append(float(which), 1)
        meta = json.loads((episode.path / "meta.json").read_bytes())
        del meta["sealed"]
        (episode.path / "meta.json").write_text(json.dumps(meta))
        assert DiskEpisode(episode.path)["x"][0] == (float(which), 1)
        assert DiskEpisode(episode.path)["which"] == which
    (note,) = verify_dataset(tmp_path / "d")
    assert (note.severity, note.path) == ("note", tmp_path / "d")
    assert note.text.startswith("3 episodes written before files of episodes said whose they are")
    (alone,) = verify_episode(episode.path)
    assert alone.severity == "note"


def test_meta_lists_a_digest_of_each_file_and_nobody_sees_it_as_an_item(path: Path) -> None:
    one, _ = folders(path)
    sealed = json.loads((one / "meta.json").read_bytes())["sealed"]
    assert set(sealed["files"]) == set(os.listdir(one)) - {"meta.json"}
    assert all(found["bytes"] == (one / name).stat().st_size for name, found in sealed["files"].items())
    assert "sealed" not in DiskEpisode(one).meta


def test_an_episode_with_a_damaged_meta_is_read_by_the_names_of_its_signals(path: Path, right: dict[str, Any]) -> None:
    one, _ = folders(path)
    (one / "meta.json").write_text("{")
    assert DiskEpisode(one)["x"].values.tolist() == right[UIDS[0]]["x"][0]
    swap(one / "x.parquet", one / "y.parquet")
    with pytest.raises(Misplaced):
        _ = DiskEpisode(one)["x"].values


def left_unfinished(folder: Path, *, after: Callable[[DiskEpisodeWriter], None]) -> Unfinished:
    with pytest.raises(ZeroDivisionError), DiskEpisodeWriter(folder, uid=UIDS[0]) as writer:
        fill(writer, 1)
        after(writer)
        raise ZeroDivisionError
    return Unfinished(folder)


def test_a_recovered_episode_owns_its_files(tmp_path: Path, right: dict[str, Any]) -> None:
    episode = left_unfinished(tmp_path / "a", after=lambda writer: None).recover()
    assert values_of(episode) == right[UIDS[0]]
    assert verify_episode(episode.path) == []
