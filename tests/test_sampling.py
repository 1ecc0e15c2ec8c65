"""Signals at any times, against the same rules in plain Python."""

from __future__ import annotations

import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from playhead.errors import BadKey, BadSlice, NotFound, OutOfOrder, WrongType
from playhead.sampling import NOTHING, RULES, Sample, offsets_ns, sample, sample_one, window_times
from playhead.signal import ArraySignal, Signal
from playhead.signal.derived import mapped, shifted

LEAST, MOST = -(1 << 63), (1 << 63) - 1

STAMPS = st.integers(-30, 30) | st.integers(LEAST, MOST) | st.sampled_from([LEAST, MOST, 1_700_000_000_123_456_789])


@st.composite
def signals(draw: st.DrawFn, width: int | None = None) -> ArraySignal[Any]:
    stamps = sorted(draw(st.lists(STAMPS, max_size=8, unique=True)))
    shape = (len(stamps),) if width is None else (len(stamps), width)
    count = int(np.prod(shape))
    dtype = np.dtype(draw(st.sampled_from(["f8", "f4", "i8", "u1"])))
    numbers = draw(st.lists(st.integers(0, 200), min_size=count, max_size=count))
    return ArraySignal(np.array(numbers, dtype).reshape(shape), np.array(stamps, np.int64))


def naive(signal: Signal[Any], time: int, rule: str) -> tuple[list[Any], int, bool]:
    """Give the samples that stand for a time, the farther distance, and whether the rule has a value."""
    samples = [(value, stamp) for value, stamp in signal]
    before = [sample for sample in samples if sample[1] <= time]
    after = [sample for sample in samples if sample[1] >= time]
    older = before[-1] if before else None
    newer = after[0] if after else None
    if rule == "next":
        return ([newer], newer[1] - time, True) if newer else ([samples[-1]], NOTHING, False)
    if older is None:
        return [samples[0]], NOTHING, False
    if rule == "hold" or older[1] == time:
        return [older], time - older[1], True
    if rule == "linear":
        if newer is None:
            return [older], NOTHING, False
        return [older, newer], max(time - older[1], newer[1] - time), True
    if newer and newer[1] - time < time - older[1]:
        return [newer], newer[1] - time, True
    return [older], time - older[1], True


def between(old: tuple[Any, int], new: tuple[Any, int], time: int) -> Any:
    share = Fraction(time - old[1], new[1] - old[1])
    flat = [
        float(Fraction(float(a)) + (Fraction(float(b)) - Fraction(float(a))) * share)
        for a, b in zip(np.ravel(old[0]), np.ravel(new[0]), strict=True)
    ]
    return np.reshape(flat, np.shape(old[0]))


