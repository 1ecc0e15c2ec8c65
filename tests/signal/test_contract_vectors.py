"""What the vectors lane records is a signal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from playhead.lanes.vectors import SimpleSignal, SimpleSignalWriter
from playhead.signal import Signal
from tests.signal.machine import Samples, SignalMachine, as_tests
from tests.signal.recorded import RecordedContract


def record(samples: Samples, path: Path) -> None:
    with SimpleSignalWriter[Any](path) as writer:
        for value, stamp in samples:
            writer.append(value, stamp)


class VectorContract(RecordedContract):
    keeps_values_in_memory = True

    def record(self, samples: Samples, folder: Path) -> None:
        record(samples, folder / "signal.parquet")

    def open(self, folder: Path) -> Signal[Any]:
        return SimpleSignal(folder / "signal.parquet")


class TestNumbers(VectorContract):
    def sample_values(self, n: int) -> list[float]:
        return [float("nan"), -0.0, float("inf"), *(i / 7 for i in range(n))][:n]


class TestTexts(VectorContract):
    def sample_values(self, n: int) -> list[str]:
        return ["", "ünï\0", *(f"text {i}" for i in range(n))][:n]


class TestVectors(VectorContract):
    def sample_values(self, n: int) -> Any:
        return np.random.default_rng(0).normal(size=(n, 7)).astype(np.float32)


class TestTruths(VectorContract):
    def sample_values(self, n: int) -> list[bool]:
        return [i % 3 == 0 for i in range(n)]


class VectorMachine(SignalMachine):
    def make_signal(self, held: Samples, folder: Path) -> Signal[Any]:
        record(held, folder / "signal.parquet")
        return SimpleSignal(folder / "signal.parquet")


TestMachine = as_tests(VectorMachine, max_examples=30)
