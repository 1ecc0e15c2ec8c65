"""Which states are kept, against plain models of each way; and that never more are kept than promised."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead.errors import Damaged, WrongType
from playhead.lanes.keyframes import retention, tiers
from playhead.lanes.keyframes.retention import Aged, BestOnly, BestSpaced, Dense, Retention, Tiered

best_flags = st.lists(st.booleans(), min_size=1, max_size=300)


def kept_by(way: Retention, flags: list[bool]) -> Iterator[list[int]]:
    """Give the keyframes after each step, as a recording keeps them."""
    kept: dict[int, None] = {}
    for step, is_best in enumerate(flags):
        if way.keeps(step, is_best=is_best):
            kept[step] = None
        for old in way.note(step, is_best=is_best):
            assert old != step
            del kept[old]  # each is dropped once, and only what was kept
        yield list(kept)


@settings(deadline=None, max_examples=60)
@given(best_flags)
def test_dense_keeps_all(flags: list[bool]) -> None:
    for n, kept in enumerate(kept_by(Dense(), flags), 1):
        assert kept == list(range(n))


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 40), st.integers(1, 1500))
def test_tiered_keeps_what_tiers_say(b: int, steps: int) -> None:
    for n, kept in enumerate(kept_by(Tiered(b), [False] * steps), 1):
        if n % 37 == 0 or n == steps:
            assert kept == [step for step in range(n) if tiers.is_keyframe(step, b)]
        assert len(kept) == tiers.keyframe_count(n, b) <= b * (tiers.tier(n - 1, b) + 2)


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 12), st.integers(1, 800))
def test_aged_keeps_by_age(b: int, steps: int) -> None:
    way = Aged(b)
    for n, kept in enumerate(kept_by(way, [False] * steps), 1):
        if n % 41 == 0 or n == steps:
            assert kept == due_by_age(way, n)
        # From the first tier on, with room for a third of the bucket for each: what was given up lies there.
        tier = tiers.tier(n - 1, b)
        assert len(kept) <= way.most(n) - (0 if b == 1 else tier * b // 3) <= b * (tier + 2)


def due_by_age(way: Aged, steps: int) -> list[int]:
    """Tell which of so many steps are kept, the best aside."""
    return [s for s in range(steps) if s % tiers.resolution(tiers.tier(steps - 1 - s, way.tier_keeps)) == 0]


@settings(deadline=None, max_examples=60)
@given(
    st.integers(1, 8), st.integers(0, 4), best_flags, st.integers(1, 300), st.sampled_from([Dense, lambda: Tiered(4)])
)
def test_what_another_way_kept_goes_with_the_first_step_by_age(
    b: int, best: int, flags: list[bool], cut: int, before: Callable[[], Retention]
) -> None:
    cut = min(cut, len(flags))
    other = before()
    kept = [step for step in range(cut) if other.keeps(step, is_best=False)]
    way = Aged(b, best)
    way.resume([step for step in range(cut) if flags[step]], kept, cut)
    left = set(kept)
    for step in range(cut, len(flags)):
        left.add(step)
        for old in way.note(step, is_best=flags[step]):
            left.discard(old)
        assert len(left) <= way.most(step + 1)
    if cut < len(flags):
        *_, always = kept_by(Aged(b, best), flags)
        assert left <= set(always)


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 6), st.integers(1, 6), best_flags)
def test_aged_spares_the_best_whatever_their_age(b: int, best: int, flags: list[bool]) -> None:
    spaced = SpacedModel(best)
    way = Aged(b, best)
    for newest, kept in enumerate(kept_by(way, flags)):
        if flags[newest]:
            spaced.add(newest)
        if newest % 23 and newest < len(flags) - 1:
            continue
        assert kept == sorted({*due_by_age(way, newest + 1), *spaced.steps})


@settings(deadline=None, max_examples=60)
@given(best_flags)
def test_best_only_keeps_the_first_and_the_best(flags: list[bool]) -> None:
    *_, kept = kept_by(BestOnly(), flags)
    assert kept == [step for step, is_best in enumerate(flags) if is_best or step == 0]


class SpacedModel:
    """Steps evenly spaced, done the slow way: look at all, drop that whose neighbours are nearest."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.steps: list[int] = []

    def add(self, step: int) -> None:
        self.steps.append(step)
        if len(self.steps) > self.capacity:
            if self.capacity == 1:
                del self.steps[0]
            else:
                del self.steps[min(range(1, len(self.steps) - 1), key=self.cost)]

    def cost(self, place: int) -> int:
        before, step, after = self.steps[place - 1 : place + 2]
        return 2 * (step - before) if after == self.steps[-1] else after - before


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 8), st.integers(1, 60), best_flags)
def test_best_spaced_keeps_so_many_and_every_nth(best: int, every: int, flags: list[bool]) -> None:
    spaced = SpacedModel(best)
    for newest, kept in enumerate(kept_by(BestSpaced(best, every), flags)):
        if flags[newest]:
            spaced.add(newest)
        assert set(kept) == {*spaced.steps, *range(0, newest + 1, every)}


