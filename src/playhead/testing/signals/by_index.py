"""Tests of access by index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from playhead.errors import OutOfRange
from playhead.signal import Signal
from playhead.testing.signals.suite import BAD_KEY, BAD_SLICE, Sample, SignalSuite

MASKS = {
    "an array of truth values": np.array([True, False] * 5),
    "a list of truth values": [True, False] * 5,
    "NumPy's truth values in a list": [np.True_, np.False_],
    "a truth value among numbers": [1, True],
    "a truth value": True,
    "NumPy's truth value": np.True_,
}
NO_KEYS = {
    "text": "3",
    "bytes": b"3",
    "fraction": 3.0,
    "NumPy's fraction": np.float64(3),
    "nothing": None,
    "ellipsis": ...,
    "set": {3},
    "mapping": {3: 3},
    "date": np.datetime64(3, "ns"),
    "fractions": [3.0],
    "fractions among numbers": [3, 3.0],
    "array of fractions": np.array([3.0]),
    "duration": np.timedelta64(3, "ns"),
    "array of dates": np.array([3], "datetime64[ns]"),
    "array of durations": np.array([3], "timedelta64[ns]"),
    "texts": ["3"],
    "lists": [[3], [3]],
    "uneven lists": [[3], [3, 3]],
    "array of two dimensions": np.full((2, 2), 3),
    "array of lists": np.array([[3], None], object),
}
NO_BOUNDS = {
    "text": slice("3", None),
    "fraction": slice(3.0, None),
    "end that is a fraction": slice(0, 3.0),
    "step that is a fraction": slice(0, 9, 1.5),
    "step that is a truth value": slice(0, 9, True),
}


def _cases(cases: dict[str, Any]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("key", cases.values(), ids=cases.keys())


class IndexContract(SignalSuite):
    """What a signal gives by index."""

    def test_it_is_a_sequence_of_samples(self, signal: Signal[Any], samples: list[Sample]) -> None:
        """A signal is what was put in, and says how it looks."""
        assert isinstance(signal, Sequence)
        self.assert_holds(signal, samples)
        assert repr(signal)
        assert repr(signal[2:4])

    def test_what_is_final_is_as_written_once(self, signal: Signal[Any]) -> None:
        """An implementation changes none of the semantics."""
        finals = [
            name
            for name, member in vars(Signal).items()
            if getattr(member.fget if isinstance(member, property) else member, "__final__", False)
        ]
        assert {"__getitem__", "__iter__", "__len__", "__reversed__", "time", "values"} <= set(finals)
        for name in finals:
            assert getattr(type(signal), name) is getattr(Signal, name), f"{name} is final"

    def test_an_index_counts_from_either_end(self, signal: Signal[Any], samples: list[Sample]) -> None:
        """An index from -n to n - 1 gives a sample."""
        for index in range(-10, 10):
            self.assert_sample(signal[index], samples[index])

    @pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint64, np.array])
    def test_an_index_may_be_of_any_whole_kind(self, kind: Any, signal: Signal[Any], samples: list[Sample]) -> None:
        """NumPy's integers are indices too."""
        self.assert_sample(signal[kind(7)], samples[7])

    @pytest.mark.parametrize("index", [10, -11, 1 << 40, 1 << 70, -(1 << 70), np.uint64((1 << 64) - 1)])
    def test_an_index_out_of_range_is_refused(self, index: Any, signal: Signal[Any]) -> None:
        """There is nothing behind the ends, however far."""
        self.assert_raises((OutOfRange, IndexError), lambda: signal[index])
        self.assert_raises((OutOfRange, IndexError), lambda: signal[[0, index]])
        self.assert_raises((OutOfRange, IndexError), lambda: signal[np.array([index])])
        self.assert_raises((OutOfRange, IndexError), lambda: signal[:][index])

    @pytest.mark.parametrize(
        "key",
        [
            slice(None),
            slice(2, 5),
            slice(-4, None),
            slice(None, -3),
            slice(5, 2),
            slice(20, 30),
            slice(-100, 100),
            slice(None, None, 3),
            slice(1, 9, 2),
            slice(-9, -1, 4),
            slice(np.int64(2), np.int32(8), np.int8(2)),
            slice(-(1 << 70), 1 << 70, 1 << 70),
        ],
        ids=str,
    )
    def test_a_slice_is_a_view(self, key: slice, signal: Signal[Any], samples: list[Sample]) -> None:
        """Slices are those of a list."""
        self.assert_holds(signal[key], samples[key])

    @pytest.mark.parametrize("step", [0, -1, -3, np.int64(-2), -(1 << 70)])
    def test_a_slice_goes_forward(self, step: Any, signal: Signal[Any]) -> None:
        """A step of zero or less is refused, with an error of each kind that callers know."""
        self.assert_raises(BAD_SLICE, lambda: signal[::step])
        self.assert_raises(BAD_SLICE, lambda: signal[9:0:step])
        self.assert_raises(BAD_SLICE, lambda: signal[3:6][::step])

    @pytest.mark.parametrize(
        "indices", [[0, 3, 8], [-1, 0, -10], [4, 4, 4], [9, 2, 5], [6], [], range(3), range(8, 0, -3)], ids=str
    )
    def test_a_list_of_indices_is_a_view(self, indices: Any, signal: Signal[Any], samples: list[Sample]) -> None:
        """A list keeps its order and its repeats, and counts from either end."""
        expected = [samples[index] for index in indices]
        self.assert_holds(signal[indices], expected)
        self.assert_holds(signal[tuple(indices)], expected)
        self.assert_holds(signal[[np.int16(index) for index in indices]], expected)
        for kind in (np.int8, np.int64, ">i8", object):
            self.assert_holds(signal[np.array(indices, kind)], expected)

    def test_a_view_does_not_change_with_the_list(self, signal: Signal[Any], samples: list[Sample]) -> None:
        """The array that was asked with is the caller's, and may be filled anew."""
        indices, times = np.array([2, 3]), np.array([130, 210])
        by_index, by_time = signal[indices], signal.time[times]
        indices[:], times[:] = 0, 0
        self.assert_holds(by_index, samples[2:4])
        self.assert_holds(by_time, [(samples[2][0], 130), (samples[4][0], 210)])

    @_cases(MASKS)
    def test_masks_are_refused(self, key: Any, signal: Signal[Any]) -> None:
        """A truth value is neither an index nor a time, and an error of each kind that callers know says so."""
        self.assert_raises(BAD_KEY, lambda: signal[key], "Boolean indexing is not supported")
        self.assert_raises(BAD_KEY, lambda: signal.time[key], "Boolean indexing is not supported")

    @_cases(NO_KEYS)
    def test_other_keys_are_refused(self, key: Any, signal: Signal[Any]) -> None:
        """What is not a whole number, a slice or a list of whole numbers is refused."""
        self.assert_raises(BAD_KEY, lambda: signal[key])
        self.assert_raises(BAD_KEY, lambda: signal.time[key])

    @_cases(NO_BOUNDS)
    def test_other_bounds_are_refused(self, key: slice, signal: Signal[Any]) -> None:
        """The bounds and the step of a slice are whole numbers."""
        self.assert_raises(BAD_KEY, lambda: signal[key])
        self.assert_raises(BAD_KEY, lambda: signal.time[key])

    def test_views_of_views_compose(self, signal: Signal[Any], samples: list[Sample]) -> None:
        """Each view is a signal itself."""
        self.assert_holds(signal[2:9][1:][::2], samples[3:9:2])
        self.assert_holds(signal[::2][::2][1:], samples[4::4])
        self.assert_holds(signal[8:2][::2], [])
        self.assert_holds(signal[::3][[3, 0, -1]], [samples[9], samples[0], samples[9]])
        self.assert_holds(signal[1:][[4, 0]][:], [samples[5], samples[1]])
        self.assert_holds(signal[[5, 1, 7, 3]][1:], [samples[1], samples[7], samples[3]])
        self.assert_holds(signal[[5, 1, 7, 3]][::2][[-1, 0]], [samples[7], samples[5]])
        self.assert_holds(signal[3:8].time[200:1001][1:], samples[4:7])
        self.assert_holds(signal.time[[120, 900, 120]][::2], [(samples[1][0], 120)] * 2)
        self.assert_holds(signal.time[100:999:300][[-1]], [(samples[5][0], 700)])
