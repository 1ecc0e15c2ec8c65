"""Mapped, shifted, differenced and cached signals, and what holds for every derived signal."""

from __future__ import annotations

import math
import operator
import pickle
import re
import threading
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.errors import BadKey, NotFound, OutOfOrder, WrongShape, WrongType
from playhead.signal import ArraySignal, Signal
from playhead.signal.derived import cached, differenced, joined, mapped, norm, resized, shifted

ROOT = Path(__file__).parent.parent.parent


class Watched(ArraySignal[Any]):
    """A signal that notes which positions were read, and reads few at once."""

    def __init__(self, values: Any, timestamps: Any, block: int = 4) -> None:
        super().__init__(values, timestamps)
        self._BLOCK = block
        self.reads: list[list[int]] = []

    def _values_at(self, positions: Any) -> Any:
        self.reads.append(list(positions))
        return super()._values_at(positions)

    def _value_at(self, position: int) -> Any:
        self.reads.append([position])
        return super()._value_at(position)


def lists_of_stamps(most: int = 12) -> st.SearchStrategy[list[int]]:
    near = st.integers(-50, 50)
    far = st.integers(-(1 << 62), (1 << 62))
    return st.lists(near | far, max_size=most, unique=True).map(sorted)


@st.composite
def number_signals(draw: st.DrawFn, dtype: str = "f8", shape: tuple[int, ...] = ()) -> ArraySignal[Any]:
    stamps = draw(lists_of_stamps())
    kind = np.dtype(dtype)
    if kind.kind == "f":
        one: st.SearchStrategy[Any] = st.floats(-(2.0**100), 2.0**100, width=8 * kind.itemsize)
    elif kind.kind == "b":
        one = st.booleans()
    else:
        limits = np.iinfo(kind)
        one = st.integers(int(limits.min), int(limits.max))
    count = len(stamps) * math.prod(shape)
    flat = draw(st.lists(one, min_size=count, max_size=count))
    return ArraySignal(np.array(flat, kind).reshape(len(stamps), *shape), np.array(stamps, np.int64))


def samples_of(signal: Signal[Any]) -> list[tuple[Any, int]]:
    return [(np.asarray(value).tolist(), stamp) for value, stamp in signal]


