"""Views: what they know of the signal that they show."""

from __future__ import annotations

import numpy as np
import pytest

from playhead.errors import OutOfOrder
from playhead.signal import ArraySignal, Signal
from playhead.signal.derived import cached, shifted


@pytest.fixture
def signal() -> ArraySignal[int]:
    return ArraySignal(np.arange(6), [10, 20, 30, 40, 50, 60])


def test_a_view_of_a_view_is_a_view_of_the_signal(signal: ArraySignal[int]) -> None:
    for view in (signal[1:], signal[1:][::2], signal[1:][[0, 2]].time[[45]][:]):
        assert repr(view).endswith(f" of {signal!r}>")
        assert repr(view).count("SignalView") == 1


def test_what_is_made_of_a_view_out_of_order_is_out_of_order(signal: ArraySignal[int]) -> None:
    made: list[Signal[int]] = [cached(signal[[5, 1, 2]]), shifted(signal[[5, 1, 2]], 1)]
    for derived in made:
        for part in (derived, derived[:], derived[:2]):
            with pytest.raises(OutOfOrder):
                part.time[55]
        assert derived[1:].time[55][0] == 2


def test_a_view_that_was_found_in_order_stays_so(signal: ArraySignal[int]) -> None:
    sampled = signal.time[[15, 25, 25, 35]]
    assert sampled.time[25] == (1, 25)
    assert list(sampled[1:].time[26:]) == [(2, 35)]
    assert sampled[1:].time[25] == (1, 25)
    with pytest.raises(OutOfOrder):
        sampled[[3, 0]].time[35]


def test_a_view_is_described(signal: ArraySignal[int]) -> None:
    assert repr(signal[[4, 0, 1]]) == f"<SignalView, 3 samples over 4e-08 s of {signal!r}>"
    assert repr(signal[2:2]) == f"<SignalView, empty of {signal!r}>"
    assert repr(signal) == "<ArraySignal, 6 samples over 5e-08 s>"
