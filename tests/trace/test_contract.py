"""A trace is a signal, whatever it is read from and whatever its states are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from playhead.lanes.keyframes import tree
from playhead.lanes.keyframes.contents import MemoryContents
from playhead.lanes.keyframes.retention import Tiered
from playhead.signal import Signal
from playhead.testing import SignalContract
from playhead.trace import Trace, TraceWriter
from tests.signal.machine import Samples
from tests.signal.recorded import RecordedContract
from tests.trace.made import follow


def write(writer: TraceWriter, samples: Samples) -> None:
    """Record values as states, each of which is the input of the one before."""
    for place, (value, stamp) in enumerate(samples):
        following = samples[place + 1][0] if place + 1 < len(samples) else None
        writer.append(value, input=following, ts_ns=stamp)


class Arrays(SignalContract):
    def sample_values(self, n: int) -> Sequence[Any]:
        return [np.array([[-0.0, np.nan, i], [1.5, i / 7, np.inf]]) for i in range(n)]


class Dicts(SignalContract):
    def sample_values(self, n: int) -> Sequence[Any]:
        return [{"n": i, "w": np.array([i, -0.0]), "deep": {"x": [i, None, "text"]}} for i in range(n)]

    def assert_same(self, found: Any, expected: Any) -> None:
        assert tree.pack(found) == tree.pack(expected)


class Sealed(RecordedContract):
    can_be_empty = True

    def record(self, samples: Samples, folder: Path) -> None:
        with TraceWriter(folder / "x.trace", step=follow, bucket=1) as writer:
            write(writer, samples)

    def open(self, folder: Path) -> Signal[Any]:
        return Trace.open(folder / "x.trace", follow)


class TestArraysInAFile(Sealed, Arrays):
    pass


class TestDictsInAFile(Sealed, Dicts):
    pass


class TestFloatsInAFile(Sealed):
    def sample_values(self, n: int) -> Sequence[Any]:
        return [np.nan, -0.0, np.inf, *(i / 7 for i in range(n))][:n]


class TestDictsInJson(Dicts, RecordedContract):
    def record(self, samples: Samples, folder: Path) -> None:
        with TraceWriter(folder / "x.json.gz", step=follow, bucket=1) as writer:
            write(writer, samples)

    def open(self, folder: Path) -> Signal[Any]:
        return Trace.open(folder / "x.json.gz", follow)


class TestListsOnATape(SignalContract):
    """While it is being recorded."""

    def make_signal(self, samples: Samples, tmp_path: Path) -> Signal[Any]:
        writer = TraceWriter(tmp_path / "x.trace", step=follow, bucket=1)
        write(writer, samples)
        writer.flush()
        trace = Trace.open(tmp_path / "x.trace", follow)
        trace.writer = writer  # type: ignore[attr-defined]  # it lives as long
        return trace

    def sample_values(self, n: int) -> Sequence[Any]:
        return [[i, float(i), "text"] for i in range(n)]

    def assert_same(self, found: Any, expected: Any) -> None:
        assert found == expected


class TestArraysInMemory(Arrays):
    is_sendable = False

    def make_signal(self, samples: Samples, tmp_path: Path) -> Signal[Any]:
        packed = [tree.pack(value) for value, _ in samples]
        way = Tiered(1)
        kept = {step: packed[step] for step in range(len(packed)) if way.keeps(step, is_best=False)}
        stamps = [stamp for _, stamp in samples]
        return Trace(MemoryContents({}, stamps, [np.nan] * len(stamps), kept, packed[1:]), follow)
