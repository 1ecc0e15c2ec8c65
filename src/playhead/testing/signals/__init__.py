"""The contract of signals, as tests that an implementation inherits."""

from __future__ import annotations

from playhead.testing.signals.by_index import IndexContract
from playhead.testing.signals.by_time import TimeContract
from playhead.testing.signals.reading import ReadingContract

__all__ = ["SignalContract"]


class SignalContract(IndexContract, TimeContract, ReadingContract):
    """Tests of one implementation of `Signal`. A subclass that pytest collects says how to make one.

        class TestMySignal(SignalContract):
            def make_signal(self, samples, tmp_path):
                return MySignal(samples)

            def sample_values(self, n):
                return [float(i) for i in range(n)]

    What its lane cannot do, it says with the flags of `SignalSuite`; a lossy one has an `assert_same` of its own.
    """
