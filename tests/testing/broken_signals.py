"""Signals that break the contract, each in one way, under the tests of the contract; `test_signal_contract.py` runs them."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from playhead.signal import ArraySignal, Signal
from playhead.signal.arrays import take
from playhead.testing import SignalContract


class Contract(SignalContract):
    keeps_values_in_memory = True
    Kind: type[Signal[Any]] = ArraySignal

    def make_signal(self, samples: list[tuple[Any, int]], tmp_path: Path) -> Signal[Any]:
        return self.Kind(np.array([value for value, _ in samples], float), [stamp for _, stamp in samples])

    def sample_values(self, n: int) -> list[float]:
        return [i / 7 for i in range(n)]


class TestSound(Contract):
    """Nothing is wrong with this one."""


class TestSortsPositions(Contract):
    class Kind(ArraySignal[Any]):
        def _values_at(self, positions: Any) -> Any:
            return take(self._values, positions if isinstance(positions, range) else np.sort(positions))


class TestForgetsTheStep(Contract):
    class Kind(ArraySignal[Any]):
        def _values_at(self, positions: Any) -> Any:
            if isinstance(positions, range):
                return self._values[positions.start : positions.start + len(positions)]
            return self._values[positions]


class TestShowsTheNextValue(Contract):
    class Kind(ArraySignal[Any]):
        def _value_at(self, position: int) -> Any:
            return self._values[min(position + 1, len(self._values) - 1)]


class TestCopies(Contract):
    class Kind(ArraySignal[Any]):
        def _values_at(self, positions: Any) -> Any:
            return take(self._values, positions).copy()


class TestStampsCanBeChanged(Contract):
    class Kind(ArraySignal[Any]):
        @property
        def timestamps(self) -> Any:
            return self._stamps.copy()


class TestStampsAreFractions(Contract):
    class Kind(ArraySignal[Any]):
        @property
        def timestamps(self) -> Any:
            return self._stamps.astype(float)


class TestCannotBeEmpty(Contract):
    class Kind(ArraySignal[Any]):
        def _values_at(self, positions: Any) -> Any:
            return np.stack([self._values[position] for position in positions])


class TestReadsToCount(Contract):
    class Kind(ArraySignal[Any]):
        def _count(self) -> int:
            return len(self._values_at(range(len(self._stamps))))


class TestReadsToPrint(Contract):
    class Kind(ArraySignal[Any]):
        def __repr__(self) -> str:
            return f"newest value {self._value_at(len(self) - 1)}" if len(self) else "empty"


class TestReadsTooMuch(Contract):
    class Kind(ArraySignal[Any]):
        def _value_at(self, position: int) -> Any:
            return self._values_at(range(len(self)))[position]


class TestHasItsOwnSlices(Contract):
    class Kind(ArraySignal[Any]):
        def __getitem__(self, key: Any) -> Any:  # type: ignore[misc]
            if isinstance(key, slice):
                return type(self)(self._values[key], self._stamps[key])
            return super().__getitem__(key)


class TestStaysInItsProcess(Contract):
    class Kind(ArraySignal[Any]):
        def __init__(self, values: Any, stamps: Any) -> None:
            super().__init__(values, stamps)
            self._turn = threading.Lock()


class TestThreadsMeet(Contract):
    class Kind(ArraySignal[Any]):
        def _value_at(self, position: int) -> Any:
            self._cursor = position
            time.sleep(0.0005)
            return self._values[self._cursor]


class TestLosesSigns(Contract):
    class Kind(ArraySignal[Any]):
        def __init__(self, values: Any, stamps: Any) -> None:
            super().__init__(values + 0.0, stamps)

    def sample_values(self, n: int) -> list[float]:
        return [-0.0] * n


class TestMergesStamps(Contract):
    repeats_stamps = True

    class Kind(ArraySignal[Any]):
        def __init__(self, values: Any, stamps: Any) -> None:
            stamps, first = np.unique(np.array(stamps, np.int64), return_index=True)
            super().__init__(values[first], stamps)
