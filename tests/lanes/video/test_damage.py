"""A damaged file is noticed, or it makes no difference: never a wrong frame, never a wrong time."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from playhead.errors import Damaged
from playhead.lanes.video import VideoSignal
from tests.lanes.video.clips import Paths, clip, depth

COUNT, FLIPS = 12, 60


@pytest.fixture(scope="module", params=["colour of odd size", "depth"])
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Paths:
    paths = Paths(tmp_path_factory.mktemp("whole"))
    if request.param == "depth":
        paths.write(depth(COUNT, 16, 24), gop_size=5, pixel_format="depth16")
    else:
        paths.write(clip(COUNT, 31, 45), gop_size=5)
    return paths


def read(signal: VideoSignal) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    return signal.timestamps, signal.values


def assert_same_or_damaged(found: Paths, whole: Paths) -> bool:
    """Give whether the damage was noticed."""
    try:
        stamps, values = read(found.read())
    except Damaged as error:
        assert error.path in {str(found.video), str(found.frames)}
        return True
    expected_stamps, expected_values = read(whole.read())
    assert values.dtype == expected_values.dtype
    np.testing.assert_array_equal(stamps, expected_stamps)
    np.testing.assert_array_equal(values, expected_values)
    return False


def copies(whole: Paths, folder: Path) -> Paths:
    paths = Paths(folder)
    paths.video.write_bytes(whole.video.read_bytes())
    paths.frames.write_bytes(whole.frames.read_bytes())
    return paths


@pytest.mark.parametrize("which", ["video", "frames"])
def test_one_flipped_bit(recorded: Paths, tmp_path: Path, which: str) -> None:
    paths, rng = copies(recorded, tmp_path), random.Random(0)
    target: Path = getattr(paths, which)
    whole = target.read_bytes()
    noticed = 0
    for _ in range(FLIPS):
        place = rng.randrange(len(whole) * 8)
        flipped = bytearray(whole)
        flipped[place // 8] ^= 1 << place % 8
        target.write_bytes(flipped)
        noticed += assert_same_or_damaged(paths, recorded)
    assert noticed == FLIPS if which == "video" else noticed > FLIPS // 2


@pytest.mark.parametrize("which", ["video", "frames"])
def test_a_file_that_is_cut_off(recorded: Paths, tmp_path: Path, which: str) -> None:
    paths = copies(recorded, tmp_path)
    target: Path = getattr(paths, which)
    whole = target.read_bytes()
    for size in (0, 1, 7, 8, 40, len(whole) // 2, len(whole) - 100, len(whole) - 1):
        target.write_bytes(whole[:size])
        with pytest.raises(Damaged, match=target.name):
            read(paths.read())


def test_the_frames_of_whole_gops_can_still_be_read(recorded: Paths, tmp_path: Path) -> None:
    paths = copies(recorded, tmp_path)
    expected = recorded.read().values
    data = bytearray(paths.video.read_bytes())
    middle = len(data) // 2
    data[middle] ^= 1
    paths.video.write_bytes(data)
    signal, bad = paths.read(), 0
    for i in range(COUNT):
        try:
            np.testing.assert_array_equal(signal[i][0], expected[i])
        except Damaged as error:
            assert "checksum" in error.expected
            bad += 1
    assert bad == 5
    with pytest.raises(Damaged, match="checksum"):
        paths.read().verify()
    recorded.read().verify()


def without_video(paths: Paths) -> None:
    paths.video.unlink()


def without_index(paths: Paths) -> None:
    paths.frames.unlink()


def of_another_recording(paths: Paths) -> None:
    paths.frames.write_bytes(b"")
    Paths(paths.video.parent, "other").write(clip(COUNT + 1, 31, 45), gop_size=5)
    paths.frames.write_bytes(paths.video.with_name("other.frames.parquet").read_bytes())


def with_a_longer_index(paths: Paths) -> None:
    stamps = pq.read_table(paths.frames)["ts_ns"].to_pylist()
    pq.write_table(pa.table({"ts_ns": [*stamps, stamps[-1] + 1]}), paths.frames)


def with_a_shorter_index(paths: Paths) -> None:
    pq.write_table(pq.read_table(paths.frames).slice(1).replace_schema_metadata(None), paths.frames)


def with_times_that_go_back(paths: Paths) -> None:
    stamps = pq.read_table(paths.frames)["ts_ns"].to_pylist()
    pq.write_table(pa.table({"ts_ns": stamps[::-1]}), paths.frames)


def with_times_that_are_missing(paths: Paths) -> None:
    stamps = pq.read_table(paths.frames)["ts_ns"].to_pylist()
    pq.write_table(pa.table({"ts_ns": pa.array([*stamps[:-1], None], pa.int64())}), paths.frames)


def without_times(paths: Paths) -> None:
    pq.write_table(pa.table({"value": list(range(COUNT))}), paths.frames)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (without_video, "cam.mp4.*no file"),
        (without_index, "frames.parquet.*no file"),
        (of_another_recording, "cam.mp4.*bytes"),
        (with_a_longer_index, "The index has more"),
        (with_a_shorter_index, "The video has more"),
        (with_times_that_go_back, "go back"),
        (with_times_that_are_missing, "without gaps"),
        (without_times, "without gaps"),
    ],
)
def test_a_pair_that_does_not_fit(recorded: Paths, tmp_path: Path, spoil: Callable[[Paths], None], words: str) -> None:
    paths = copies(recorded, tmp_path)
    spoil(paths)
    with pytest.raises(Damaged, match=words):
        read(paths.read())


def test_a_repr_of_something_damaged_says_so(recorded: Paths, tmp_path: Path) -> None:
    paths = copies(recorded, tmp_path)
    paths.video.write_bytes(b"")
    assert "is damaged" in repr(paths.read())


def test_a_file_that_takes_the_place_of_another_while_it_is_read(recorded: Paths, tmp_path: Path) -> None:
    paths = copies(recorded, tmp_path)
    signal = paths.read()
    expected = signal.values
    data = paths.video.read_bytes()
    paths.video.write_bytes(data)  # the same again
    np.testing.assert_array_equal(signal[3][0], expected[3])
    paths.video.write_bytes(data[:300] + bytes([data[300] ^ 1]) + data[301:])
    with pytest.raises(Damaged):
        signal[0]
    paths.video.unlink()
    with pytest.raises(Damaged, match="no file"):
        signal[0]
