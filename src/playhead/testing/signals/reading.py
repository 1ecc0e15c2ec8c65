"""Tests of what is read, when, and by whom."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
import pytest

from playhead.errors import Empty, NotFound, OutOfRange
from playhead.signal import Signal
from playhead.testing.signals.suite import BAD_KEY, BAD_SLICE, STAMPS, Sample, SignalSuite


class ReadingContract(SignalSuite):
    """How a signal is read."""

    def test_views_share_memory(self, signal: Signal[Any]) -> None:
        """A lane that keeps its values in memory copies none of them for a slice or a window."""
        if not self.keeps_values_in_memory:
            pytest.skip("this lane does not keep its values in memory")
        for view in (
            signal,
            signal[2:8],
            signal[::3],
            signal[2:8][1::2],
            signal.time[110:5000],
            signal[1:].time[:1001],
        ):
            assert np.shares_memory(view.values, signal.values)
            assert np.shares_memory(view.timestamps, signal.timestamps)

    def test_whole_arrays_are_read_only(self, signal: Signal[Any]) -> None:
        """Nobody changes what was recorded by writing into what was read."""
        for found in (signal, signal[2:8], signal[[3, 1]], signal.time[100:300], signal.time[[150, 120]]):
            for array in (found.values, found.timestamps):
                assert not array.flags.writeable
                with pytest.raises(ValueError, match="read-only"):
                    array[0] = array[1]

    @pytest.mark.parametrize("block", [1, 3, 10, 1024])
    def test_iteration_goes_either_way(
        self, block: int, signal: Signal[Any], samples: list[Sample], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """However many samples are read at once, each comes once, in order."""
        monkeypatch.setattr(signal, "_BLOCK", block)
        for found, expected in ((signal, samples), (signal[1:8:2], samples[1:8:2]), (signal[[4, 2]], samples[4:1:-2])):
            for sample, wanted in zip(found, expected, strict=True):
                self.assert_sample(sample, wanted)
            for sample, wanted in zip(reversed(found), reversed(expected), strict=True):
                self.assert_sample(sample, wanted)

    def test_iterators_are_independent(self, signal: Signal[Any], samples: list[Sample]) -> None:
        """Two walks over one signal do not disturb each other."""
        walks = zip(signal, signal[:], reversed(signal), samples, reversed(samples), strict=True)
        for first, second, third, forth, back in walks:
            self.assert_sample(first, forth)
            self.assert_sample(second, forth)
            self.assert_sample(third, back)

    def test_the_ends_are_known(self, signal: Signal[Any]) -> None:
        """The first and the newest stamp are plain numbers, on views too."""
        found = [(part.start_ts, part.last_ts) for part in (signal, signal[3:6], signal.time[[150, 400]])]
        assert found == [(100, 9000), (200, 300), (150, 400)]
        assert {type(end) for ends in found for end in ends} == {int}

    @pytest.mark.parametrize("way", ["made", "sliced", "listed", "windowed"])
    def test_an_empty_signal_is_fine(self, way: str, samples: list[Sample], tmp_path: Path) -> None:
        """What has no samples answers all that can be answered."""
        if way == "made" and not self.can_be_empty:
            pytest.skip("this lane holds no signal without samples")
        made = self.make_signal([] if way == "made" else samples, tmp_path)
        views = {"made": made, "sliced": made[4:4], "listed": made[[]], "windowed": made.time[126:200]}
        empty = views[way]
        self.assert_holds(empty, [])
        for view in (empty[:], empty[1:5:2], empty[[]], empty.time[:], empty.time[0:9], empty.time[5:1]):
            self.assert_holds(view, [])
        for view in (empty.time[0:99:10], empty.time[0::10], empty.time[0 : 1 << 70 : 1], empty.time[-(1 << 70) :: 1]):
            self.assert_holds(view, [])
        assert list(reversed(empty)) == []
        assert repr(empty)
        self.assert_raises((Empty, ValueError), lambda: empty.start_ts)
        self.assert_raises((Empty, ValueError), lambda: empty.last_ts)
        self.assert_raises((OutOfRange, IndexError), lambda: empty[0])
        self.assert_raises((OutOfRange, IndexError), lambda: empty[-1])
        self.assert_raises((OutOfRange, IndexError), lambda: empty[[0]])
        for key in (0, 1 << 70, -(1 << 70), [5], np.array([5])):
            self.assert_raises((NotFound, KeyError), partial(empty.time.__getitem__, key))
        self.assert_raises(BAD_KEY, lambda: empty.time[[]])
        self.assert_raises(BAD_SLICE, lambda: empty.time[0:9:0])
        self.assert_raises(BAD_SLICE, lambda: empty.time[:9:1])

    def test_one_sample_is_enough(self, tmp_path: Path) -> None:
        """A signal of one sample has that value from then on."""
        (value,) = self.sample_values(1)
        signal = self.make_signal([(value, 70)], tmp_path)
        self.assert_holds(signal, [(value, 70)])
        self.assert_sample(signal[-1], (value, 70))
        self.assert_sample(signal.time[1 << 50], (value, 70))
        self.assert_holds(signal.time[70::7], [(value, 70)])
        assert (signal.start_ts, signal.last_ts) == (70, 70)

    def test_nothing_is_read_before_it_is_needed(self, reads: set[int], signal: Signal[Any]) -> None:
        """Looking for samples reads none of their values."""
        views = [signal, signal[2:6], signal[[7, 3]], signal[2:6][::2]]
        views += [signal.time[110:5000], signal.time[100::50], signal.time[[150, 120]], signal[3:].time[200:300]]
        for view in views:
            assert len(view) == len(view.timestamps)
            assert view.start_ts in view.timestamps
            assert view.last_ts in view.timestamps
            assert repr(view)
            iter(view)
            reversed(view)
        assert reads == set()

    def test_only_what_is_asked_for_is_read(
        self, reads: set[int], signal: Signal[Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A view of a view reads the samples that it shows; iteration reads no block too early."""
        monkeypatch.setattr(signal, "_BLOCK", 3)
        for ask, expected in (
            (lambda: signal[3], {3}),
            (lambda: signal.time[210], {4}),
            (lambda: signal[2:8][::3].values, {2, 5}),
            (lambda: signal[[9, 1]][1:].values, {1}),
            (lambda: signal.time[125:201].values, {2, 3}),
            (lambda: signal.time[[120, 1000]].values, {1, 6}),
            (lambda: signal.time[120:1000:400][-1], {5}),
            (lambda: next(iter(signal[4:])), {4, 5, 6}),
            (lambda: next(reversed(signal)), {7, 8, 9}),
            (lambda: list(signal), set(range(10))),
            (lambda: list(reversed(signal)), set(range(10))),
        ):
            reads.clear()
            ask()
            assert reads == expected

    def test_it_travels_to_a_spawned_process(self, signal: Signal[Any], samples: list[Sample]) -> None:
        """A signal and its views go the way that arguments of a spawned process go, read before or not."""
        if not self.is_sendable:
            pytest.skip("this lane belongs to its process")
        for _ in range(2):
            for found, expected in (
                (signal, samples),
                (signal[1:8:3], samples[1:8:3]),
                (signal[[5, 2]], [samples[5], samples[2]]),
                (signal.time[[150, 120]], [(samples[2][0], 150), (samples[1][0], 120)]),
            ):
                arrived = ForkingPickler.loads(bytes(ForkingPickler.dumps(found)))
                self.assert_holds(arrived, expected)
                assert not arrived.values.flags.writeable
                assert not arrived.timestamps.flags.writeable
            self.assert_sample(arrived[:1].time[150], (samples[2][0], 150))
            self.assert_holds(signal, samples)

    def test_threads_may_share_it(self, signal: Signal[Any], samples: list[Sample]) -> None:
        """Several threads that read one signal at once, the first time too, all read what is there."""
        threads = 6
        begin = Barrier(threads)

        def read(thread: int) -> None:
            begin.wait()
            for turn in range(10):
                position = (7 * thread + 3 * turn) % 10
                self.assert_sample(signal[position], samples[position])
                self.assert_sample(signal.time[STAMPS[position]], samples[position])
                for sample, wanted in zip(signal[position:], samples[position:], strict=True):
                    self.assert_sample(sample, wanted)
                picked = signal[[position, thread]]
                self.assert_same(picked.values[1], samples[thread][0])

        with ThreadPoolExecutor(threads) as pool:
            for done in [pool.submit(read, thread) for thread in range(threads)]:
                done.result()
