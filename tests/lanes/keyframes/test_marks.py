"""The steps that were the best so far."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.errors import Damaged
from playhead.lanes.keyframes.marks import Marks

errors = st.lists(st.floats(allow_nan=True, width=16) | st.sampled_from([0.0, -0.0, 1.0, math.inf, -math.inf]))
steps = st.sets(st.integers(0, 500)).map(sorted)


@given(errors)
def test_a_mark_is_strictly_better_than_all_before(values: list[float]) -> None:
    best, due = math.inf, []
    for step, value in enumerate(values):
        if value < best:  # false for NaN
            best = value
            due.append(step)
    assert Marks.of_errors(values) == due


def test_nan_infinity_and_equal_errors_are_no_marks() -> None:
    assert Marks.of_errors([math.nan, math.inf, 2.0, 2.0, math.nan, 1.0, 1.0, -math.inf, -math.inf]) == [2, 5, 7]
    assert Marks.of_errors([math.nan] * 3).last is None
    assert Marks.of_errors([0.0, -0.0]) == [0]


@given(steps, st.integers(-10, 510), st.integers(-10, 510))
def test_ranges_are_found(found: list[int], start: int, stop: int) -> None:
    marks = Marks(found)
    assert marks.between(start, stop) == [step for step in found if start <= step < stop]
    assert marks.before(start) == max((step for step in found if step < start), default=None)
    assert (start in marks) == (start in found)
    assert (len(marks), list(marks), marks.last) == (len(found), found, found[-1] if found else None)
    assert np.int32(max(start, 0)) in marks or max(start, 0) not in found
    assert "x" not in marks


@given(steps, st.integers(0, 3000))
def test_packed_as_the_smaller_of_indices_and_mask(found: list[int], more: int) -> None:
    total = (found[-1] + 1 if found else 0) + more
    packed = Marks(found).pack(total)
    assert len(packed) == 1 + min(4 * len(found), (total + 7) // 8)
    assert Marks.unpack(packed, total) == found


def test_steps_past_32_bits() -> None:
    far = [5, 1 << 33]
    packed = Marks(far).pack((1 << 33) + 1)
    assert len(packed) == 17
    assert Marks.unpack(packed, (1 << 33) + 1) == far


@given(st.binary(max_size=40), st.integers(0, 200))
def test_other_bytes_are_damage_or_steps_in_order(data: bytes, total: int) -> None:
    try:
        found = list(Marks.unpack(data, total))
    except Damaged:
        return
    assert found == sorted(set(found))
    assert all(0 <= step < total for step in found)


def test_a_mask_has_no_bits_behind_the_end() -> None:
    with pytest.raises(Damaged):
        Marks.unpack(b"m\xff", 5)
