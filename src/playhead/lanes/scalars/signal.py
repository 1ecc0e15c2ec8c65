"""A metric of a run as a signal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead.signal import Positions, Signal
from playhead.signal.arrays import frozen, take


class MetricSignal(Signal[float]):
    """The values of one metric with their steps and stamps.

    Stamps increase within one process. Where several recorded the metric, two of them may have a stamp in common: both
    values are there, and the one that comes last is the value at that time.

    Args:
        name: The metric.
        rows: Stamp, step and value of each point, in order of time; None is NaN.
    """

    def __init__(self, name: str, rows: Sequence[tuple[int, int, float | None]]) -> None:
        self.name = name
        stamps, steps, values = zip(*rows, strict=True) if rows else ((), (), ())
        self._stamps = frozen(np.array(stamps, np.int64))
        self._steps = frozen(np.array(steps, np.int64))
        self._values = frozen(np.array(values, np.float64))

    @property
    def timestamps(self) -> NDArray[np.int64]:
        """The stamps in nanoseconds."""
        return self._stamps

    def _values_at(self, positions: Positions) -> NDArray[Any]:
        return take(self._values, positions)

    def _value_at(self, position: int) -> float:
        value: float = self._values[position]
        return value

    @property
    def times(self) -> NDArray[np.int64]:
        """The stamps in nanoseconds."""
        return self._stamps

    @property
    def steps(self) -> NDArray[np.int64]:
        """The step under which each value was logged."""
        return self._steps

    def __repr__(self) -> str:
        if not len(self):
            return f"<MetricSignal {self.name!r}, empty>"
        span = (int(self._stamps[-1]) - int(self._stamps[0])) / 1e9
        last = f"last {self._values[-1]:.6g} at step {self._steps[-1]}"
        return f"<MetricSignal {self.name!r}, {len(self)} values over {span:.3g} s, {last}>"
