"""Hypothesis strategies for signals, and for whatever may stand between their brackets.

Everything shrinks towards few samples, small numbers and plain keys. `ListModel` says what an answer should be:

    @given(signals(), st.data())
    def test_mine(signal, data):
        key = data.draw(time_keys(signal.timestamps.tolist()))
        model = ListModel(list(signal))
        ...  # signal.time[key] and model.time[key] give the same, or fail alike
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from playhead.signal import ArraySignal
from playhead.signal.keys import LEAST, MOST
from playhead.testing.model import ListModel

__all__ = [
    "SCALARS",
    "ListModel",
    "array_values",
    "index_keys",
    "samples",
    "scalar_values",
    "signals",
    "stamps",
    "time_keys",
    "values",
]

Sample = tuple[Any, int]

SCALARS = (float, int, bool, str)

_NOW = 1_700_000_000_000_000_000  # a time as recordings have them, where fractions of 64 bits are 256 ns apart
_BEYOND = 1 << 70


def stamps(
    *, min_size: int = 0, max_size: int = 12, least: int = LEAST, most: int = MOST
) -> st.SearchStrategy[list[int]]:
    """Give stamps that strictly increase: close together, far apart, of our days, or at the limits.

    Args:
        min_size: How many, at least.
        max_size: How many, at most.
        least: The least that may come.
        most: The greatest that may come.
    """
    ranges = [(0, 40), (_NOW, _NOW + 40), (_NOW, _NOW + 10**12), (least, least + 10), (most - 10, most), (least, most)]
    times = [st.integers(max(low, least), min(high, most)) for low, high in ranges if low <= most and high >= least]
    lists = [st.lists(one, min_size=min_size, max_size=max_size, unique=True) for one in (*times, st.one_of(*times))]
    return st.one_of(*lists).map(sorted)


def scalar_values(kind: type) -> st.SearchStrategy[Any]:
    """Give values of one plain type, with its extremes: NaN, -0.0, infinities, numbers of 64 bits, any text.

    Args:
        kind: One of `SCALARS`.
    """
    ways: dict[type, st.SearchStrategy[Any]] = {
        float: st.floats() | st.sampled_from([0.0, -0.0, float("nan"), float("inf"), -float("inf"), 5e-324, 1.7e308]),
        int: st.integers(LEAST, MOST) | st.sampled_from([0, LEAST, MOST]),
        bool: st.booleans(),
        str: st.text(max_size=8) | st.sampled_from(["", "\0", "a\0", "ä" * 300]),
    }
    return ways[kind]


@st.composite
def array_values(draw: st.DrawFn, *, min_dims: int = 1, max_dims: int = 3) -> st.SearchStrategy[Any]:
    """Give a strategy for arrays of one dtype and one shape, which may have no numbers in it.

    Args:
        draw: Given by hypothesis.
        min_dims: The least number of dimensions.
        max_dims: The greatest number of dimensions.
    """
    dtype = draw(st.sampled_from(["f4", "f8", "f2", "i8", "u1", "i4", "u2", "u8", "i1", "bool"]))
    shape = draw(hnp.array_shapes(min_dims=min_dims, max_dims=max_dims, min_side=0, max_side=4))
    return hnp.arrays(dtype, shape)


def values() -> st.SearchStrategy[st.SearchStrategy[Any]]:
    """Give a strategy for the values of one signal: scalars of one type, or arrays of one dtype and shape."""
    return st.sampled_from(SCALARS).map(scalar_values) | array_values()


@st.composite
def samples(
    draw: st.DrawFn,
    each: st.SearchStrategy[Any] | None = None,
    *,
    min_size: int = 0,
    max_size: int = 12,
    least: int = LEAST,
    most: int = MOST,
) -> list[Sample]:
    """Give what one signal holds: values of one kind, each with its stamp.

    Args:
        draw: Given by hypothesis.
        each: What a value is; else any kind that `values` knows.
        min_size: How many samples, at least.
        max_size: How many samples, at most.
        least: The least stamp.
        most: The greatest stamp.
    """
    one = draw(values()) if each is None else each
    times = draw(stamps(min_size=min_size, max_size=max_size, least=least, most=most))
    return [(draw(one), time) for time in times]


@st.composite
def signals(draw: st.DrawFn, each: st.SearchStrategy[Any] | None = None, *, max_size: int = 12) -> ArraySignal[Any]:
    """Give signals in memory.

    Args:
        draw: Given by hypothesis.
        each: What a value is; else any kind that `values` knows.
        max_size: How many samples, at most.
    """
    held = draw(samples(each, max_size=max_size))
    return ArraySignal([value for value, _ in held], [stamp for _, stamp in held])


def index_keys(length: int, *, with_wrong: bool = True) -> st.SearchStrategy[Any]:
    """Give what may be asked of a signal by index.

    Args:
        length: The number of samples.
        with_wrong: Also keys that are refused.
    """
    inside = st.integers(-length, length - 1) if length else st.nothing()
    anywhere = st.integers(-length - 2, length + 2)
    slices = st.builds(slice, st.none() | anywhere, st.none() | anywhere, st.none() | st.integers(1, length + 2))
    lists = st.lists(inside, max_size=8 if length else 0)
    right = [inside, slices, _as_any_list(lists)]
    if not with_wrong:
        return st.one_of(*right)
    wrong = [
        anywhere | st.just(_BEYOND),
        st.builds(slice, anywhere, anywhere, st.integers(-3, 0)),
        _as_any_list(st.lists(anywhere, min_size=1, max_size=4)),
        _no_keys(),
    ]
    return st.one_of(*right, *wrong)


def time_keys(stamps: Sequence[int], *, with_wrong: bool = True) -> st.SearchStrategy[Any]:
    """Give what may be asked of a signal by time; slices with a step ask for at most some dozens of samples.

    Args:
        stamps: Those of the signal.
        with_wrong: Also keys that are refused.
    """
    ends = [min(stamps), max(stamps)] if stamps else [0, 100]
    inside = st.integers(*ends)
    if stamps:
        near = st.builds(lambda stamp, by: _fitting(stamp + by), st.sampled_from(list(stamps)), st.integers(-1, 1))
        inside = near.filter(lambda time: ends[0] <= time) | inside
    anywhere = inside | st.integers(_fitting(ends[0] - 20), _fitting(ends[1] + 20))
    beyond = anywhere | st.sampled_from([_BEYOND, -_BEYOND])
    windows = st.builds(slice, st.none() | beyond, st.none() | beyond)
    right = [inside, windows, _steps(inside, ends[1]), _as_any_list(st.lists(inside, min_size=1, max_size=8))]
    if not with_wrong:
        return st.one_of(*right)
    wrong = [
        beyond,
        _steps(anywhere, ends[1]),
        st.builds(slice, st.none() | anywhere, st.none() | anywhere, st.integers(-3, 0)),
        st.builds(slice, st.none(), st.none() | anywhere, st.integers(1, 9)),
        _as_any_list(st.lists(anywhere, max_size=4)),
        _no_keys(),
    ]
    return st.one_of(*right, *wrong)


@st.composite
def _steps(draw: st.DrawFn, starts: st.SearchStrategy[int], last: int) -> slice:
    start = draw(starts)
    if draw(st.booleans()):
        shortest = max(1, (last - start) // 20)
        return slice(start, None, draw(st.integers(shortest, 2 * shortest + 5) | st.just(_BEYOND)))
    count = draw(st.integers(0, 20))
    step = draw(st.integers(1, max(1, (MOST - start) // 21)) | st.integers(1, 30))
    return slice(start, min(start + count * step + draw(st.integers(-step, step)), MOST + 1), step)


def _as_any_list(lists: st.SearchStrategy[list[int]]) -> st.SearchStrategy[Any]:
    kinds = [list, tuple, lambda keys: np.array(keys, np.int64), lambda keys: [np.int64(key) for key in keys]]
    return st.builds(lambda kind, keys: kind(keys), st.sampled_from(kinds), lists)


def _no_keys() -> st.SearchStrategy[Any]:
    return st.sampled_from(["1", b"1", 1.0, None, True, [True], [0, False], [0.0], [None], np.array([True]), {0: 0}])


def _fitting(time: int) -> int:
    return min(max(time, LEAST), MOST)