@pytest.mark.parametrize("capacity", [1, 2, 3, 100])
def test_the_gaps_of_best_steps_are_even(capacity: int) -> None:
    """Over 5,000 improving steps: the first and the last stay, and no gap is far from the others."""
    total = 5000
    *_, kept = kept_by(BestSpaced(capacity, total), [True] * total)
    if capacity == 1:
        assert kept == [0, total - 1]  # step 0 is an n-th one
        return
    assert len(kept) == capacity
    assert (kept[0], kept[-1]) == (0, total - 1)
    gaps = [b - a for a, b in pairwise(kept)]
    # One that goes joins two gaps, so that one pass can do no better than halves and doubles; the last gap still grows.
    assert max(gaps[:-1], default=0) <= 2 * min(gaps[:-1], default=0)
    assert gaps[-1] <= 2 * max(gaps[:-1], default=gaps[-1])


def test_asking_changes_nothing() -> None:
    for way in (Dense(), Tiered(2), Aged(2, 2), BestOnly(), BestSpaced(2, 5)):
        for step in range(50):
            answers = {way.keeps(step, is_best=bool(step % 3)) for _ in range(3)}
            assert len(answers) == 1
            first = list(way.note(step, is_best=bool(step % 3)))
            assert len(first) == len(set(first))


@settings(deadline=None, max_examples=60)
@given(best_flags, st.integers(0, 300))
def test_a_recording_that_goes_on_keeps_what_one_would(flags: list[bool], cut: int) -> None:
    cut = min(cut, len(flags))
    for make in (lambda: Tiered(3), lambda: Aged(3), lambda: Aged(3, 3), BestOnly, lambda: BestSpaced(3, 7)):
        *_, whole = kept_by(make(), flags)
        kept = {step: None for steps in list(kept_by(make(), flags[:cut]))[-1:] for step in steps}
        again = retention.from_json(make().to_json())
        again.resume([step for step in range(cut) if flags[step]])
        for step in range(cut, len(flags)):
            if again.keeps(step, is_best=flags[step]):
                kept[step] = None
            for old in again.note(step, is_best=flags[step]):
                kept.pop(old)
        assert sorted(kept) == whole


def test_json_and_back() -> None:
    for way in (Dense(), Tiered(7), Aged(7, 3), BestOnly(), BestSpaced(3, 4)):
        again = retention.from_json(way.to_json())
        assert (type(again), again.to_json()) == (type(way), way.to_json())
        assert type(way).__name__ in repr(way)


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"strategy": "none"},
        {"strategy": "tiered", "bucket": 0},
        {"strategy": "tiered", "bucket": "1"},
        {"strategy": "tiered", "other": 1},
        {"strategy": "dense", "bucket": 1},
        {"strategy": "btd-evenly-spaced", "best": 0},
        {"strategy": ["x"]},
        {"strategy": "tiered", "self": 1},
    ],
)
def test_what_a_file_says_of_no_retention_is_damage(said: dict[str, object]) -> None:
    with pytest.raises(Damaged, match="a retention"):
        retention.from_json(said)


def test_what_is_no_count_is_refused() -> None:
    for make in (
        lambda: Tiered(0),
        lambda: Aged(-1),
        lambda: Aged(1, -1),
        lambda: BestSpaced(0),
        lambda: BestSpaced(1, 0),
    ):
        with pytest.raises(WrongType):
            make()