def assert_keeps_the_contract(signal: Signal[Any], expected: list[tuple[Any, int]]) -> None:
    """Ask in every way; each must agree with a plain list of (value, stamp)."""
    assert samples_of(signal) == expected
    assert len(signal) == len(expected)
    assert signal.timestamps.tolist() == [stamp for _, stamp in expected]
    assert signal.timestamps.dtype == np.int64
    assert not signal.timestamps.flags.writeable
    assert [np.asarray(value).tolist() for value in signal.values] == [value for value, _ in expected]
    assert samples_of(signal[1::2]) == expected[1::2]
    assert [(np.asarray(value).tolist(), stamp) for value, stamp in reversed(signal)] == expected[::-1]
    for position in range(-len(expected), len(expected)):
        value, stamp = signal[position]
        assert (np.asarray(value).tolist(), stamp) == expected[position]
    if expected:
        backwards = [*range(len(expected) - 1, -1, -1), 0, 0]
        assert samples_of(signal[backwards]) == [expected[position] for position in backwards]
        for stamp in (expected[0][1], expected[-1][1], expected[len(expected) // 2][1] + 1):
            held = [sample for sample in expected if sample[1] <= stamp][-1]
            value, found = signal.time[stamp]
            assert (np.asarray(value).tolist(), found) == held
        with pytest.raises(NotFound):
            signal.time[expected[0][1] - 1]
        middle = expected[len(expected) // 2][1]
        assert samples_of(signal.time[middle:]) == [sample for sample in expected if sample[1] >= middle]
    assert signal[:0].values.shape[1:] == signal.values.shape[1:]


def doubled(value: Any) -> Any:
    return value * 2


def widened(value: Any) -> Any:
    return np.full(1 << 16, value)


@given(number_signals(), st.booleans())
def test_map_gives_the_function_of_each_value(signal: ArraySignal[Any], batch: bool) -> None:
    expected = [(value * 2, stamp) for value, stamp in samples_of(signal)]
    assert_keeps_the_contract(mapped(signal, doubled, batch=batch), expected)


@given(number_signals(shape=(3,)))
def test_map_may_change_shape_and_dtype(signal: ArraySignal[Any]) -> None:
    signs = mapped(signal, lambda vector: (vector > 0).any())
    assert_keeps_the_contract(signs, [(any(x > 0 for x in value), stamp) for value, stamp in samples_of(signal)])
    assert not len(signal) or signs.values.dtype == np.bool_
    pairs = mapped(signal, lambda vectors: vectors[:, :2], batch=True)
    assert_keeps_the_contract(pairs, [(value[:2], stamp) for value, stamp in samples_of(signal)])


def test_map_keeps_what_is_no_number_as_it_is() -> None:
    signal = ArraySignal([1, 2, 3], [10, 20, 30])
    for function in (str, lambda x: ("left", int(x)), lambda x: {"at": int(x)}, lambda x: None, lambda x: [int(x)] * 2):
        found = mapped(signal, function)
        assert [
            value if isinstance(value, (str, tuple, dict)) or value is None else value.tolist()
            for value in found.values
        ] == [function(x) for x in (1, 2, 3)]
        assert type(found[0][0]) is type(found.values[0])
    assert mapped(signal, lambda x: "a\0").values.tolist() == ["a\0"] * 3


def test_map_of_many_values_reads_and_calls_block_by_block() -> None:
    source = Watched(np.arange(10), np.arange(10))
    sizes: list[int] = []

    def halved(block: Any) -> Any:
        sizes.append(len(block))
        return block / 2

    assert mapped(source, halved, batch=True).values.tolist() == [x / 2 for x in range(10)]
    assert source.reads == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert sizes == [4, 4, 2]


def test_map_widens_where_a_later_block_needs_it() -> None:
    source = Watched(np.arange(8), np.arange(8))
    assert mapped(source, lambda x: int(x) if x < 6 else x + 0.5).values.tolist() == [0, 1, 2, 3, 4, 5, 6.5, 7.5]


def test_map_calls_once_for_a_sample_that_repeats() -> None:
    seen: list[int] = []

    def noted(value: Any) -> Any:
        seen.append(int(value))
        return value

    signal = mapped(ArraySignal(np.arange(5), np.arange(0, 50, 10)), noted)
    assert signal.time[[0, 3, 9, 12, 19, 41]].values.tolist() == [0, 0, 0, 1, 1, 4]
    assert seen == [0, 1, 4]
    seen.clear()
    assert signal.time[[41, 0, 12, 3]].values.tolist() == [4, 0, 1, 0]
    assert seen == [0, 1, 4]


def test_map_refuses_functions_that_break_the_promise() -> None:
    signal = ArraySignal(np.arange(3), [1, 2, 3])
    with pytest.raises(WrongShape, match=r"given 3 values and gave an array of shape \(2,\)"):
        _ = mapped(signal, lambda block: block[1:], batch=True).values
    with pytest.raises(WrongShape, match=r"given 3 values and gave an array of shape \(\)"):
        _ = mapped(signal, np.sum, batch=True).values
    with pytest.raises(WrongShape, match=r"different shapes \(\(0,\), \(1,\), \(2,\)\)"):
        _ = mapped(signal, np.zeros).values
    with pytest.raises(WrongShape, match="different shapes"):
        _ = mapped(signal, lambda x: [0] * int(x)).values
    with pytest.raises(WrongShape, match="another"):
        _ = mapped(
            Watched(np.arange(8), np.arange(8)), lambda block: np.ones((len(block), 1 + block[0])), batch=True
        ).values
    with pytest.raises(WrongType, match="by a function, not by int"):
        mapped(signal, 3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="read-only"):
        _ = mapped(signal, lambda block: operator.iadd(block, 1), batch=True).values


@given(number_signals(shape=(3,)) | number_signals() | number_signals("i4", (2,)) | number_signals("u1", (2, 2)))
def test_norm_is_the_length_of_each_vector(signal: ArraySignal[Any]) -> None:
    lengths = norm(signal)
    assert lengths.values.dtype == np.float64
    assert lengths.timestamps.tolist() == signal.timestamps.tolist()
    expected = [math.hypot(*np.ravel(value).tolist()) for value in signal.values]
    assert lengths.values.tolist() == pytest.approx(expected, rel=1e-12, abs=1e-150)


def test_norm_of_other_numbers_and_of_none() -> None:
    assert norm(ArraySignal([True, False], [1, 2])).values.tolist() == [1, 0]
    assert norm(ArraySignal([[3j, 4]], [1])).values.tolist() == [5]
    assert norm(ArraySignal([-1e200, 1e-200, -(2.0**63)], [1, 2, 3])).values.tolist() == [1e200, 1e-200, 2.0**63]
    assert norm(ArraySignal(np.empty((2, 0)), [1, 2])).values.tolist() == [0, 0]
    assert norm(ArraySignal(np.empty((0, 3)), [])).values.shape == (0,)
    with pytest.raises(WrongType, match="norm"):
        _ = norm(ArraySignal(np.array(["a"], object), [1])).values


@given(number_signals(), st.integers(-1000, 1000) | st.integers(-(1 << 61), 1 << 61))
def test_shift_moves_the_stamps(signal: ArraySignal[Any], ns: int) -> None:
    assert_keeps_the_contract(shifted(signal, ns), [(value, stamp + ns) for value, stamp in samples_of(signal)])


def test_shift_by_what_is_no_time() -> None:
    signal = ArraySignal([1], [(1 << 63) - 5])
    assert shifted(signal, np.int64(4)).last_ts == (1 << 63) - 1
    with pytest.raises(BadKey, match=r"round\(seconds \* 1e9\)"):
        shifted(signal, 0.1)  # type: ignore[arg-type]
    with pytest.raises(BadKey, match="does not fit into 64 bits"):
        _ = shifted(signal, 5).timestamps
    assert len(shifted(ArraySignal([], []), 1 << 70)) == 0


DTYPES = ["f4", "f8", "i1", "i2", "i4", "u1", "u2", "u4", "b1"]


@given(st.sampled_from(DTYPES).flatmap(number_signals) | number_signals("u1", (2, 2)))
def test_diff_is_the_change_since_the_sample_before(signal: ArraySignal[Any]) -> None:
    # As Python's integers, which have no bounds; floats in their own dtype.
    values = signal.values if signal.values.dtype.kind == "f" else signal.values.astype(object) * 1
    changes = [np.asarray(new - old).tolist() for old, new in pairwise(values)]
    stamps = signal.timestamps[1:].tolist()
    assert_keeps_the_contract(differenced(signal), list(zip(changes, stamps, strict=True)))
    assert signal.values.dtype.kind != "f" or differenced(signal).values.dtype == signal.values.dtype


@given(number_signals("i8") | number_signals("u8"))
def test_diff_of_64_bits_is_right_or_refused(signal: ArraySignal[Any]) -> None:
    whole = signal.values.tolist()
    expected = [new - old for old, new in pairwise(whole)]
    if all(-(1 << 63) <= change < 1 << 63 for change in expected):
        assert differenced(signal).values.tolist() == expected
        assert differenced(signal).values.dtype == np.int64
    else:
        with pytest.raises(WrongType, match="exceeds 64 bits"):
            _ = differenced(signal).values


@given(number_signals(shape=(2,)) | number_signals("u1"))
def test_diff_per_second(signal: ArraySignal[Any]) -> None:
    found = differenced(signal, per_second=True)
    stamps, values = signal.timestamps.tolist(), signal.values.astype(np.float64)
    assert found.values.dtype == np.float64
    assert found.timestamps.tolist() == stamps[1:]
    for position in range(len(found)):
        seconds = (stamps[position + 1] - stamps[position]) / 1e9
        expected = (values[position + 1] - values[position]) / seconds
        assert found.values[position].tolist() == pytest.approx(expected.tolist())
        assert np.asarray(found[position][0]).tolist() == pytest.approx(expected.tolist())


def test_diff_edges() -> None:
    assert len(differenced(ArraySignal([], []))) == 0
    assert len(differenced(ArraySignal([1.0], [5]))) == 0
    assert differenced(ArraySignal([1.0], [5])).values.shape == (0,)
    assert np.isnan(differenced(ArraySignal([np.inf, np.inf], [5, 6])).values).all()
    with pytest.raises(WrongType, match="difference"):
        _ = differenced(ArraySignal(np.array(["a", "b"], object), [1, 2])).values
    repeated = ArraySignal([1.0, 3.0], [0, 10]).time[[10, 10, 10]]
    assert np.isnan(differenced(repeated, per_second=True).values).all()


def test_diff_reads_a_stretch_once() -> None:
    source = Watched(np.arange(10) ** 2, np.arange(10), block=1024)
    assert differenced(source).values.tolist() == list(range(1, 19, 2))
    assert source.reads == [list(range(10))]
    heavy = Watched(np.arange(10) ** 2, np.arange(10))
    assert differenced(heavy).values.tolist() == list(range(1, 19, 2))
    assert heavy.reads == [[0, 1, 2, 3, 4], [4, 5, 6, 7, 8], [8, 9]]
    assert differenced(heavy)[::3].values.tolist() == [1, 7, 13]


@given(number_signals(shape=(2,)))
def test_cached_is_the_same_signal(signal: ArraySignal[Any]) -> None:
    assert_keeps_the_contract(cached(signal), samples_of(signal))


def test_cached_reads_once_even_for_threads() -> None:
    source = Watched(np.arange(10), np.arange(10))
    held = cached(mapped(source, doubled))
    assert source.reads == []
    begin = threading.Barrier(4)

    def read() -> None:
        begin.wait()
        assert held[3] == (6, 3)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert held.time[4:8].values.tolist() == [8, 10, 12, 14]
    assert sorted(position for read in source.reads for position in read) == list(range(10))
    assert not held.values.flags.writeable


def everything(source: Signal[Any]) -> list[Signal[Any]]:
    return [
        mapped(source, doubled),
        mapped(source, np.negative, batch=True),
        norm(source),
        shifted(source, 5),
        differenced(source),
        joined(source, source),
        cached(source),
        norm(differenced(shifted(mapped(source, doubled), 7), per_second=True)),
        resized(mapped(source, np.atleast_2d), 2, 3, smooth=False),
    ]


def test_nothing_is_read_before_it_is_needed() -> None:
    source = Watched(np.arange(10.0), np.arange(10))
    for signal in everything(source):
        assert len(signal) in (9, 10)
        assert signal.timestamps.shape == (len(signal),)
        assert len(signal.time[signal.timestamps[3] : signal.timestamps[7]]) == 4
        assert "samples over" in repr(signal)
        assert "of <Watched" in repr(signal) or "of 2 signals" in repr(signal)
    assert source.reads == []
    assert mapped(source, doubled)[7] == (14, 7)
    assert mapped(source, doubled).time[2:4].values.tolist() == [4, 6]
    assert source.reads == [[7], [2, 3]]


def test_views_are_pickled_without_what_they_read() -> None:
    source = ArraySignal(np.arange(10.0), np.arange(10))
    for signal in everything(source):
        values = signal.values
        copy = pickle.loads(pickle.dumps(signal))
        np.testing.assert_array_equal(copy.values, values)
        np.testing.assert_array_equal(copy.timestamps, signal.timestamps)
        assert copy.time[4:6].timestamps.tolist() == signal.time[4:6].timestamps.tolist()
    held = cached(mapped(ArraySignal([0], [0]), widened))
    assert held.values.nbytes == 8 << 16
    assert len(pickle.dumps(held)) < 1000


def test_views_of_what_is_out_of_order_keep_their_order_and_have_no_time() -> None:
    mixed = ArraySignal(np.arange(5.0), np.arange(5))[[4, 0, 2]]
    for signal, expected in (
        (mapped(mixed, doubled), [8, 0, 4]),
        (shifted(mixed, 1), [4, 0, 2]),
        (differenced(mixed), [-4, 2]),
        (cached(mixed), [4, 0, 2]),
    ):
        assert signal.values.tolist() == expected
        with pytest.raises(OutOfOrder):
            signal.time[3]
    with pytest.raises(OutOfOrder):
        _ = joined(mixed, mixed).values


def test_only_signals_are_derived_from() -> None:
    for make in (cached, differenced, norm, joined, lambda x: shifted(x, 1), lambda x: mapped(x, abs)):
        with pytest.raises(WrongType, match="list"):
            make([1, 2, 3])  # type: ignore[operator]


def test_the_examples_of_the_document_run() -> None:
    text = (ROOT / "docs" / "derived.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 3
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, "docs/derived.md", "exec"), names)
    assert sum(block.count("assert ") for block in blocks) >= 10
