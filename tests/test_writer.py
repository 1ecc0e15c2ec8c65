"""The background thread of a recording, and how its end reaches the caller."""

from __future__ import annotations

import contextlib
import math
import threading
from pathlib import Path

import numpy as np
import pytest

from playhead import clock
from playhead.lanes.arrays.config import ReplayConfig
from playhead.lanes.arrays.reel import Reel
from playhead.lanes.arrays.writer import ReelWriter
from playhead.layout import ReplayFolder
from playhead.tape import Crew
from playhead.writer import BackgroundWriter


def test_a_thread_that_dies_outside_its_work_is_told_of_at_every_check() -> None:
    done = []

    def work() -> bool:
        done.append(threading.current_thread())
        return False

    writer = BackgroundWriter(work, math.inf, "endless")  # so long no lock can be waited for
    writer.start()
    writer.wake()
    writer._thread.join(10)
    for _ in range(3):
        with pytest.raises(OverflowError):
            writer.check()
    writer.run_now()
    with pytest.raises(OverflowError):
        writer.check()
    writer.stop()
    assert done[-1] is threading.current_thread()


def test_nobody_waits_for_a_thread_that_is_gone(tmp_path: Path) -> None:
    """Was a bug: recording stood still for ever when the queue was full."""
    files, crew = ReplayFolder(tmp_path).reel("r"), Crew(0.01)
    writer = ReelWriter(files, ReplayConfig(queue=1 << 20), crew=crew)
    frames = [{"frames": np.full((84, 84, 3), number % 256, np.uint8)} for number in range(200)]
    writer.step(frames[0], 1.0, False, False)
    crew._interval = math.inf
    crew.wake()
    crew._thread.join(10)
    with pytest.raises(OverflowError):
        writer.step(frames[1], 1.0, False, False)  # which is not recorded
    told = 0
    for number in range(1, 200):  # and those that are handed over say so where the caller would have to wait
        try:
            writer.give(dict(frames[number]), 1.0, False, False, b"", clock.now_ns())
        except OverflowError:
            told += 1
    assert told > 5
    crew.stop()
    writer.close()
    with contextlib.closing(Reel(files)) as reel:
        assert reel.length == 200
        assert reel.read("frames", 0, 200)[:, 0, 0, 0].tolist() == list(range(200))
