"""Several signals as one."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.errors import NotFound, WrongType
from playhead.signal import ArraySignal, Signal
from playhead.signal.derived import joined


@st.composite
def signals(draw: st.DrawFn, width: int | None = None) -> ArraySignal[Any]:
    stamps = sorted(draw(st.lists(st.integers(-20, 20) | st.integers(-(1 << 62), 1 << 62), max_size=10, unique=True)))
    width = draw(st.sampled_from([None, 0, 1, 3])) if width is None else width
    shape = (len(stamps),) if width is None else (len(stamps), width)
    numbers = draw(st.lists(st.integers(-9, 9), min_size=int(np.prod(shape)), max_size=int(np.prod(shape))))
    return ArraySignal(
        np.array(numbers, draw(st.sampled_from(["i4", "f4", "f8"]))).reshape(shape), np.array(stamps, np.int64)
    )


def held(signal: Signal[Any], time: int) -> list[Any] | None:
    rows = [np.ravel(value).tolist() for value, stamp in signal if stamp <= time]
    return rows[-1] if rows else None


@given(st.lists(signals(), min_size=1, max_size=4), st.none() | st.just(-1.5))
def test_join_holds_each_signal_at_every_stamp(sources: list[ArraySignal[Any]], fill: float | None) -> None:
    expected = []
    for time in sorted({stamp for source in sources for stamp in source.timestamps.tolist()}):
        parts = [held(source, time) for source in sources]
        if fill is None and None in parts:
            continue
        widths = [int(np.prod(source.values.shape[1:])) for source in sources]
        filled = [[fill] * width if part is None else part for part, width in zip(parts, widths, strict=True)]
        expected.append(([number for part in filled for number in part], time))
    together = joined(*sources, fill=fill)
    assert [(value.tolist(), stamp) for value, stamp in together] == expected
    assert len(together) == len(expected)
    assert together.values.dtype == np.result_type(
        *(source.values.dtype for source in sources), *([] if fill is None else ["f2"])
    )
    assert [together[i][0].tolist() for i in range(-len(expected), len(expected))] == [v for v, _ in expected] * 2
    order = np.arange(len(expected))[::-1]
    assert [value.tolist() for value in together[order].values] == [value for value, _ in expected[::-1]]
    assert together[:0].values.shape == (0, together.values.shape[1])
    if expected:
        with pytest.raises(NotFound):
            together.time[expected[0][1] - 1]


def test_join_of_scalars_vectors_and_truths_is_one_vector() -> None:
    pose = ArraySignal(np.array([[1, 2], [3, 4]], np.float32), [10, 30])
    closed = ArraySignal([False, True], [5, 20])
    action = joined(pose, closed)
    assert action.timestamps.tolist() == [10, 20, 30]
    assert action.values.tolist() == [[1, 2, 0], [1, 2, 1], [3, 4, 1]]
    assert action.values.dtype == np.float32
    assert joined(closed).values.tolist() == [[False], [True]]
    assert joined(closed, closed).values.dtype == np.bool_


def test_join_with_text_or_images_is_tuples() -> None:
    text = ArraySignal(np.array(["go", "stop"], object), [0, 20])
    force = ArraySignal([1.5, 2.5], [10, 20])
    camera = ArraySignal(np.arange(8, dtype=np.uint8).reshape(2, 2, 2), [10, 30])
    together = joined(text, force)
    assert together.values.dtype == object
    assert together.values.tolist() == [("go", 1.5), ("stop", 2.5)]
    assert together[1] == (("stop", 2.5), 20)
    frame, number = joined(camera, force).time[25][0]
    assert frame.tolist() == [[0, 1], [2, 3]]
    assert number == 2.5
    assert joined(text, force, fill="nothing").values.tolist() == [("go", "nothing"), ("go", 1.5), ("stop", 2.5)]
    assert joined(force, ArraySignal([1], [20]), fill="?").values.tolist() == [(1.5, "?"), (2.5, 1)]
    assert joined(joined(text, force), force)[0][0] == (("go", 1.5), 1.5)


@pytest.mark.parametrize("dtype", [np.uint8, np.bool_, np.int8])
@pytest.mark.parametrize("fill", [1000.1, 0.1, 1e-8, -1])
def test_join_fills_with_the_very_number(dtype: type, fill: float) -> None:
    """Was a bug: a fraction beside small integers was rounded to 16 bits."""
    early, late = ArraySignal(np.ones(1, dtype), [0]), ArraySignal(np.ones(1, dtype), [10])
    assert joined(early, late, fill=fill).values.tolist() == [[1, fill], [1, 1]]


def test_join_fills_in_a_dtype_that_can_hold_it() -> None:
    early, late = ArraySignal(np.array([1, 2], np.uint8), [0, 10]), ArraySignal(np.array([7], np.uint8), [10])
    assert joined(early, late, fill=-1).values.tolist() == [[1, -1], [2, 7]]
    assert joined(early, late, fill=0).values.dtype == np.uint8
    found = joined(early, late, fill=np.nan)
    assert np.isnan(found.values[0, 1])
    assert found.values[1:].tolist() == [[2, 7]]
    assert found[1:].values.dtype == found.values.dtype == np.float16
    nothing = ArraySignal(np.empty((0, 2)), [])
    assert joined(early, nothing, fill=0.5).values.tolist() == [[1, 0.5, 0.5], [2, 0.5, 0.5]]
    assert len(joined(early, nothing)) == 0


def test_of_samples_with_one_stamp_the_last_counts() -> None:
    merged = ArraySignal([1.0, 2.0, 3.0], [0, 10, 20]).time[[0, 10, 10]]
    assert joined(merged, ArraySignal([5], [0])).values.tolist() == [[1, 5], [2, 5]]


def test_join_reads_a_heavy_sample_once() -> None:
    class Video(ArraySignal[Any]):
        _BLOCK = 8

        def _values_at(self, positions: Any) -> Any:
            reads.extend(positions)
            return super()._values_at(positions)

    reads: list[int] = []
    camera = Video(np.zeros((3, 2, 2), np.uint8), [0, 100, 200])
    force = ArraySignal(np.arange(30), np.arange(0, 300, 10))
    assert len(joined(camera, force).values) == 30
    assert reads == [0, 1, 2]


def test_join_of_nothing_and_of_something_else() -> None:
    with pytest.raises(WrongType, match="nothing to join"):
        joined()
    with pytest.raises(WrongType, match="not with ndarray"):
        joined(ArraySignal([1], [1]), np.arange(3))  # type: ignore[arg-type]


def test_a_pickled_join_plans_again() -> None:
    together = joined(ArraySignal([1, 2], [0, 5]), ArraySignal([3], [2]))
    assert together.timestamps.tolist() == [2, 5]
    copy = pickle.loads(pickle.dumps(together))
    assert copy.values.tolist() == together.values.tolist() == [[1, 3], [2, 3]]
    assert not copy.timestamps.flags.writeable