@given(
    signals() | signals(width=3),
    st.lists(STAMPS, max_size=12),
    st.sampled_from(RULES),
    st.none() | st.integers(0, 40) | st.just(MOST),
    st.none() | STAMPS,
)
@example(ArraySignal([1.0, 2.0], [LEAST, MOST]), [LEAST, -1, 0, MOST], "linear", None, None)
@example(ArraySignal([1.0, 2.0], [LEAST, MOST]), [LEAST, -1, 0, MOST], "nearest", None, None)
@example(ArraySignal([1.0], [LEAST]), [MOST], "hold", MOST, None)
@example(ArraySignal([1.0], [MOST]), [LEAST], "next", MOST, None)
@example(ArraySignal([1.0, 9.0], [0, 10]), [5], "nearest", None, None)
def test_every_rule_agrees_with_plain_python(
    signal: ArraySignal[Any], times: list[int], rule: str, tolerance: int | None, until: int | None
) -> None:
    found = sample({"a": signal}, times, {"a": rule}, tolerance=tolerance, until=until)
    values, mask, staleness = found["a"], found.mask["a"], found.staleness["a"]
    assert found.times.tolist() == times
    assert len(values) == len(mask) == len(staleness) == len(times)
    assert (mask.dtype, staleness.dtype) == (np.bool_, np.int64)
    assert values.shape[1:] == signal.values.shape[1:]
    is_float = rule == "linear" and signal.values.dtype.kind != "f"
    assert values.dtype == (np.float64 if is_float else signal.values.dtype)
    for row, time in enumerate(times):
        if not len(signal):
            assert (not values[row].any(), mask[row], staleness[row]) == (True, False, NOTHING)
            continue
        used, distance, has_value = naive(signal, time, rule)
        distance = min(distance, MOST)
        is_real = has_value and (tolerance is None or distance <= tolerance) and (until is None or time <= until)
        assert (mask[row], staleness[row]) == (is_real, distance)
        if len(used) == 1:
            np.testing.assert_array_equal(values[row], used[0][0])
        else:
            rtol = 1e-6 if values.dtype == np.float32 else 1e-12
            np.testing.assert_allclose(values[row], between(*used, time), rtol=rtol, atol=rtol)
    assert found.padded == (not mask.all())
    one = sample_one(signal, times, rule, tolerance=tolerance, until=until)
    for ours, theirs in zip(one, (values, mask, staleness), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@given(signals(), st.lists(STAMPS, min_size=1, max_size=12))
def test_hold_is_what_the_signal_itself_gives(signal: ArraySignal[Any], times: list[int]) -> None:
    values, mask, staleness = sample_one(signal, times)
    for time, value, is_real, age in zip(times, values, mask, staleness.tolist(), strict=True):
        if is_real:
            expected, stamp = signal.time[time]
            assert (value, min(time - stamp, MOST)) == (expected, age)
        else:
            with pytest.raises(NotFound):
                signal.time[time]


@given(st.integers(-(10**6), 10**6), st.integers(0, 50), st.integers(-1000, 1000).filter(bool))
def test_times_in_every_form(start: int, count: int, step: int) -> None:
    signal = ArraySignal([1.0, 2.0], [-100, 100])
    plain = [start + i * step for i in range(count)]
    forms: list[Any] = [
        plain,
        tuple(plain),
        np.array(plain, np.int64),
        np.array(plain, object),
        range(start, start + count * step, step),
    ]
    if step > 0:
        forms.append(slice(start, start + count * step, step))
    for form in forms:
        assert sample({"a": signal}, form).times.tolist() == plain


def test_a_slice_without_a_stop_goes_to_the_newest_sample_of_all() -> None:
    two = {"a": ArraySignal([1], [0]), "b": ArraySignal([1, 2], [5, 20]), "c": ArraySignal([], [])}
    assert sample(two, slice(0, None, 10)).times.tolist() == [0, 10, 20]
    assert sample({"c": two["c"]}, slice(0, None, 10)).times.tolist() == []
    with pytest.raises(BadSlice, match="start"):
        sample(two, slice(None, 20, 10))
    with pytest.raises(BadSlice, match="step"):
        sample(two, slice(0, 20))
    with pytest.raises(BadSlice, match="positive"):
        sample(two, slice(0, 20, 0))


@pytest.mark.parametrize(
    "times",
    [
        5,
        [0.5],
        np.array([0.5]),
        np.array([True]),
        [True],
        "12",
        [1 << 63],
        range(1 << 63, 1 << 64),
        slice(LEAST - 1, 0, 5),
        None,
    ],
)
def test_times_that_are_no_times_are_refused(times: Any) -> None:
    with pytest.raises(BadKey):
        sample({"a": ArraySignal([1], [0])}, times)


def test_the_callers_array_of_times_is_not_kept() -> None:
    times = np.array([0, 10])
    found = sample({"a": ArraySignal([1, 2], [0, 10])}, times)
    times[:] = 99
    assert found["a"].tolist() == [1, 2]
    assert not found.times.flags.writeable


class Video(ArraySignal[Any]):
    """Heavy samples that are noted when they are read."""

    _BLOCK = 16

    def __init__(self, values: Any, timestamps: Any) -> None:
        super().__init__(values, timestamps)
        self.reads: list[list[int]] = []

    def _values_at(self, positions: Any) -> Any:
        self.reads.append(list(positions))
        return super()._values_at(positions)


def test_a_signal_is_read_when_it_is_asked_for_and_each_frame_once() -> None:
    camera = Video(np.arange(10, dtype=np.uint8).reshape(10, 1, 1), np.arange(0, 100, 10))
    found = sample({"camera": camera, "other": ArraySignal([1], [0])}, [-5, 0, 5, 38, 39, 41, 200])
    assert found.mask["camera"].tolist() == [False] + [True] * 6
    assert found.staleness["camera"].tolist() == [-1, 0, 5, 8, 9, 1, 110]
    assert found.padded
    assert camera.reads == []
    assert found["camera"].ravel().tolist() == [0, 0, 0, 3, 3, 4, 9]
    assert camera.reads == [[0, 3, 4, 9]]
    assert found["camera"] is found["camera"]
    assert sample({"camera": camera}, [41, 0, 38, 5])["camera"].ravel().tolist() == [4, 0, 3, 0]
    assert camera.reads[1:] == [[0, 3, 4]]
    calls: list[int] = []
    noted = mapped(ArraySignal(np.arange(3.0), [0, 10, 20]), lambda x: calls.append(x) or x)
    assert sample_one(noted, [1, 2, 3, 12]).values.tolist() == [0, 0, 0, 1]
    assert calls == [0, 1]


def test_a_sample_is_a_mapping() -> None:
    found = sample(
        {"a": ArraySignal([1, 2], [0, 10]), "b": ArraySignal([[1.5]], [5])}, [0, 10], {"b": "next"}, default="nearest"
    )
    assert isinstance(found, Sample)
    assert list(found) == ["a", "b"]
    assert len(found) == 2
    assert "a" in found
    assert "c" not in found
    assert {name: values.tolist() for name, values in found.items()} == {"a": [1, 2], "b": [[1.5], [1.5]]}
    assert {name: mask.tolist() for name, mask in found.mask.items()} == {"a": [True, True], "b": [True, False]}
    assert {name: age.tolist() for name, age in found.staleness.items()} == {"a": [0, 0], "b": [5, -1]}
    assert len(found.mask) == 2
    assert repr(found) == "<Sample at 2 times of a (nearest), b (next)>"
    for part in (found, found.mask, found.staleness):
        with pytest.raises(NotFound, match="no signal 'c'; there is: a, b"):
            part["c"]
        assert "c" not in part
    copy = pickle.loads(pickle.dumps(found))
    assert copy["b"].tolist() == found["b"].tolist()
    assert repr(sample({}, [1])) == "<Sample at 1 times of no signals>"
    assert not sample({}, [1]).padded


def test_times_of_two_dimensions_come_back_in_two() -> None:
    pose = ArraySignal(np.arange(12.0).reshape(4, 3), [0, 10, 20, 30])
    times = np.array([[0, 5, 10], [-1, 20, 99]])
    for rule in RULES:
        found = sample({"pose": pose}, times, default=rule)
        flat = sample({"pose": pose}, times.ravel(), default=rule)
        assert found["pose"].shape == (2, 3, 3)
        np.testing.assert_array_equal(found["pose"].reshape(6, 3), flat["pose"])
        np.testing.assert_array_equal(found.mask["pose"].ravel(), flat.mask["pose"])
        np.testing.assert_array_equal(found.staleness["pose"].ravel(), flat.staleness["pose"])
        assert sample_one(pose, times, rule).mask.shape == (2, 3)
    assert repr(found) == "<Sample at 2×3 times of pose (next)>"


def test_rules_and_tolerances_by_name() -> None:
    two = {"a": ArraySignal([1.0, 3.0], [0, 10]), "b": ArraySignal([1.0, 3.0], [0, 10])}
    found = sample(two, [4, 9], {"a": "linear", "b": None}, tolerance={"b": 4})
    assert found["a"].tolist() == [1.8, 2.8]
    assert found["b"].tolist() == [1, 1]
    assert found.mask["a"].all()
    assert found.mask["b"].tolist() == [True, False]
    assert found.staleness["a"].tolist() == [6, 9]
    with pytest.raises(NotFound, match="no signal 'c'; there is: a, b"):
        sample(two, [4], {"c": "hold"})
    with pytest.raises(NotFound, match="no signal 'c'"):
        sample(two, [4], tolerance={"c": 3})
    with pytest.raises(NotFound, match="no rule 'cubic'; there is: hold, nearest, linear, next"):
        sample(two, [4], {"a": "cubic"})
    with pytest.raises(NotFound, match="no rule 'none'"):
        sample({}, [4], default="none")
    with pytest.raises(NotFound, match="no rule"):
        sample_one(two["a"], [4], "mean")
    with pytest.raises(BadKey, match="not negative"):
        sample(two, [4], tolerance=-1)
    with pytest.raises(BadKey, match="tolerance"):
        sample(two, [4], tolerance=0.05)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("values", "word"),
    [
        (np.array(["go", "stop"], object), "text"),
        (np.array(["go", "stop"]), "text"),
        ([True, False], "truth values"),
        (np.zeros((2, 4, 4, 3), np.uint8), "images"),
        (np.zeros((2, 4, 4), np.float32), "images"),
    ],
)
def test_a_line_needs_numbers_or_vectors(values: Any, word: str) -> None:
    camera = Video(values, [0, 10])
    found = sample({"eye": camera, "force": ArraySignal([1.0, 2.0], [0, 10])}, [5], default="linear")
    assert found["force"].tolist() == [1.5]
    assert found.mask["eye"].all()
    with pytest.raises(
        WrongType,
        match=rf"'eye' cannot be sampled by the rule 'linear': its values are {word}.*'hold', 'nearest' or 'next'",
    ):
        found["eye"]
    assert camera.reads == [[0]]
    assert len(sample({"eye": camera}, [5])["eye"]) == 1


