"""Every way to a frame gives the same bytes: alone, in a window, in any order, in threads, in other processes."""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from playhead.lanes.video import VideoSignal, cursor
from tests.lanes.video.clips import Paths, clip

COUNT = 50


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Paths:
    paths = Paths(tmp_path_factory.mktemp("recorded"))
    paths.write(clip(COUNT, 46, 62), gop_size=8)
    return paths


@pytest.fixture(scope="module")
def expected(recorded: Paths) -> NDArray[np.uint8]:
    """Frames as another reader decodes them, from the first to the last."""
    import av

    with av.open(str(recorded.video)) as container:
        return np.stack([frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)])


def test_nothing_is_opened_before_it_is_needed(tmp_path: Path) -> None:
    signal = VideoSignal(tmp_path / "none.mp4", str(tmp_path / "none.parquet"), seek_threshold=3)
    with pytest.raises(FileNotFoundError):
        len(signal)


def test_each_frame_alone(recorded: Paths, expected: NDArray[np.uint8]) -> None:
    signal = recorded.read()
    order = list(range(COUNT))
    random.Random(0).shuffle(order)
    for i in order:
        np.testing.assert_array_equal(signal[i][0], expected[i])


def test_forwards_and_backwards(recorded: Paths, expected: NDArray[np.uint8]) -> None:
    signal = recorded.read()
    np.testing.assert_array_equal(np.stack([frame for frame, _ in signal]), expected)
    np.testing.assert_array_equal(np.stack([frame for frame, _ in reversed(signal)]), expected[::-1])
    np.testing.assert_array_equal(signal[3:44:7].values, expected[3:44:7])


@settings(max_examples=40, deadline=None)
@given(positions=st.lists(st.integers(0, COUNT - 1), min_size=1, max_size=20))
def test_any_order_with_repeats(recorded: Paths, expected: NDArray[np.uint8], positions: list[int]) -> None:
    np.testing.assert_array_equal(recorded.read()[positions].values, expected[positions])


@settings(max_examples=25, deadline=None)
@given(reads=st.lists(st.tuples(st.integers(0, COUNT - 1), st.integers(0, 20)), min_size=1, max_size=12))
def test_any_row_of_windows(recorded: Paths, expected: NDArray[np.uint8], reads: list[tuple[int, int]]) -> None:
    signal = recorded.read()
    for start, length in reads:
        np.testing.assert_array_equal(signal[start : start + length].values, expected[start : start + length])


def test_a_random_frame_decodes_at_most_one_gop_and_reading_on_decodes_each_frame_once(
    recorded: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded = []
    decode = cursor.Cursor._decode
    monkeypatch.setattr(
        cursor.Cursor,
        "_decode",
        lambda self, packet, *rest: (decoded.append(packet.pts), decode(self, packet, *rest))[1],
    )
    signal = recorded.read()
    for i in (37, 2, 49, 15, 14):
        decoded.clear()
        signal[i]
        assert decoded == list(range(i // 8 * 8, i + 1))
    decoded.clear()
    for i in range(20, COUNT):
        signal[i]
    assert decoded == list(range(16, COUNT))
    decoded.clear()
    signal[[9, 44, 9, 10, 43]].values  # noqa: B018
    assert decoded == [8, 9, 10, 40, 41, 42, 43, 44]


def test_threads_share_a_signal(recorded: Paths, expected: NDArray[np.uint8]) -> None:
    signal = recorded.read()

    def read(seed: int) -> None:
        rng = random.Random(seed)
        for _ in range(25):
            start = rng.randrange(COUNT)
            np.testing.assert_array_equal(signal[start : start + 6].values, expected[start : start + 6])

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(read, range(6)))


def test_a_forked_child_reads_what_its_parent_reads(recorded: Paths, expected: NDArray[np.uint8]) -> None:
    signal = recorded.read()
    signal[10]
    children = []
    for k in range(3):
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                same = all(np.array_equal(signal[i][0], expected[i]) for i in range(k, COUNT, 3))
                status = 0 if same else 2
            finally:
                os._exit(status)
        children.append(pid)
    np.testing.assert_array_equal(signal.values, expected)
    assert [os.waitpid(pid, 0)[1] for pid in children] == [0, 0, 0]


def test_a_spawned_worker_opens_it_anew(recorded: Paths, expected: NDArray[np.uint8]) -> None:
    signal = recorded.read()
    signal[3]
    copy = pickle.loads(pickle.dumps(signal))
    assert (copy.video_path, copy.frames_index_path) == (recorded.video, recorded.frames)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = pool.apply(VideoSignal._values_at, (signal, range(COUNT)))
    np.testing.assert_array_equal(found, expected)


def resident_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def test_memory_stays_where_it_is(tmp_path: Path) -> None:
    paths = Paths(tmp_path)
    signal = paths.write(clip(60, 240, 320), gop_size=10)
    rng = random.Random(0)

    def read(count: int) -> None:
        for _ in range(count):
            start = rng.randrange(52)
            signal[start : start + 8].values  # noqa: B018

    read(50)
    before = resident_mb()
    read(300)
    assert resident_mb() - before < 20


def test_decoders_of_many_signals_are_few_and_go_with_them(recorded: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    weight = 46 * 62 * 3 * 8
    monkeypatch.setattr(cursor, "_KEPT_BYTES", 5 * weight)
    signals = [recorded.read() for _ in range(12)]
    for signal in signals:
        signal[0]
    assert len(cursor._idle) == 5
    del signal
    signals.clear()
    gc.collect()
    assert cursor._idle == []


def test_no_file_stays_open(recorded: Paths) -> None:
    before = len(os.listdir("/proc/self/fd"))
    signals = [recorded.read() for _ in range(20)]
    for signal in signals:
        signal[5]
    assert len(os.listdir("/proc/self/fd")) == before
