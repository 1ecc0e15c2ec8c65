"""A reel in many segments and parts, recorded in several goes: read as one, by us and by any HDF5 tool."""

from __future__ import annotations

import json
import resource
import threading
import time
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from playhead.errors import StoreLocked
from playhead.lanes.arrays.config import ReplayConfig
from playhead.lanes.arrays.reel import Reel
from playhead.lanes.arrays.writer import ReelWriter
from playhead.layout import ReplayFolder
from playhead.tape import Crew
from tests.lanes.arrays.reels import CODECS, FOR_EVER, Recording, assert_same, noise, patterned, reel_in


def config(**options: Any) -> ReplayConfig:
    return ReplayConfig(**{"interval": FOR_EVER, "chunk": 4, "segment_bytes": 3000, **options})


def arrays_of(number: int) -> dict[str, Any]:
    arrays: dict[str, Any] = {"observations.state": patterned(number, (5,), "f4"), "actions": np.array(number)}
    arrays["observations.camera"] = noise(number, (6, 5))
    if number % 5 != 2:
        arrays["frames"] = noise(number + 1000, (8, 6, 3))
    return arrays


def record(recording: Recording, count: int) -> None:
    """Record episodes of seven steps; the background has its turn after each."""
    for number in range(len(recording.steps), len(recording.steps) + count):
        if number % 7 == 0:
            recording.end("terminated", {"observations.state": patterned(-number, (5,), "f4")})
            recording.begin({"seed": number}, {"frames": noise(number, (2, 8, 6, 3))})
        recording.step(arrays_of(number), reward=number / 3, info=b"%d" % number, agent="ab"[number % 2])
        recording.writer.writer.run_now()
        while len(list(recording.files.journal.glob("*.seg"))) > 1:  # the others are being sealed
            recording.writer.check()
            time.sleep(0.001)


@pytest.mark.parametrize("codec", CODECS)
def test_many_segments_read_as_one(tmp_path: Path, codec: str | None) -> None:
    recording = Recording(reel_in(tmp_path), config(codec=codec))
    following = Reel(recording.files)
    for _ in range(3):
        record(recording, 14)
        recording.flush()
        following.refresh()
        recording.assert_whole(following)
        recording.assert_whole()
    assert len(list(recording.files.parts.iterdir())) >= 3
    recording.close()
    assert not recording.files.journal.exists()
    following.refresh()
    recording.assert_whole(following)
    recording.assert_whole()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["index.json", "run", "run.h5"]


def test_a_reel_that_nobody_refreshes_goes_on_reading_what_it_knew(tmp_path: Path) -> None:
    recording = Recording(reel_in(tmp_path), config())
    record(recording, 10)
    recording.flush()
    stale = Reel(recording.files)
    known = stale.length
    record(recording, 60)  # what it knew is sealed and removed under its eyes
    recording.assert_steps(stale, 0, known)
    recording.close()
    recording.assert_steps(stale, 0, known)


@pytest.mark.parametrize("segment_bytes", [3000, 1 << 28])
def test_recording_goes_on_again_and_again(tmp_path: Path, segment_bytes: int) -> None:
    recording = Recording(reel_in(tmp_path), config(segment_bytes=segment_bytes))
    following = Reel(recording.files)
    for count in (5, 1, 0, 20, 3):
        record(recording, count)
        recording.close()
        following.refresh()
        recording.assert_whole(following)
        recording.assert_whole()
        recording.resume()
        assert recording.writer.row == len(recording.steps)
        following.refresh()
        recording.assert_whole(following)
    recording.close()
    recording.assert_whole()


def test_recording_goes_on_where_it_was_broken_off(tmp_path: Path) -> None:
    recording = Recording(reel_in(tmp_path), config())
    following = Reel(recording.files)
    for count in (5, 1, 0, 20, 3):
        record(recording, count)
        recording.flush()
        record(recording, 2)
        recording.crash_and_resume()
        following.refresh()
        recording.assert_whole(following)
        recording.assert_whole()
    assert [span.how for span in following.spans].count(None) >= 3  # the episodes that were open are kept
    recording.close()
    recording.assert_whole()


def test_a_segment_that_ends_while_the_one_before_was_just_sealed_is_sealed_too(tmp_path: Path) -> None:
    """Was a bug: the thread that seals had looked for more and found none, but was alive, so that none was started."""
    recording = Recording(reel_in(tmp_path), config())
    tell, may_end = recording.writer._tell, threading.Event()

    def tell_and_linger(*given: Any) -> None:
        tell(*given)
        may_end.wait()

    recording.writer._tell = tell_and_linger  # type: ignore[method-assign]
    while not (recording.files.journal / "000001.seg").exists():
        record(recording, 1)  # returns when it alone is left: the other is sealed
    while not (recording.files.journal / "000002.seg").exists():
        recording.step(arrays_of(len(recording.steps)))
        recording.writer.writer.run_now()
    may_end.set()
    record(recording, 1)
    recording.flush()
    recording.assert_whole()
    recording.close()
    recording.assert_whole()


