"""Arrays in memory are signals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from playhead.errors import BadKey, OutOfOrder, WrongShape
from playhead.signal import ArraySignal, Signal
from playhead.testing import SignalContract
from tests.signal.machine import Samples, SignalMachine, as_tests


class TestNumbers(SignalContract):
    keeps_values_in_memory = True

    def make_signal(self, samples: Samples, tmp_path: Path) -> Signal[Any]:
        return ArraySignal(np.array([value for value, _ in samples], float), [stamp for _, stamp in samples])

    def sample_values(self, n: int) -> list[float]:
        return [float("nan"), -0.0, float("inf"), *(i / 7 for i in range(n))][:n]


class TestMatrices(TestNumbers):
    def make_signal(self, samples: Samples, tmp_path: Path) -> Signal[Any]:
        values = np.array([value for value, _ in samples], np.int16).reshape(len(samples), 3, 2)
        return ArraySignal(values, np.array([stamp for _, stamp in samples], np.int64))

    def sample_values(self, n: int) -> Any:
        return np.random.default_rng(0).integers(-(1 << 15), 1 << 15, (n, 3, 2), np.int16)


class TestTexts(TestNumbers):
    def make_signal(self, samples: Samples, tmp_path: Path) -> Signal[Any]:
        return ArraySignal(np.array([value for value, _ in samples], object), [stamp for _, stamp in samples])

    def sample_values(self, n: int) -> list[str]:
        return ["", "ünï\0", *(f"text {i}" for i in range(n))][:n]


class ArrayMachine(SignalMachine):
    def make_signal(self, held: Samples, folder: Path) -> Signal[Any]:
        return ArraySignal([value for value, _ in held], [stamp for _, stamp in held])


TestMachine = as_tests(ArrayMachine)


def test_the_arrays_are_not_copied() -> None:
    values, stamps = np.arange(5.0), np.arange(5)
    signal: ArraySignal[float] = ArraySignal(values, stamps)
    assert np.shares_memory(signal.values, values)
    assert np.shares_memory(signal.timestamps, stamps)
    values[1] = 7
    assert signal[1] == (7, 1)
    assert values.flags.writeable


@pytest.mark.parametrize(
    ("values", "stamps", "error"),
    [
        ([1, 2], [1], WrongShape),
        (5, [1], WrongShape),
        ([1], [[1]], BadKey),
        ([1, 2], [2, 1], OutOfOrder),
        ([1, 2], [1, 1], OutOfOrder),
        ([1, 2], [1.0, 2.0], BadKey),
        ([1, 2], np.array([1.0, 2.0]), BadKey),
        ([1], [float("nan")], BadKey),
        ([1], [1 << 63], BadKey),
        ([1], np.array([1 << 63], np.uint64), BadKey),
        ([1], [True], BadKey),
        ([1], ["1"], BadKey),
    ],
)
def test_what_makes_no_signal_is_refused(values: Any, stamps: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        ArraySignal(values, stamps)
