"""Signals in worker processes that share nothing with their parent."""

from __future__ import annotations

import multiprocessing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from playhead.lanes.scalars.signal import MetricSignal
from playhead.lanes.vectors import SimpleSignal, SimpleSignalWriter
from playhead.lanes.video import VideoSignal, VideoSignalWriter
from playhead.signal import ArraySignal, Signal
from tests.signal import worker


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_workers_read_what_their_parent_reads(method: str, tmp_path: Path) -> None:
    with SimpleSignalWriter[float](tmp_path / "x.parquet") as writer:
        for stamp in (10, 20, 30):
            writer.append(stamp / 2, stamp)
    with VideoSignalWriter(tmp_path / "v.mp4", tmp_path / "v.frames.parquet", lossless=True) as camera:
        for stamp in (10, 20, 30):
            camera.append(np.full((16, 16, 3), stamp, np.uint8), stamp)
    recorded: list[Signal[Any]] = [
        ArraySignal(np.eye(3), [10, 20, 30]),
        MetricSignal("loss", [(10, 0, 0.5), (20, 1, None), (30, 2, -0.0)]),
        SimpleSignal(tmp_path / "x.parquet"),
        VideoSignal(tmp_path / "v.mp4", tmp_path / "v.frames.parquet"),
    ]
    signals = [view for signal in recorded for view in (signal, signal[:2], signal[[0, 2]], signal.time[12:40:12])]
    expected = [worker.read(signal) for signal in signals]
    with multiprocessing.get_context(method).Pool(1) as pool:
        found = pool.map(worker.read, signals)
    np.testing.assert_equal(found, expected)
    assert not any(is_writable for *_, is_writable in found)
