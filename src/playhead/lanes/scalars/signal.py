"""A metric of a run as a signal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead.signal import Signal


class MetricSignal(Signal):
    """The values of one metric with their steps and stamps.

    Args:
        name: The metric.
        rows: Stamp, step and value of each point, in order of time; None is NaN.
    """

    def __init__(self, name: str, rows: Sequence[tuple[int, int, float | None]]) -> None:
        self.name = name
        stamps, steps, values = zip(*rows, strict=True) if rows else ((), (), ())
        self._stamps = np.array(stamps, np.int64)
        self._steps = np.array(steps, np.int64)
        self._values = np.array(values, np.float64)
        for array in (self._stamps, self._steps, self._values):
            array.flags.writeable = False

    @property
    def values(self) -> NDArray[Any]:
        """All values as float64."""
        return self._values

    @property
    def timestamps(self) -> NDArray[np.int64]:
        """The stamps in nanoseconds."""
        return self._stamps

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
