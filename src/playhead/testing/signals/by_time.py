"""Tests of access by time."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from playhead.errors import NotFound, OutOfOrder
from playhead.signal import Signal
from playhead.testing.signals.suite import BAD_KEY, BAD_SLICE, STAMPS, Sample, SignalSuite


class TimeContract(SignalSuite):
    """What a signal gives by time."""

    def test_a_time_gives_the_newest_sample_until_then(self, signal: Signal[Any], samples: list[Sample]) -> None:
        """The value at a time is that of the sample at it, or else of the one before; so is the stamp."""
        for position, stamp in enumerate(STAMPS):
            end = (*STAMPS, 20_000)[position + 1]
            for time in (stamp, (stamp + end) // 2, end - 1):
                self.assert_sample(signal.time[time], samples[position])
        for kind in (np.int64, np.uint64, np.array):
            self.assert_sample(signal.time[kind(250)], samples[4])
        self.assert_sample(signal.time[1 << 70], samples[9])

    @pytest.mark.parametrize("time", [99, 0, -1, -(1 << 63), -(1 << 70), np.int64(5)])
    def test_there_is_nothing_before_the_first(self, time: Any, signal: Signal[Any]) -> None:
        """A time before the first sample has no value, alone, in a list or as the start of steps."""
        for ask in (
            lambda: signal.time[time],
            lambda: signal.time[[200, time]],
            lambda: signal.time[(time,)],
            lambda: signal.time[time:1000:150],
            lambda: signal.time[time::150],
        ):
            self.assert_raises((NotFound, KeyError), ask)

    @pytest.mark.parametrize(
        ("key", "first", "end"),
        [
            (slice(100, 9001), 0, 10),
            (slice(110, 300), 1, 5),
            (slice(111, 301), 2, 6),
            (slice(201, 202), 4, 5),
            (slice(126, 200), 3, 3),
            (slice(200, 200), 3, 3),
            (slice(300, 110), 5, 5),
            (slice(None, 201), 0, 4),
            (slice(1001, None), 7, 10),
            (slice(None), 0, 10),
            (slice(0, 100), 0, 0),
            (slice(9001, 9999), 10, 10),
            (slice(np.int64(110), np.uint64(300)), 1, 5),
            (slice(-(1 << 70), 1 << 70), 0, 10),
            (slice(1 << 70, None), 10, 10),
            (slice(None, -(1 << 70)), 0, 0),
        ],
        ids=str,
    )
    def test_a_window_has_the_samples_within(
        self, key: slice, first: int, end: int, signal: Signal[Any], samples: list[Sample]
    ) -> None:
        """A window begins with its start and ends before its stop; no value is carried into it."""
        self.assert_holds(signal.time[key], samples[first:end])

    @pytest.mark.parametrize(
        ("key", "expected"),
        [
            (slice(100, 130, 10), [(0, 100), (1, 110), (1, 120)]),
            (slice(100, 131, 10), [(0, 100), (1, 110), (1, 120), (2, 130)]),
            (slice(150, 151, 1000), [(2, 150)]),
            (slice(4999, None, 2000), [(7, 4999), (8, 6999), (8, 8999)]),
            (slice(5000, None, 2000), [(8, 5000), (8, 7000), (9, 9000)]),
            (slice(9000, None, 1), [(9, 9000)]),
            (slice(9001, None, 1), []),
            (slice(9001, 9003, 1), [(9, 9001), (9, 9002)]),
            (slice(100, 100, 5), []),
            (slice(50, 50, 5), []),
            (slice(50, 40, 5), []),
            (slice(200, 100, 5), []),
            (slice(np.int32(200), np.int64(202), np.uint8(1)), [(3, 200), (4, 201)]),
            (slice(100, None, 1 << 70), [(0, 100)]),
        ],
        ids=str,
    )
    def test_steps_sample_the_signal(
        self, key: slice, expected: list[tuple[int, int]], signal: Signal[Any], samples: list[Sample]
    ) -> None:
        """Steps begin with the start and end before the stop, or with the newest sample; the stamps are those asked."""
        self.assert_holds(signal.time[key], [(samples[position][0], time) for position, time in expected])

    @pytest.mark.parametrize("step", [0, -1, np.int64(-5), -(1 << 70)])
    def test_steps_go_forward_from_a_start(self, step: Any, signal: Signal[Any]) -> None:
        """A step of zero or less is refused, and so is one from nowhere."""
        self.assert_raises(BAD_SLICE, lambda: signal.time[100:200:step])
        self.assert_raises(BAD_SLICE, lambda: signal.time[100::step])
        self.assert_raises(BAD_SLICE, lambda: signal.time[::step])
        self.assert_raises(BAD_SLICE, lambda: signal.time[:200:5])
        self.assert_raises(BAD_SLICE, lambda: signal.time[::5])

    def test_many_steps_are_counted_exactly(self, tmp_path: Path) -> None:
        """No step is lost to rounding: the newest sample is the last of a long way."""
        hour = 3600 * 10**9
        values = self.sample_values(2)
        signal = self.make_signal([(values[0], 0), (values[1], 5000 * hour)], tmp_path)
        assert len(signal.time[0::hour]) == 5001
        self.assert_sample(signal.time[0::hour][-1], (values[1], 5000 * hour))
        assert len(signal.time[0 : 5000 * hour : hour]) == 5000
        assert len(signal.time[0 : 5000 * hour + 1 : hour]) == 5001

    @pytest.mark.parametrize(
        ("times", "positions"),
        [
            ([100, 210, 9999], [0, 4, 9]),
            ([300, 150, 150, 110], [5, 2, 2, 1]),
            ([9000], [9]),
            (range(199, 202), [2, 3, 4]),
        ],
    )
    def test_a_list_of_times_samples_the_signal(
        self, times: Any, positions: list[int], signal: Signal[Any], samples: list[Sample]
    ) -> None:
        """A list keeps its order and its repeats, and its times are the stamps."""
        expected = [(samples[position][0], time) for position, time in zip(positions, times, strict=True)]
        self.assert_holds(signal.time[times], expected)
        self.assert_holds(signal.time[tuple(times)], expected)
        self.assert_holds(signal.time[[np.int32(time) for time in times]], expected)
        for kind in (np.int32, np.uint64, ">i8", object):
            self.assert_holds(signal.time[np.array(times, kind)], expected)

    @pytest.mark.parametrize("times", [[], (), np.array([], np.int64), np.array([])], ids=repr)
    def test_a_list_of_times_has_one_at_least(self, times: Any, signal: Signal[Any]) -> None:
        """No times are refused, as a list that holds no whole numbers is."""
        self.assert_raises(BAD_KEY, lambda: signal.time[times])

    def test_no_sample_is_shown_at_a_time_beyond_64_bits(self, signal: Signal[Any]) -> None:
        """Such a time has a value, but it cannot be the stamp of a sample."""
        for ask in (
            lambda: signal.time[[200, 1 << 63]],
            lambda: signal.time[np.array([1 << 63], np.uint64)],
            lambda: signal.time[[200, 1 << 70, 300]],
            lambda: signal.time[200 : 1 << 70 : 1 << 62],
        ):
            self.assert_raises(BAD_KEY, ask)

    def test_a_view_knows_only_its_own_samples(self, signal: Signal[Any], samples: list[Sample]) -> None:
        """The value at a time is that of the view's samples, wherever it was cut from."""
        view = signal[3:9:2]
        self.assert_sample(view.time[1000], samples[5])
        self.assert_sample(view.time[9999], samples[7])
        self.assert_raises((NotFound, KeyError), lambda: view.time[199])
        self.assert_holds(view.time[201:1002], [samples[5], samples[7]])
        self.assert_holds(view.time[250::500], [(samples[3][0], 250), (samples[5][0], 750)])
        self.assert_holds(view.time[[5000, 200]], [(samples[7][0], 5000), (samples[3][0], 200)])
        self.assert_holds(signal.time[110:1001].time[125:].time[:1000][::2], samples[2:6:2])

    def test_a_sampled_view_has_the_times_asked_for(self, signal: Signal[Any], samples: list[Sample]) -> None:
        """What was sampled is a signal at the times of the samples, not at the stamps of the recording."""
        sampled = signal.time[150:1100:100]
        self.assert_sample(sampled.time[349], (samples[4][0], 250))
        self.assert_holds(sampled.time[250:450], [(samples[4][0], 250), (samples[5][0], 350)])
        self.assert_holds(sampled[1:3].time[[360]], [(samples[5][0], 360)])
        self.assert_raises((NotFound, KeyError), lambda: sampled[1:].time[249])

    def test_a_list_in_order_has_times(self, signal: Signal[Any], samples: list[Sample]) -> None:
        """Also where samples repeat: then the last of them is the value, and a window has them all."""
        view = signal[[1, 3, 3, 5]]
        self.assert_sample(view.time[200], samples[3])
        self.assert_holds(view.time[200:201], [samples[3], samples[3]])
        self.assert_holds(view.time[110:300], [samples[1], samples[3], samples[3]])
        self.assert_holds(signal.time[[150, 150, 210]].time[150:151], [(samples[2][0], 150)] * 2)

    def test_a_view_out_of_order_has_no_times(self, signal: Signal[Any], samples: list[Sample]) -> None:
        """There is no newest sample where stamps go back; a part of it that is in order has one again."""
        for view in (signal[[5, 1, 2]], signal.time[[300, 110, 130]], signal[1:][[4, 0, 1]], signal[[5, 1, 2]][:2]):
            for key in (200, slice(100, 300), slice(None), slice(400, 500, 50), slice(400, None, 50), [400]):
                self.assert_raises((OutOfOrder, ValueError), partial(view.time.__getitem__, key))
        self.assert_sample(signal[[5, 1, 2]][1:].time[124], samples[1])

    def test_stamps_reach_as_far_as_the_lane_does(self, tmp_path: Path) -> None:
        """The least and the greatest stamp are stamps like any other."""
        least, most = self.stamp_limits
        stamps = (least, least + 1, most // 2, most - 1, most)
        samples = list(zip(self.sample_values(5), stamps, strict=True))
        signal = self.make_signal(samples, tmp_path)
        self.assert_holds(signal, samples)
        assert (signal.start_ts, signal.last_ts) == (least, most)
        for position, stamp in enumerate(stamps):
            self.assert_sample(signal.time[stamp], samples[position])
        self.assert_sample(signal.time[1 << 70], samples[4])
        self.assert_raises((NotFound, KeyError), lambda: signal.time[-(1 << 70)])
        self.assert_raises((NotFound, KeyError), lambda: signal.time[[-(1 << 70)]])
        self.assert_raises((NotFound, KeyError), lambda: signal.time[-(1 << 70) :: 1 << 70])
        self.assert_holds(signal.time[: 1 << 70], samples)
        self.assert_holds(signal.time[-(1 << 70) : most], samples[:4])
        self.assert_holds(signal.time[most:], samples[4:])
        self.assert_holds(signal.time[least : most : most - least], [samples[0]])
        self.assert_holds(signal.time[least :: most - least], [samples[0], samples[4]])
        self.assert_holds(signal.time[[most, least]], [samples[4], samples[0]])

    def test_of_one_stamp_the_last_sample_counts(self, tmp_path: Path) -> None:
        """Where a lane merges several clocks, all samples of one time are kept, and the last is its value."""
        if not self.repeats_stamps:
            pytest.skip("stamps strictly increase in this lane")
        samples = list(zip(self.sample_values(5), (10, 20, 20, 20, 30), strict=True))
        signal = self.make_signal(samples, tmp_path)
        self.assert_holds(signal, samples)
        self.assert_sample(signal.time[20], samples[3])
        self.assert_sample(signal.time[29], samples[3])
        self.assert_sample(signal.time[19], samples[0])
        self.assert_holds(signal.time[20:30], samples[1:4])
        self.assert_holds(signal.time[:20], samples[:1])
        self.assert_holds(signal.time[10:31:10], [samples[0], samples[3], samples[4]])