def test_a_line_passes_through_what_is_infinite_and_ends_at_gaps() -> None:
    signal = ArraySignal([np.inf, 1.0, np.nan, 2.0], [0, 10, 20, 30])
    values, mask, _ = sample_one(signal, [0, 10, 15, 20, 30, 31], "linear")
    np.testing.assert_array_equal(values, [np.inf, 1, np.nan, np.nan, 2, 2])
    assert mask.tolist() == [True] * 5 + [False]
    constant = ArraySignal([0.1, 0.1], [0, 1_000_003])
    assert set(sample_one(constant, range(0, 1_000_003, 997), "linear").values.tolist()) == {0.1}


def test_nanoseconds_since_1970_are_not_rounded_on_a_line() -> None:
    start = 1_700_000_000_000_000_001
    assert sample_one(ArraySignal([0.0, 10.0], [start, start + 10]), [start + 3], "linear").values.tolist() == [3]


def test_signals_without_samples() -> None:
    nothing: dict[str, Signal[Any]] = {
        "numbers": ArraySignal(np.empty(0, np.int64), []),
        "vectors": ArraySignal(np.empty((0, 3), np.float32), []),
        "text": ArraySignal(np.empty(0, object), []),
    }
    for rule in RULES:
        found = sample(nothing, [1, 2], {"text": "hold"}, default=rule, tolerance=5)
        assert found["numbers"].tolist() == [0, 0]
        assert found["numbers"].dtype == (np.float64 if rule == "linear" else np.int64)
        assert found["vectors"].shape == (2, 3)
        assert found["vectors"].dtype == np.float32
        assert found["text"].tolist() == [None, None]
        assert not any(found.mask[name].any() for name in found)
        assert {age for name in found for age in found.staleness[name].tolist()} == {NOTHING}
        assert found.padded


