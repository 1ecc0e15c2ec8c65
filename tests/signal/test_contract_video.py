"""What the video lane records is a signal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from hypothesis.extra import numpy as hnp

from playhead.lanes.video import VideoSignal, VideoSignalWriter
from playhead.signal import Signal
from tests.signal.machine import Samples, SignalMachine, as_tests
from tests.signal.recorded import RecordedContract

SHAPE = (16, 18, 3)


def record(samples: Samples, folder: Path, **settings: Any) -> None:
    with VideoSignalWriter(folder / "v.mp4", folder / "v.frames.parquet", gop_size=4, **settings) as writer:
        for frame, stamp in samples:
            writer.append(frame, stamp)


def opened(folder: Path) -> VideoSignal:
    return VideoSignal(folder / "v.mp4", folder / "v.frames.parquet")


class TestLossless(RecordedContract):
    def record(self, samples: Samples, folder: Path) -> None:
        record(samples, folder, lossless=True)

    def open(self, folder: Path) -> Signal[Any]:
        return opened(folder)

    def sample_values(self, n: int) -> Any:
        return np.random.default_rng(0).integers(0, 256, (n, *SHAPE), np.uint8)


class TestLossy(TestLossless):
    def record(self, samples: Samples, folder: Path) -> None:
        record(samples, folder)

    def sample_values(self, n: int) -> Any:
        return [np.full(SHAPE, 25 * i, np.uint8) for i in range(n)]  # further apart than what is lost

    def assert_same(self, found: Any, expected: Any) -> None:
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        assert np.abs(found.astype(int) - expected).max() < 12


class VideoMachine(SignalMachine):
    each = hnp.arrays(np.uint8, SHAPE, fill=hnp.from_dtype(np.dtype(np.uint8)))

    def make_signal(self, held: Samples, folder: Path) -> Signal[Any]:
        record(held, folder, lossless=True)
        return opened(folder)


TestMachine = as_tests(VideoMachine, max_examples=12)
