"""A metric of a run is a signal."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np

import playhead
from playhead.lanes.scalars.signal import MetricSignal
from playhead.signal import Signal
from playhead.testing import ListModel, SignalContract
from playhead.testing.strategies import scalar_values
from tests.signal.machine import Samples, SignalMachine, as_tests


def metric(samples: Samples) -> MetricSignal:
    return MetricSignal("loss", [(stamp, step, value) for step, (value, stamp) in enumerate(samples)])


class TestMetrics(SignalContract):
    keeps_values_in_memory = True
    repeats_stamps = True

    def make_signal(self, samples: Samples, tmp_path: Path) -> Signal[Any]:
        return metric(samples)

    def sample_values(self, n: int) -> list[float]:
        return [math.nan, -0.0, math.inf, *(i / 7 for i in range(n))][:n]


class MetricMachine(SignalMachine):
    each = scalar_values(float)

    def make_signal(self, held: Samples, folder: Path) -> Signal[Any]:
        return metric(held)


TestMachine = as_tests(MetricMachine)


def test_none_is_nan() -> None:
    assert np.isnan(metric([(None, 1), (2.0, 2)]).values).tolist() == [True, False]


def test_a_metric_has_its_steps_and_its_own_words() -> None:
    signal = metric([(0.5, 10**9), (0.25, 3 * 10**9)])
    assert repr(signal) == "<MetricSignal 'loss', 2 values over 2 s, last 0.25 at step 1>"
    assert repr(signal[:1]) == f"<SignalView, 1 samples over 0 s of {signal!r}>"
    assert repr(metric([])) == "<MetricSignal 'loss', empty>"
    assert signal.steps.tolist() == [0, 1]
    assert signal.times.tolist() == signal.timestamps.tolist() == [10**9, 3 * 10**9]
    assert not signal.steps.flags.writeable


def test_a_logged_metric_is_read_by_time(store: playhead.Store) -> None:
    with store.run("pong", "dqn", environment=False) as run:
        for value in range(20):
            run.log({"loss": value / 10}, stage="eval" if value % 3 else "train")
    signal = store.runs[-1]["loss"]
    model = ListModel([(value / 10, stamp) for value, stamp in enumerate(signal.timestamps.tolist())])
    middle = signal.timestamps.tolist()[7]
    assert list(signal) == model.samples
    assert list(signal.time[middle:]) == list(model.time[middle:])
    assert signal.time[middle + 1] == model.time[middle + 1] == (0.7, middle)
    assert list(signal.time[[middle, middle]]) == [(0.7, middle)] * 2


def test_two_processes_may_log_at_one_time(tmp_path: Path) -> None:
    with playhead.open(tmp_path / "store") as store:
        with store.run("pong", "dqn", environment=False) as run:
            for value in (1.0, 2.0, 3.0):
                run.log({"loss": value})
            with store.attach(run.id) as part:
                part.log({"loss": 0.0})
    (first,) = tmp_path.rglob("events.jsonl")
    lines = re.sub(r'"loss":(\d)', r'"loss":1\1', first.read_text()).replace('"part":1', '"part":2')
    first.with_name("events-2.jsonl").write_text(lines)
    playhead.rebuild(tmp_path / "store")
    with playhead.open(tmp_path / "store") as store:
        signal = store.runs[-1]["loss"]
    stamps = signal.timestamps.tolist()
    assert len(stamps) == 6
    assert len(set(stamps)) == 3
    assert sorted(signal.values.tolist()) == [1, 2, 3, 11, 12, 13]
    model = ListModel(list(signal))
    for stamp in stamps:
        assert signal.time[stamp] == model.time[stamp]
        assert list(signal.time[stamp : stamp + 1]) == list(model.time[stamp : stamp + 1])
        assert len(signal.time[stamp : stamp + 1]) == 2
