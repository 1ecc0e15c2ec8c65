"""What agents play is made of signals: sealed, in the journal, with holes, as stacks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from playhead.lanes.arrays.config import ReplayConfig
from playhead.lanes.arrays.writer import ReelWriter
from playhead.layout import ReplayFolder
from playhead.replay import open_episode
from playhead.signal import Signal
from tests.signal.machine import Samples, SignalMachine, as_tests
from tests.signal.recorded import RecordedContract


def begin(folder: Path, **options: Any) -> ReelWriter:
    return ReelWriter(ReplayFolder(folder).reel("run"), ReplayConfig(chunk=4), **options)


class ReplayContract(RecordedContract):
    can_be_empty = False
    name = "frame"

    def record(self, samples: Samples, folder: Path) -> None:
        reel = begin(folder)
        for value, stamp in samples:
            reel.step({"frames": value}, 0.5, False, False, ts_ns=stamp)
        self.end(reel)

    def end(self, reel: ReelWriter) -> None:
        reel.close()

    def open(self, folder: Path) -> Signal[Any]:
        return open_episode(folder, "run", 0)[self.name]  # type: ignore[no-any-return]


class TestFrames(ReplayContract):
    def sample_values(self, n: int) -> Any:
        return np.random.default_rng(0).integers(0, 256, (n, 20, 30, 3), dtype=np.uint8)


class TestFramesInTheJournal(TestFrames):
    def end(self, reel: ReelWriter) -> None:
        reel.flush()
        reel.abandon()


class TestNumbers(ReplayContract):
    def sample_values(self, n: int) -> Any:
        return np.array([float("nan"), -0.0, float("inf"), *(i / 7 for i in range(n))][:n])


class TestFramesWithHoles(TestFrames):
    stamp_limits = (-(1 << 63), (1 << 63) - 2)

    def record(self, samples: Samples, folder: Path) -> None:
        reel = begin(folder)
        for value, stamp in samples:
            reel.step({"frames": value, "actions": 1}, 0.5, False, False, ts_ns=stamp)
        reel.step({"actions": 1}, 0.5, False, False, ts_ns=samples[-1][1] + 1)
        self.end(reel)


class TestRewards(ReplayContract):
    keeps_values_in_memory = True
    name = "reward"

    def sample_values(self, n: int) -> list[float]:
        return [float("nan"), -0.0, float("inf"), *(i / 7 for i in range(n))][:n]

    def record(self, samples: Samples, folder: Path) -> None:
        reel = begin(folder)
        for value, stamp in samples:
            reel.step({"actions": 1}, value, False, False, ts_ns=stamp)
        reel.close()


class TestTexts(ReplayContract):
    name = "observation"

    def sample_values(self, n: int) -> list[str]:
        return ["", "ünï", *(f"text {i}" for i in range(n))][:n]

    def record(self, samples: Samples, folder: Path) -> None:
        reel = begin(folder)
        for value, stamp in samples:
            reel.step({"observations": np.array(value.encode(), "S40")}, 0.5, False, False, ts_ns=stamp)
        reel.close()


class TestStacks(ReplayContract):
    """Stacks of three, the first of which begins with frames from before the episode."""

    name = "observation"

    def sample_values(self, n: int) -> Any:
        frames = np.random.default_rng(0).integers(0, 256, (n + 2, 5, 6), dtype=np.uint8)
        return np.stack([frames[i : i + 3] for i in range(n)])

    def record(self, samples: Samples, folder: Path) -> None:
        reel = begin(folder, stacks={"observations": 3})
        reel.begin(prefixes={"observations": samples[0][0][:2]}, ts_ns=samples[0][1])
        for value, stamp in samples:
            reel.step({"observations": value[-1]}, 0.5, False, False, ts_ns=stamp)
        reel.close()


class ReplayMachine(SignalMachine):
    fewest = 1
    each = st.integers(-9, 9).map(lambda number: np.full((2, 3), number, np.int16))

    def make_signal(self, held: Samples, folder: Path) -> Signal[Any]:
        reel = begin(folder)
        for value, stamp in held:
            reel.step({"frames": value}, 0.5, False, False, ts_ns=stamp)
        reel.close()
        return open_episode(folder, "run", 0)["frame"]  # type: ignore[no-any-return]


TestMachine = as_tests(ReplayMachine, max_examples=20)
