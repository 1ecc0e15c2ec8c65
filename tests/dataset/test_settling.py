"""Episodes that nobody waited for, after a power cut: whole, unfinished or put aside, and never in the way of others."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

import playhead
from playhead import disk, process
from playhead.care import verify
from playhead.dataset import LocalDataset, LocalDatasetWriter
from playhead.errors import Damaged, NotFound
from playhead.settled import Settled
from tests.dump import assert_catalogue_agrees_with_folders

Start = Callable[[], None]

GOLDEN = Path(__file__).parents[1] / "golden/store-v2/episodes/robot/000000000000/000000000000"


@pytest.fixture
def start_again(monkeypatch: pytest.MonkeyPatch) -> Start:
    """Start the machine again, as far as Playhead sees that."""
    return lambda: monkeypatch.setattr(process, "_place", lambda: "another boot/of this machine")


def record(store: playhead.Store, count: int, *, sync: bool = False) -> list[Path]:
    paths = []
    for _ in range(count):
        with store.dataset("d").new_episode(sync=sync) as episode:
            episode.set_static("task", "pick")
            for number in range(5):
                episode.append("x", float(number), number)
        paths.append(episode.path)
    return paths


def empty(path: Path, *names: str) -> None:
    """Leave files of an episode as a power cut does that came before their contents."""
    for name in names:
        (path / name).write_bytes(b"")


def opened(path: Path) -> playhead.Store:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return playhead.open(path)


def test_what_a_power_cut_left_of_episodes_is_put_aside_at_the_next_open(
    store: playhead.Store, start_again: Start
) -> None:
    record(store, 1, sync=True)
    first, second, third, fourth = record(store, 4)
    empty(first, "meta.json")
    empty(second, "x.parquet")
    (third / "meta.json").unlink()
    uid = json.loads((fourth / "meta.json").read_text())["uid"]
    start_again()
    with pytest.warns(RuntimeWarning, match=r"3 episodes of the dataset 'd'.*\.quarantine"):
        again = playhead.open(store.path)
    with again:
        dataset = again.dataset("d")
        assert [len(episode["x"]) for episode in dataset] == [5, 5]
        assert dataset.by_uid(uid).path == fourth
        assert dataset.unfinished == []
        (later,) = record(again, 1)
        assert later.name > fourth.name
    (note,) = (store.path / ".quarantine").glob("*/note.jsonl")
    moved = [json.loads(line)["from"] for line in note.read_text().splitlines()]
    assert moved == [str(path.relative_to(store.path)) for path in (first, second, third)]
    assert all((note.parent / one).is_dir() for one in moved)
    assert [finding for finding in verify(store.path, full=True) if not finding.is_harmless] == []
    assert_catalogue_agrees_with_folders(store.path)


def test_an_episode_whose_tape_is_left_can_be_recovered(store: playhead.Store, start_again: Start) -> None:
    writer = store.dataset("d").new_episode(sync=False)
    writer.append("x", 1.0, 1)
    writer.flush()
    writer._tape.abandon()
    disk.remove(writer.path / ".unfinished")
    start_again()
    with opened(store.path) as again:
        assert len(again.dataset("d")) == 0
        (unfinished,) = again.dataset("d").unfinished
        assert list(unfinished.recover()["x"]) == [(1.0, 1)]
        assert len(again.dataset("d")) == 1


def test_nothing_is_looked_at_while_the_machine_runs(store: playhead.Store) -> None:
    first, second = record(store, 2)
    assert {"synced", "sealed"} & store.dataset("d")[0].meta.keys() == set()
    empty(first, "meta.json")
    with playhead.open(store.path) as again:
        assert len(again.dataset("d")) == 2
        assert [episode.path for episode in again.dataset("d")] == [first, second]


def test_what_was_synced_is_damage_and_not_taken_by_a_power_cut(store: playhead.Store, start_again: Start) -> None:
    paths = [*record(store, 1, sync=True), *record(store, 2)]
    store.dataset("d").sync()
    for path in paths:
        empty(path, "x.parquet")
    start_again()
    with playhead.open(store.path) as again:
        assert len(again.dataset("d")) == 3
        for episode in again.dataset("d"):
            with pytest.raises(Damaged, match=r"x\.parquet"):
                len(episode["x"])


@pytest.mark.parametrize("left", [b"", b"{", b'{\n  "uid": "0', bytes(700)])
def test_a_meta_that_was_never_wholly_written_is_told_from_damage(
    store: playhead.Store, start_again: Start, left: bytes
) -> None:
    (path,) = record(store, 1)
    (path / "meta.json").write_bytes(left)
    start_again()
    with opened(store.path) as again:
        assert len(again.dataset("d")) == 0
    assert not path.exists()


def test_a_flipped_bit_in_meta_is_damage_and_not_taken_by_a_power_cut(
    store: playhead.Store, start_again: Start
) -> None:
    (path,) = record(store, 1, sync=True)
    text = (path / "meta.json").read_bytes()
    (path / "meta.json").write_bytes(text.replace(b'"uid"', b'"uid!'))
    start_again()
    with playhead.open(store.path) as again, pytest.raises(Damaged, match=r"meta\.json"):
        _ = again.dataset("d")[0].uid


def test_an_episode_that_is_recorded_during_a_sync_is_looked_at_later(
    store: playhead.Store, start_again: Start
) -> None:
    writer = store.dataset("d").new_episode(sync=False)
    writer.append("x", 1.0, 1)
    record(store, 2)
    store.dataset("d").sync()
    writer.close()
    empty(writer.path, "x.parquet")
    start_again()
    with opened(store.path) as again:
        assert [len(episode["x"]) for episode in again.dataset("d")] == [5, 5]


def test_readers_of_a_folder_do_not_take_what_is_left_for_episodes(tmp_path: Path, start_again: Start) -> None:
    """A folder that is no store has no quarantine: there, such episodes are unfinished, and can be discarded."""
    paths = []
    for number in range(3):
        with LocalDatasetWriter(tmp_path / "d", sync=False).new_episode() as episode:
            episode.append("x", float(number), 1)
        paths.append(episode.path)
    empty(paths[1], "meta.json", "x.parquet")
    assert len(LocalDataset(tmp_path / "d")) == 3
    start_again()
    for _ in range(2):
        dataset = LocalDataset(tmp_path / "d")
        assert [episode["x"][0][0] for episode in dataset] == [0, 2]
        (unfinished,) = dataset.unfinished
        with pytest.raises(NotFound, match=r"discard\(\)"):
            unfinished.recover()
        LocalDatasetWriter(tmp_path / "d", sync=False)  # marks it, so that readers need not look again
    unfinished.discard()
    assert [episode["x"][0][0] for episode in LocalDataset(tmp_path / "d")] == [0, 2]
    assert LocalDataset(tmp_path / "d").unfinished == []


def test_files_that_are_not_there_any_more_are_not_recovered_into_an_episode(
    store: playhead.Store, start_again: Start
) -> None:
    (path,) = record(store, 1)
    (path / "x.parquet").unlink()
    (path / ".unfinished").write_bytes(b"unfinished")
    with pytest.raises(Damaged, match=r"discard\(\)"):
        store.dataset("d").unfinished[0].recover()
    start_again()
    with opened(store.path) as again:
        assert again.dataset("d").unfinished == []
        assert not path.exists()


def test_episodes_of_other_programs_are_left_as_they_are(store: playhead.Store, start_again: Start) -> None:
    (path,) = record(store, 1)
    theirs = path.with_name("000000000007")
    theirs.mkdir()
    shutil.copy(GOLDEN / "joint.parquet", theirs)
    start_again()
    with playhead.open(store.path) as again:
        assert len(again.dataset("d")) == 2
    assert (theirs / "joint.parquet").exists()


@pytest.mark.parametrize("text", ["", "[]", "{", '{"below": "x"}', '{"below": 5}', '{"below": true, "boot": "b"}'])
def test_a_note_that_is_not_one_says_nothing(store: playhead.Store, text: str) -> None:
    record(store, 1)
    folder = store._home.layout.dataset("d")
    assert Settled.read(folder).has_unsynced
    folder.settled.write_text(text)
    assert Settled.read(folder) == Settled()
    record(store, 1)
    assert Settled.read(folder) == Settled(0, process.boot(), has_unsynced=True)  # the first may not be there yet
