"""A shuffled order without memory is a permutation, the same each time, and no pattern shows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.order import Order


@given(n=st.integers(1, 3000), seed=st.integers(0, 2**70), epoch=st.integers(0, 5))
def test_every_item_comes_once(n: int, seed: int, epoch: int) -> None:
    order = Order(n, seed, epoch)
    found = order[np.arange(n)]
    assert sorted(found.tolist()) == list(range(n))
    assert order[np.arange(n)[::-1]].tolist() == found.tolist()[::-1]
    assert order[[n // 2]].tolist() == [found[n // 2]]


def test_seeds_and_epochs_give_other_orders() -> None:
    orders = [Order(10_000, *seed)[np.arange(100)].tolist() for seed in [(0, 0), (0, 1), (1, 0), (2, 0), (0, 2)]]
    assert len({tuple(order) for order in orders}) == 5


def test_a_billion_costs_nothing_and_stays_in_range() -> None:
    found = Order(1_000_000_007, 3)[np.arange(10_000) * 99_991]
    assert len(np.unique(found)) == 10_000
    assert found.min() >= 0
    assert found.max() < 1_000_000_007


@pytest.mark.parametrize("n", [1000, 4096, 65_537])
def test_items_are_spread_evenly(n: int) -> None:
    """The first tenth of the order holds each tenth of the items about as often; neighbours do not stay neighbours."""
    counts = np.zeros(10)
    neighbours = 0
    for seed in range(20):
        found = Order(n, seed)[np.arange(n)]
        counts += np.histogram(found[: n // 10], bins=10, range=(0, n))[0]
        neighbours += int((np.abs(np.diff(found)) == 1).sum())
    expected = counts.sum() / 10
    assert ((counts - expected) ** 2 / expected).sum() < 40  # chi-square with 9 degrees: 40 is one in 100,000
    assert neighbours < 20 * 2 * 3  # two are expected in each order
