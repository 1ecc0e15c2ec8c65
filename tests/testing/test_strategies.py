"""The strategies give what they promise, and all of it."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from playhead.errors import BadKey, BadSlice, NotFound, OutOfRange
from playhead.signal import ArraySignal
from playhead.signal.keys import LEAST, MOST
from playhead.testing import strategies

FEW = settings(max_examples=50, deadline=None)
SEARCH = settings(max_examples=5000, phases=[Phase.generate], derandomize=True, database=None, deadline=None)
STAMPS = [10, 20, 35]


def test_faults_load_neither_pytest_nor_hypothesis() -> None:
    script = "import sys, playhead.testing; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert {"pytest", "hypothesis", "numpy"} & set(loaded) == set()
    script = "import sys; from playhead.testing import SignalContract; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert "pytest" in loaded
    assert "hypothesis" not in loaded


@FEW
@given(strategies.stamps(min_size=2, max_size=5, least=-7, most=1 << 60))
def test_stamps_increase_within_their_limits(stamps: list[int]) -> None:
    assert 2 <= len(stamps) <= 5
    assert all(-7 <= stamp <= 1 << 60 for stamp in stamps)
    assert all(before < after for before, after in itertools.pairwise(stamps))


@FEW
@given(strategies.samples())
def test_samples_are_of_one_kind(samples: list[tuple[Any, int]]) -> None:
    assert len({type(value) for value, _ in samples}) <= 1
    assert len({(np.asarray(value).shape, getattr(value, "dtype", None)) for value, _ in samples}) <= 1


@FEW
@given(strategies.signals())
def test_signals_are_signals(signal: ArraySignal[Any]) -> None:
    assert len(list(signal)) == len(signal)


@pytest.mark.parametrize(
    ("strategy", "claim"),
    [
        (strategies.stamps(), lambda stamps: LEAST in stamps),
        (strategies.stamps(), lambda stamps: MOST in stamps),
        (strategies.stamps(), lambda stamps: not stamps),
        (strategies.stamps(), lambda stamps: any(abs(stamp - 1.7e18) < 1e13 for stamp in stamps)),
        (strategies.scalar_values(float), math.isnan),
        (strategies.scalar_values(float), lambda value: value == 0 and math.copysign(1, value) < 0),
        (strategies.scalar_values(float), lambda value: value == -math.inf),
        (strategies.scalar_values(int), lambda value: value == LEAST),
        (strategies.scalar_values(str), lambda value: value.endswith("\0")),
        (strategies.samples(), lambda samples: samples and isinstance(samples[0][0], bool)),
        (strategies.samples(), lambda samples: samples and isinstance(samples[0][0], str)),
        (strategies.samples(), lambda samples: samples and np.ndim(samples[0][0]) == 3),
        (strategies.samples(), lambda samples: samples and np.size(samples[0][0]) == 0),
        (strategies.samples(), lambda samples: samples and np.asarray(samples[0][0]).dtype == np.float16),
    ],
)
def test_what_is_rare_comes_too(strategy: st.SearchStrategy[Any], claim: Callable[[Any], bool]) -> None:
    assert claim(find(strategy, claim, settings=SEARCH))


def refused_with(asked: Any, error: type[Exception] | None) -> Callable[[Any], bool]:
    def is_so(key: Any) -> bool:
        try:
            asked[key]
        except (BadKey, BadSlice, NotFound, OutOfRange) as found:
            return type(found) is error
        return error is None

    return is_so


@pytest.mark.parametrize("error", [None, BadKey, BadSlice, OutOfRange])
def test_index_keys_are_right_and_wrong(error: type[Exception] | None) -> None:
    is_so = refused_with(ArraySignal(list("abc"), STAMPS), error)
    assert is_so(find(strategies.index_keys(3), is_so, settings=SEARCH))


@pytest.mark.parametrize("error", [None, BadKey, BadSlice, NotFound])
def test_time_keys_are_right_and_wrong(error: type[Exception] | None) -> None:
    is_so = refused_with(ArraySignal(list("abc"), STAMPS).time, error)
    assert is_so(find(strategies.time_keys(STAMPS), is_so, settings=SEARCH))


@FEW
@given(strategies.index_keys(3, with_wrong=False), strategies.time_keys(STAMPS, with_wrong=False))
def test_right_keys_are_not_refused(index: Any, time: Any) -> None:
    signal: ArraySignal[str] = ArraySignal(list("abc"), STAMPS)
    assert refused_with(signal, None)(index)
    assert refused_with(signal.time, None)(time)


@pytest.mark.parametrize("kind", [int, slice, list, tuple, np.ndarray])
@pytest.mark.parametrize("keys", [strategies.index_keys(3), strategies.time_keys(STAMPS)])
def test_keys_come_in_all_kinds(kind: type, keys: st.SearchStrategy[Any]) -> None:
    assert isinstance(find(keys, lambda key: type(key) is kind, settings=SEARCH), kind)


def test_nothing_can_be_asked_too() -> None:
    assert isinstance(find(strategies.index_keys(0), lambda key: isinstance(key, slice), settings=SEARCH), slice)
    stepping = find(
        strategies.time_keys([]), lambda key: type(key) is slice and key.step and key.stop is None, settings=SEARCH
    )
    assert stepping.step
    assert stepping.stop is None
