"""Which steps are keyframes, against the table of the design written out."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead.errors import WrongType
from playhead.lanes.keyframes import tiers

STEPS = 2000
buckets = st.integers(1, 200)


def by_table(b: int) -> list[int]:
    """Give the tier of each step, from the ranges of the tiers alone."""
    found = [0] * min(STEPS, 2 * b)
    n = 1
    while len(found) < STEPS:
        found += [n] * (b * 2 ** (n + 1) - b * 2**n)
        n += 1
    return found[:STEPS]


@settings(deadline=None, max_examples=40)
@given(buckets)
def test_tiers_are_those_of_the_table(b: int) -> None:
    table = by_table(b)
    assert [tiers.tier(step, b) for step in range(STEPS)] == table
    for tier in set(table):
        assert tiers.tier_start(tier, b) == table.index(tier)


@settings(deadline=None, max_examples=40)
@given(buckets)
def test_keyframes_are_multiples_of_their_tiers_resolution(b: int) -> None:
    kept = [step for step, tier in enumerate(by_table(b)) if step % 2**tier == 0]
    assert [step for step in range(STEPS) if tiers.is_keyframe(step, b)] == kept
    last, keyframes = 0, set(kept)
    for step in range(STEPS):
        last = step if step in keyframes else last
        assert tiers.nearest_keyframe(step, b) == last
        assert step - last <= tiers.resolution(tiers.tier(step, b)) - 1


@settings(deadline=None, max_examples=40)
@given(buckets)
def test_keyframes_are_counted(b: int) -> None:
    count = 0
    for total in range(STEPS):
        assert tiers.keyframe_count(total, b) == count
        count += tiers.is_keyframe(total, b)


@pytest.mark.parametrize(
    ("total", "b", "count"), [(100_032, 1563, 10_941), (200, 100, 200), (400, 100, 300), (800, 100, 400), (0, 1, 0)]
)
def test_known_counts(total: int, b: int, count: int) -> None:
    assert tiers.keyframe_count(total, b) == count


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 1500), st.integers(0, 1500))
def test_the_bucket_for_a_budget_is_the_largest_that_keeps_to_it(total: int, budget: int) -> None:
    fitting = [b for b in range(1, total + 1) if tiers.keyframe_count(total, b) <= budget]
    if not fitting:
        with pytest.raises(WrongType, match="the budget is"):
            tiers.bucket_for(total, budget)
    else:
        assert tiers.bucket_for(total, budget) == fitting[-1]


def test_far_steps_cost_nothing() -> None:
    step = 10**30 + 1
    assert tiers.tier(step, 1) == 99
    assert step - tiers.nearest_keyframe(step, 1) == step % 2**99
    b = tiers.bucket_for(10**12, 10**6)
    assert tiers.keyframe_count(10**12, b) <= 10**6 < tiers.keyframe_count(10**12, b + 1)


@pytest.mark.parametrize("b", [0, -1, 1.5, "3", True, None])
def test_what_is_no_bucket_is_refused(b: object) -> None:
    for ask in (tiers.tier, tiers.is_keyframe, tiers.nearest_keyframe, tiers.keyframe_count):
        with pytest.raises(WrongType, match="a bucket is a whole number"):
            ask(5, b)  # type: ignore[arg-type]


@pytest.mark.parametrize("step", [-1, 1.5, "3", True, None])
def test_what_is_no_step_is_refused(step: object) -> None:
    for ask in (tiers.tier, tiers.is_keyframe, tiers.nearest_keyframe, tiers.keyframe_count, tiers.tier_start):
        with pytest.raises((WrongType, TypeError)):
            ask(step)  # type: ignore[arg-type]