def test_no_times_give_no_rows() -> None:
    found = sample({"a": ArraySignal(np.zeros((2, 3), np.float32), [0, 10])}, [])
    assert found["a"].shape == (0, 3)
    assert found["a"].dtype == np.float32
    assert not found.padded


def test_of_samples_with_one_stamp_hold_takes_the_last() -> None:
    merged = ArraySignal([1.0, 2.0, 3.0], [0, 10, 20]).time[[0, 10, 10, 30]]
    assert shifted(merged, 5).timestamps.tolist() == [5, 15, 15, 35]
    assert sample_one(merged, [9, 10, 20], "hold").values.tolist() == [1, 2, 2]
    assert sample_one(merged, [5, 10, 20], "linear").values.tolist() == [1.5, 2, 2.5]


def test_a_view_out_of_order_has_no_values_at_times() -> None:
    mixed = ArraySignal([1, 2, 3], [0, 10, 20])[[2, 0]]
    with pytest.raises(OutOfOrder):
        sample({"a": mixed}, [5])["a"]


def test_rows_belong_to_the_caller() -> None:
    signal = ArraySignal([1.0, 2.0], [0, 10])
    for rule in RULES:
        values, mask, staleness = sample_one(signal, [0, 10], rule)
        for array in (values, mask, staleness):
            array[...] = 0
    assert signal.values.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("offsets", "expected"),
    [
        ([-0.1, 0], [-100_000_000, 0]),
        ([0], [0]),
        (np.array([0.5, -1]), [500_000_000, -1_000_000_000]),
        ((0, 1.6, 0.1), [i * 100_000_000 for i in range(16)]),
        ((0, 1.1, 0.1), [i * 100_000_000 for i in range(11)]),
        ((0, 0.3, 0.1), [0, 100_000_000, 200_000_000]),
        ((-0.3, 0.0, 0.1), [-300_000_000, -200_000_000, -100_000_000]),
        ((0, 0.25, 0.1), [0, 100_000_000, 200_000_000]),
        ((0, 1, 1 / 3), [0, 333_333_333, 666_666_667]),
        ((0, 1, 5), [0]),
        ((1e-9, 3e-9, 1e-9), [1, 2]),
    ],
)
def test_offsets(offsets: Any, expected: list[int]) -> None:
    assert offsets_ns(offsets).tolist() == expected
    assert offsets_ns(offsets).dtype == np.int64


