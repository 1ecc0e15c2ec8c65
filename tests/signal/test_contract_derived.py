"""Signals made of others pass the contract that all signals pass."""

from __future__ import annotations

from operator import neg
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from playhead.errors import PlayheadError
from playhead.signal import ArraySignal, Signal
from playhead.signal.derived import cached, differenced, joined, mapped, resized, shifted
from playhead.testing import SignalContract

Samples = list[tuple[Any, int]]


class Numbers(SignalContract):
    __test__ = False

    def sample_values(self, n: int) -> Any:
        return [float("nan"), -0.0, float("inf"), *(i / 7 for i in range(n))][:n]


def numbers(samples: Samples) -> Signal[Any]:
    return ArraySignal(np.array([value for value, _ in samples], float), [stamp for _, stamp in samples])


class TestMapped(Numbers):
    __test__ = True

    def make_signal(self, samples: Samples, tmp_path: Path) -> Signal[Any]:
        return mapped(mapped(numbers(samples), neg), neg)


class TestMappedInBatches(Numbers):
    __test__ = True

    def make_signal(self, samples: Samples, tmp_path: Path) -> Signal[Any]:
        return mapped(mapped(numbers(samples), np.negative, batch=True), np.negative, batch=True)


class TestShifted(Numbers):
    __test__ = True

    def make_signal(self, samples: Samples, tmp_path: Path) -> Signal[Any]:
        for there, back in ((-3, 3), (3, -3)):
            moved = shifted(shifted(numbers(samples), there), back)
            try:
                _ = moved.timestamps
            except PlayheadError:
                continue  # the first or the last stamp has no room on that side
            return moved
        return shifted(numbers(samples), 0)


class TestCached(Numbers):
    __test__ = True
    keeps_values_in_memory = True

    def make_signal(self, samples: Samples, tmp_path: Path) -> Signal[Any]:
        return cached(numbers(samples))


class TestJoined(SignalContract):
    def sample_values(self, n: int) -> Any:
        return np.random.default_rng(0).normal(size=(n, 3))

    def make_signal(self, samples: Samples, tmp_path: Path) -> Signal[Any]:
        values = np.array([value for value, _ in samples], float).reshape(len(samples), 3)
        stamps = [stamp for _, stamp in samples]
        return joined(ArraySignal(values[:, 0], stamps), ArraySignal(values[:, 1:], stamps))


class TestDifferenced(SignalContract):
    def sample_values(self, n: int) -> Any:
        return [float(i * i) for i in range(n)]

    def make_signal(self, samples: Samples, tmp_path: Path) -> Signal[Any]:
        if not samples:
            return differenced(ArraySignal(np.zeros(1), [5]))
        stamps = [stamp for _, stamp in samples]
        if stamps[0] == -(1 << 63):
            pytest.skip("no sample can lie before the first stamp that there is")
        return differenced(ArraySignal(np.cumsum([0.0, *(value for value, _ in samples)]), [stamps[0] - 1, *stamps]))


class TestResized(SignalContract):
    def sample_values(self, n: int) -> Any:
        return np.random.default_rng(0).integers(0, 255, (n, 4, 4), np.uint8)

    def make_signal(self, samples: Samples, tmp_path: Path) -> Signal[Any]:
        values = np.array([value for value, _ in samples], np.uint8).reshape(len(samples), 4, 4)
        large = np.repeat(np.repeat(values, 3, 1), 3, 2)
        return resized(ArraySignal(large, [stamp for _, stamp in samples]), 4, 4, smooth=False)
