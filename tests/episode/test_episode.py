"""Episodes in folders: recorded, read by name and by time, cut short, recovered."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from playhead.dataset import LocalDataset, LocalDatasetWriter
from playhead.episode import DiskEpisode, DiskEpisodeWriter, Episode, EpisodeView, Unfinished
from playhead.errors import (
    BadKey,
    BadName,
    Closed,
    Damaged,
    Empty,
    Exists,
    NotFound,
    OutOfOrder,
    StoreLocked,
    WrongType,
)
from playhead.signal import Signal


def record(folder: Path) -> DiskEpisode:
    with DiskEpisodeWriter(folder) as writer:
        writer.set_static("task", "stack")
        writer.set_static("params", {"k": 1, "speeds": [0.5, 1.5]})
        for number in range(1, 4):
            writer.append("a", number, 1000 * number)
            writer.append("b", 3 + 2 * number, 1000 * number + 500)
    return DiskEpisode(folder)


def test_signals_and_static_items_are_read_by_name(tmp_path: Path) -> None:
    episode = record(tmp_path / "ep")
    assert isinstance(episode, Episode)
    assert set(episode.keys) == {"task", "params", "a", "b"} == set(episode.keys())
    assert episode["task"] == "stack"
    assert episode["params"] == {"k": 1, "speeds": [0.5, 1.5]}
    assert isinstance(episode["a"], Signal)
    assert episode["b"][1] == (7, 2500)
    assert (len(episode), "a" in episode, "z" in episode, bool(episode)) == (4, True, False, True)
    assert dict(episode)["task"] == "stack"
    with pytest.raises(NotFound, match="'z'; there is: a, b, task, params"):
        episode["z"]
    assert (episode.start_ts, episode.last_ts, episode.duration_ns) == (1500, 3500, 2500)
    assert "a, b" in repr(episode)
    assert "2.5e-06 s" in repr(episode)


def test_a_time_gives_a_snapshot(tmp_path: Path) -> None:
    snapshot = record(tmp_path / "ep").time[2000]
    assert snapshot == {"task": "stack", "params": {"k": 1, "speeds": [0.5, 1.5]}, "a": (2, 2000), "b": (5, 1500)}
    with pytest.raises(KeyError):
        record(tmp_path / "ep2").time[1200]


def test_windows_and_samples_are_episodes(tmp_path: Path) -> None:
    episode = record(tmp_path / "ep")
    window = episode.time[1500:3000]
    assert isinstance(window, EpisodeView)
    assert window["task"] == "stack"
    assert list(window["a"]) == [(2, 2000)]
    assert list(window["b"]) == [(5, 1500), (7, 2500)]
    assert list(episode.time[1500::1000]["a"]) == [(1, 1500), (2, 2500), (3, 3500)]
    assert list(episode.time[[2500, 1500]]["b"]) == [(7, 2500), (5, 1500)]
    assert window.time[2000:]["a"][0] == (2, 2000)
    assert window.meta["uid"] == episode.uid


def test_meta_says_who_wrote_it(tmp_path: Path) -> None:
    with DiskEpisodeWriter(tmp_path / "ep", run_id="run_1", created_ts_ns=5) as writer:
        stored = json.loads((tmp_path / "ep" / "meta.json").read_text())
    assert stored["schema_version"] == 1
    assert stored["created_ts_ns"] == 5
    assert stored["uid"] == writer.uid
    assert len(writer.uid) == 32
    assert stored["writer"]["name"] == "playhead.episode.writer.DiskEpisodeWriter"
    assert {"python", "platform", "version"} <= set(stored["writer"])
    meta = DiskEpisode(tmp_path / "ep").meta
    assert meta["run_id"] == "run_1"
    assert "duration_ns" not in meta
    assert "uid" not in DiskEpisode(tmp_path / "ep").keys


def test_an_episode_without_signals_has_no_times(tmp_path: Path) -> None:
    with DiskEpisodeWriter(tmp_path / "ep") as writer:
        writer.set_static("id", 1)
    episode = DiskEpisode(tmp_path / "ep")
    with pytest.raises(Empty):
        _ = episode.start_ts
    assert episode.duration_ns == 0
    assert (EpisodeView({}, {}).start_ts, EpisodeView({}, {}).last_ts) == (0, 0)


@pytest.mark.parametrize(
    "bad", ["a/b", "x.frames", "X.FRAMES", "", ".hidden", "a\\b", "nul", "a\x00", "a:b", " a", "a" * 300, 5]
)
def test_names_that_files_cannot_have_are_refused(tmp_path: Path, bad: Any) -> None:
    with DiskEpisodeWriter(tmp_path / "ep") as writer:
        with pytest.raises(BadName):
            writer.append(bad, 1.0, 1)
        writer.append("x", 1.0, 1)
        with pytest.raises(Exists, match="case"):
            writer.append("X", 1.0, 1)
    assert list(DiskEpisode(tmp_path / "ep").keys) == ["x"]


def test_names_of_signals_and_static_items_do_not_collide(tmp_path: Path) -> None:
    with DiskEpisodeWriter(tmp_path / "ep") as writer:
        writer.set_static("k", 1)
        writer.append("s", 1, 1)
        with pytest.raises(ValueError, match="Static item 'k' already set"):
            writer.append("k", 1, 1)
        with pytest.raises(ValueError, match="Signal 's' already exists"):
            writer.set_static("s", 1)
        with pytest.raises(ValueError, match="already set"):
            writer.set_static("k", 2)
    assert DiskEpisode(tmp_path / "ep").static == {"k": 1}


@pytest.mark.parametrize("how", ["finished", "recovered", "edited"])
def test_bytes_of_static_items_come_back_as_they_were(tmp_path: Path, how: str) -> None:
    given = {"key": b"\x00\xff", "deep": [{"a": bytearray(b"x")}, b""], "plain": {"x": 1}}
    read = {"key": b"\x00\xff", "deep": [{"a": b"x"}, b""], "plain": {"x": 1}}
    writer = LocalDatasetWriter(tmp_path).new_episode(uid="one")
    if how != "edited":
        for name, item in given.items():
            writer.set_static(name, item)
    writer.append("x", 1.0, 1)
    if how == "recovered":
        writer.flush()
        writer._tape.abandon()  # as a kill would
        [unfinished] = LocalDataset(tmp_path).unfinished
        unfinished.recover()
    else:
        writer.close()
    dataset = LocalDataset(tmp_path).edited
    if how == "edited":
        dataset = dataset.set_static("one", given)
        assert dict(dataset[0].static) == read
    assert dict(LocalDataset(tmp_path).edited[0].static) == read


def test_a_dict_that_would_be_read_as_bytes_is_refused(tmp_path: Path) -> None:
    with DiskEpisodeWriter(tmp_path / "ep") as writer, pytest.raises(WrongType, match="stands for bytes"):
        writer.set_static("x", [{"__bytes_b64__": "eA=="}])


@pytest.mark.parametrize(
    "bad", [None, (1, 2), {1, 2}, np.zeros(2), {1: "a"}, {"a": None}, [np.float32(1)], memoryview(b"x"), object()]
)
def test_static_items_are_plain_json(tmp_path: Path, bad: Any) -> None:
    with DiskEpisodeWriter(tmp_path / "ep") as writer:
        with pytest.raises(WrongType, match="JSON-serializable"):
            writer.set_static("x", bad)
        writer.set_static("x", float("inf"))
    assert DiskEpisode(tmp_path / "ep").static == {"x": float("inf")}


def test_a_refused_sample_leaves_the_writer_at_work(tmp_path: Path) -> None:
    with DiskEpisodeWriter(tmp_path / "ep") as writer:
        with pytest.raises(WrongType):
            writer.append("x", object(), 1)
        writer.append("x", 1.0, 5)
        with pytest.raises(OutOfOrder, match="is not increasing"):
            writer.append("x", 2.0, 5)
        with pytest.raises(WrongType):
            writer.append("x", 2, 6)
        writer.append("x", 2.0, 6)
    with pytest.raises(Closed, match="Cannot append to a finished writer"):
        writer.append("x", 3.0, 7)
    with pytest.raises(Closed):
        writer.set_static("y", 3)
    with pytest.raises(Closed):
        writer.abort()
    assert list(DiskEpisode(tmp_path / "ep")["x"]) == [(1.0, 5), (2.0, 6)]


def test_abort_leaves_nothing(tmp_path: Path) -> None:
    with DiskEpisodeWriter(tmp_path / "ep") as writer:
        writer.append("x", 1.0, 5)
        writer.abort()
        writer.abort()
        with pytest.raises(Closed):
            writer.append("x", 2.0, 6)
        with pytest.raises(Closed):
            writer.set_static("y", 3)
    assert list(tmp_path.iterdir()) == []


def test_the_folder_must_not_exist(tmp_path: Path) -> None:
    (tmp_path / "ep").mkdir()
    with pytest.raises(AssertionError, match="exists"):
        DiskEpisodeWriter(tmp_path / "ep")
    assert [path.name for path in tmp_path.iterdir()] == ["ep"]
    with pytest.raises(NotFound):
        DiskEpisode(tmp_path / "missing")


def test_only_the_files_of_the_contract_stay(tmp_path: Path) -> None:
    record(tmp_path / "ep")
    assert sorted(os.listdir(tmp_path / "ep")) == ["a.parquet", "b.parquet", "meta.json", "static.json"]


def test_an_exception_keeps_what_was_recorded_marked_unfinished(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), DiskEpisodeWriter(tmp_path / "ep") as writer:
        writer.append("x", 1.0, 5)
        writer.set_static("k", 1)
        raise ZeroDivisionError
    assert sorted(os.listdir(tmp_path / "ep")) == [".unfinished", "meta.json", "static.json", "x.parquet"]
    assert (tmp_path / "ep" / ".unfinished").read_text() == "unfinished"
    episode = Unfinished(tmp_path / "ep").recover()
    assert not episode.is_unfinished
    assert (list(episode["x"]), episode["k"]) == ([(1.0, 5)], 1)


def test_an_episode_whose_process_died_is_recovered(tmp_path: Path) -> None:
    writer = DiskEpisodeWriter(tmp_path / "ep")
    writer.append("x", 1.0, 5)
    writer.append("v", np.arange(3), 6)
    writer.set_static("k", 1)
    writer.flush()
    writer.append("x", 2.0, 6)
    unfinished = Unfinished(tmp_path / "ep")
    assert unfinished.is_recorded
    assert unfinished.signals == ["v", "x"]
    assert unfinished.uid == writer.uid
    assert "being recorded" in repr(unfinished)
    with pytest.raises(StoreLocked):
        unfinished.recover()
    with pytest.raises(StoreLocked):
        unfinished.discard()
    writer._tape.abandon()  # as a kill would
    assert "recover()" in repr(unfinished)
    episode = unfinished.recover()
    assert episode["x"][0] == (1.0, 5)
    assert episode["v"][0][0].tolist() == [0, 1, 2]
    assert episode["k"] == 1
    assert sorted(os.listdir(tmp_path / "ep")) == ["meta.json", "static.json", "v.parquet", "x.parquet"]


def test_an_unfinished_episode_can_be_discarded(tmp_path: Path) -> None:
    writer = DiskEpisodeWriter(tmp_path / "ep")
    writer.append("x", 1.0, 5)
    writer._tape.abandon()
    Unfinished(tmp_path / "ep").discard()
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_made_of_an_episode_of_which_nothing_was_recorded(tmp_path: Path) -> None:
    (tmp_path / "ep").mkdir()
    (tmp_path / "ep" / ".unfinished").write_text("unfinished")
    with pytest.raises(NotFound, match=r"discard\(\)"):
        Unfinished(tmp_path / "ep").recover()
    assert os.listdir(tmp_path / "ep") == [".unfinished"]


def test_a_video_without_its_index_is_damage(tmp_path: Path) -> None:
    record(tmp_path / "ep")
    (tmp_path / "ep" / "cam.mp4").write_bytes(b"")
    with pytest.raises(ValueError, match=r"cam\.mp4 is damaged: expected its frames index") as caught:
        DiskEpisode(tmp_path / "ep")
    assert isinstance(caught.value, Damaged)


def test_folders_of_other_programs(tmp_path: Path) -> None:
    episode = record(tmp_path / "ep")
    (episode.path / "meta.json").write_text('{"schema_version": 1, "created_ts_ns": 77}')
    (episode.path / "static.json").write_text('{"blob": {"__bytes_b64__": "AAE="}, "none": null}')
    again = DiskEpisode(episode.path)
    assert again.uid == "ts-77"
    assert again.static == {"blob": b"\x00\x01", "none": None}
    (episode.path / "static.json").write_text('{"blob": {"__bytes_b64__": "*"}}')
    with pytest.raises(Damaged):
        _ = DiskEpisode(episode.path).static
    (episode.path / "static.json").write_text("[1]")
    with pytest.raises(Damaged):
        _ = DiskEpisode(episode.path).static


def test_signals_may_be_appended_from_several_threads(tmp_path: Path) -> None:
    with DiskEpisodeWriter(tmp_path / "ep") as writer:

        def work(name: str) -> None:
            for number in range(2000):
                writer.append(name, number, number)

        threads = [threading.Thread(target=work, args=(f"s{n}",)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    episode = DiskEpisode(tmp_path / "ep")
    for number in range(4):
        assert episode[f"s{number}"].values.tolist() == list(range(2000))


@pytest.mark.parametrize(
    "data", [0.5, "text", np.zeros(1000), np.zeros((4, 4, 3), np.uint8)], ids=["number", "text", "vector", "camera"]
)
def test_threads_that_share_a_signal_never_put_its_times_out_of_order(tmp_path: Path, data: Any) -> None:
    interval = sys.getswitchinterval()
    taken = [0] * 4
    writer = DiskEpisodeWriter(tmp_path / "ep")

    def work(number: int) -> None:
        for _ in range(2000):
            with contextlib.suppress(OutOfOrder):
                writer.append("shared", data, time.monotonic_ns())
                taken[number] += 1

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    writer.close()
    stamps = DiskEpisode(tmp_path / "ep")["shared"].timestamps
    assert len(stamps) == sum(taken)
    assert (np.diff(stamps) > 0).all()


def test_threads_may_bring_the_first_sample_of_one_signal(tmp_path: Path) -> None:
    for attempt in range(20):
        with DiskEpisodeWriter(tmp_path / str(attempt)) as writer:
            barrier = threading.Barrier(4)
            refused: list[Exception] = []

            def work(number: int, barrier: threading.Barrier = barrier, writer: DiskEpisodeWriter = writer) -> None:
                barrier.wait()
                try:
                    writer.append("x", float(number), number)
                except OutOfOrder as error:
                    refused.append(error)  # noqa: B023  looked at before the next attempt

            threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert len(DiskEpisode(tmp_path / str(attempt))["x"]) == 4 - len(refused)


@pytest.mark.parametrize("options", [{"qualty": 20}, {"codec": None}, {"fps": 1e-6}, {"preset": 3}])
def test_an_option_that_there_is_not_is_refused_and_the_episode_goes_on(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    frame = np.zeros((4, 4, 3), np.uint8)
    with DiskEpisodeWriter(tmp_path / "ep") as writer:
        writer.configure("camera", **options)
        with pytest.raises(WrongType, match=next(iter(options))):
            writer.append("camera", frame, 1)
        writer.configure("camera", quality=20)
        writer.append("camera", frame, 1)
    assert len(DiskEpisode(tmp_path / "ep")["camera"]) == 1


def test_an_episode_begins_at_a_time_of_64_bits(tmp_path: Path) -> None:
    with pytest.raises(BadKey, match="64 bits"):
        DiskEpisodeWriter(tmp_path / "ep", created_ts_ns=1 << 63)
    assert list(tmp_path.iterdir()) == []


def test_a_signal_may_be_told_its_lane(tmp_path: Path) -> None:
    with DiskEpisodeWriter(tmp_path / "ep") as writer:
        writer.configure("tiny", lane="vectors")
        writer.append("tiny", np.zeros((2, 2, 3), np.uint8), 1)
        with pytest.raises(Exists):
            writer.configure("tiny", lane="vectors")
        with pytest.raises(BadName, match="'vectors' and 'video'"):
            writer.configure("other", lane="arrays")
        writer.configure("wrong", quality=20)
        with pytest.raises(WrongType, match="no video"):
            writer.append("wrong", 1.0, 1)
    assert DiskEpisode(tmp_path / "ep")["tiny"].values.shape == (1, 2, 2, 3)


def test_what_the_medium_damaged_is_salvaged_around(tmp_path: Path) -> None:
    writer = DiskEpisodeWriter(tmp_path / "ep")
    writer.configure("cam", lossless=True, gop_size=4)
    for number in range(24):
        writer.append("x", float(number), number)
        writer.append("cam", np.full((16, 16, 3), number, np.uint8), number)
        writer.flush()
    writer._tape.abandon()
    segment = next((tmp_path / "ep" / ".recording").glob("*.seg"))
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 1
    segment.write_bytes(content)
    unfinished = Unfinished(tmp_path / "ep")
    with pytest.raises(Damaged, match=r"salvage=True"):
        unfinished.recover()
    episode = unfinished.recover(salvage=True)
    for name, least in (("x", 23), ("cam", 19)):
        found = list(episode[name])
        assert least <= len(found) <= 24, name
        for value, stamp in found:
            assert np.all(value == stamp), (name, stamp)
    assert len(episode["x"]) + len(episode["cam"]) < 48