def test_a_reader_stays_with_a_recording_that_is_broken_off_twice(tmp_path: Path) -> None:
    """Was a bug: all segments are sealed and removed, the new one has no header yet, and the next writer begins another
    journal in the same folder, which a reader who knows the first takes for a stranger.
    """
    recording = Recording(reel_in(tmp_path), config())
    following = Reel(recording.files)
    while not (recording.files.journal / "000001.seg").exists():
        record(recording, 1)
    following.refresh()  # it knows the second segment, which says nothing yet but what it will hold
    for _ in range(2):
        recording.crash_and_resume()
        following.refresh()
    record(recording, 3)
    recording.flush()
    following.refresh()
    recording.assert_whole(following)
    recording.close()
    following.refresh()
    recording.assert_whole(following)


def test_the_beginning_of_an_episode_alone_in_a_segment(tmp_path: Path) -> None:
    """Was a bug: a part without steps is not counted, the next one is written over it, and the episode is gone."""
    recording = Recording(reel_in(tmp_path), config(segment_bytes=1))
    for number in range(3):
        recording.begin({"seed": number})
        recording.flush()
        recording.writer.writer.run_now()  # now the segment is full
        recording.step({"actions": np.array(number)})
        recording.close()
        recording.assert_whole()
        recording.resume()
    recording.close()
    recording.assert_whole()


def test_an_array_that_comes_back_in_a_later_part(tmp_path: Path) -> None:
    recording = Recording(reel_in(tmp_path), config(segment_bytes=1 << 20))
    for name in ("frames", "observations", "frames", "late"):
        for number in range(6):
            recording.step({name: patterned(number, (3, 2), "u1"), "actions": np.array(number)})
        recording.close()
        recording.assert_whole()
        recording.resume()
    recording.close()
    with h5py.File(recording.files.file) as file:  # the last part has no such array; the view says zero
        assert file["frames"].shape == (24, 3, 2)


def test_codec_and_chunk_may_change_between_two_recordings(tmp_path: Path) -> None:
    recording = Recording(reel_in(tmp_path), config())
    for codec, chunk in (("zstd", 4), ("gzip", 7), (None, 1), ("lzf", 100), ("zstd", None)):
        recording.config = config(codec=codec, chunk=chunk, segment_bytes=1 << 20)
        recording.close()
        recording.resume()
        record(recording, 9)
    recording.close()
    recording.assert_whole()


def test_every_part_stands_by_itself_as_a_file_of_the_contract(tmp_path: Path) -> None:
    recording = Recording(reel_in(tmp_path), config(codec="gzip"))
    record(recording, 60)
    recording.close()
    first = 0
    for path in sorted(recording.files.parts.iterdir()):
        with h5py.File(path) as file:
            count = int(file.attrs["total_steps"])
            assert file["rewards"].shape == (count,)
            found = file["observations.state"][:]
            assert_same(
                found, np.stack([arrays_of(number)["observations.state"] for number in range(first, first + count)])
            )
            first += count
    assert first == 60


def test_the_index_names_every_reel(tmp_path: Path) -> None:
    for reel_id in ("b", "a", "a.2", "a.10", "a"):
        Recording(reel_in(tmp_path, reel_id)).close()
    assert json.loads((tmp_path / "index.json").read_text()) == {
        name: f"{name}.h5" for name in ("a", "b", "a.2", "a.10")
    }
    assert ReplayFolder(tmp_path).reels() == ["a", "a.2", "a.10", "b"]
    assert ReplayFolder(tmp_path).reels_of("a") == ["a", "a.2", "a.10"]


def test_two_writers_of_one_reel(tmp_path: Path) -> None:
    recording = Recording(reel_in(tmp_path))
    recording.step({"actions": np.array(1)})
    with pytest.raises(StoreLocked, match="another writer"):
        ReelWriter(recording.files, recording.config)
    recording.step({"actions": np.array(2)})
    recording.close()
    recording.assert_whole()


def test_several_reels_share_one_thread(tmp_path: Path) -> None:
    """Was a bug: a round that is under way while one of them closes works on with a closed journal, and the others raise."""
    crew = Crew(0.01)
    recordings = [Recording(reel_in(tmp_path, f"run.{k}"), config(interval=0.02), crew=crew) for k in range(1, 5)]
    for number in range(60):
        for place, recording in enumerate(recordings):
            if number % (place + 1) == 0:
                recording.step({"frames": noise(number * 4 + place, (9, 9)), "actions": np.array(number)})
    recordings[2].close()  # one of them alone
    for recording in recordings:
        recording.flush()
        recording.assert_whole()
        recording.close()
        recording.assert_whole()
    crew.stop()


def test_more_parts_than_files_may_be_open(tmp_path: Path) -> None:
    """Was a bug: sealing and reading open all parts at once, and a run that is resumed often can be neither then."""
    recording = Recording(reel_in(tmp_path))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    in_use = len(list(Path("/proc/self/fd").iterdir()))
    resource.setrlimit(resource.RLIMIT_NOFILE, (in_use + 24, hard))
    try:
        for number in range(24):
            recording.step({"actions": np.array(number)})
            recording.close()
            recording.resume()
        recording.close()
        recording.assert_whole()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