@given(
    st.integers(-1000, 1000), st.integers(1, 300), st.sampled_from([1, 7, 10, 24, 30, 50, 60, 100, 120, 200, 240, 1000])
)
def test_so_many_steps_at_a_rate_are_so_many_offsets(first: int, count: int, rate: int) -> None:
    found = offsets_ns((first / rate, (first + count) / rate, 1 / rate))
    assert len(found) == count
    for position, offset in enumerate(found.tolist()):
        assert abs(offset - (first + position) * 10**9 / rate) <= 1


@pytest.mark.parametrize(
    "offsets",
    [
        [],
        (),
        (0, 1),
        (1, 2, 3, 4),
        ["a"],
        ("a", 1, 2),
        [True],
        0.5,
        [[0.1]],
        [np.nan],
        (0, np.inf, 1),
        [1e10],
        "abc",
        [1, [2]],
    ],
)
def test_offsets_that_are_none(offsets: Any) -> None:
    with pytest.raises(BadKey):
        offsets_ns(offsets)


@pytest.mark.parametrize("offsets", [(0, 1, 0), (0, 1, -0.1), (0, 1, 1e-10), (1, 1, 0.1), (1, 0, 0.1)])
def test_offsets_that_go_nowhere(offsets: Any) -> None:
    with pytest.raises(BadSlice):
        offsets_ns(offsets)


def test_windows_around_anchors() -> None:
    offsets = [-0.1, 0]
    assert window_times(10**9, offsets).tolist() == [900_000_000, 10**9]
    assert window_times(np.int64(10**9), offsets).shape == (2,)
    assert window_times([10**9, 2 * 10**9], offsets).tolist() == [[900_000_000, 10**9], [1_900_000_000, 2 * 10**9]]
    assert window_times(np.zeros((3, 4), np.int64), (0, 1.6, 0.1)).shape == (3, 4, 16)
    assert window_times(range(0, 10, 5), [0]).tolist() == [[0], [5]]
    assert window_times([], offsets).shape == (0, 2)
    for anchors in (0.5, [0.5], True, "1"):
        with pytest.raises(BadKey):
            window_times(anchors, offsets)  # type: ignore[arg-type]
    for anchor, offset in ((MOST, 1e-9), (LEAST, -1e-9)):
        assert window_times([anchor], [0.0, -offset]).tolist() == [[anchor, anchor - round(offset * 1e9)]]
        with pytest.raises(BadKey, match="64 bits"):
            window_times([0, anchor], [0.0, offset])


def test_windows_past_the_ends_are_padding() -> None:
    action = ArraySignal(np.arange(5.0), np.arange(5) * 10**8)
    times = window_times(action.timestamps, (0, 0.3, 0.1))
    values, mask, staleness = sample_one(action, times, until=action.last_ts)
    assert values.tolist() == [[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 4], [4, 4, 4]]
    assert mask.tolist() == [[True] * 3, [True] * 3, [True] * 3, [True, True, False], [True, False, False]]
    assert staleness[-1].tolist() == [0, 10**8, 2 * 10**8]
    before = sample_one(action, window_times(0, [-0.1, 0]), "nearest")
    assert (before.values.tolist(), before.mask.tolist()) == ([0, 0], [False, True])
