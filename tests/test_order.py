"""A shuffled order without memory is a permutation, the same each time and anywhere, and no pattern shows.

Limits of the statistics are quantiles that a true shuffle passes but once in about 100,000 times; all seeds are fixed.
"""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.order import _DRAWN, Order

LARGE = [_DRAWN + 1, 100_003, 131_072, 131_073, (1 << 20) + 1, 3_000_000]

GOLDEN = {
    10: [4, 3, 1, 2, 5, 6, 8, 9, 0, 7],
    65536: [12778, 36270, 53257],
    10**9: [101026217, 38217133, 42120894],
    10**12: [268043895587, 314414036651, 338461795235],
}


def chi_limit(degrees: int) -> float:
    """Give what chi-square exceeds once in 100,000 times (Wilson and Hilferty)."""
    return degrees * (1 - 2 / (9 * degrees) + 4.265 * math.sqrt(2 / (9 * degrees))) ** 3


def chi_square(counts: np.ndarray, expected: float) -> float:
    return float(((counts - expected) ** 2 / expected).sum())


@given(n=st.integers(1, 3000), seed=st.integers(-(2**70), 2**70), epoch=st.integers(0, 5))
def test_every_item_comes_once(n: int, seed: int, epoch: int) -> None:
    order = Order(n, seed, epoch)
    found = order[np.arange(n)]
    assert sorted(found.tolist()) == list(range(n))
    assert order[np.arange(n)[::-1]].tolist() == found.tolist()[::-1]
    assert order[[n // 2]].tolist() == [found[n // 2]]


def test_every_length_is_one_to_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways of making it, at every small length: the network also where it would not be used."""
    for n in range(1, 2500):
        assert (np.bincount(Order(n, n)[np.arange(n)], minlength=n) == 1).all(), n
    monkeypatch.setattr("playhead.order._DRAWN", 3)
    for n in range(4, 2500):
        assert (np.bincount(Order(n, n)[np.arange(n)], minlength=n) == 1).all(), n


@pytest.mark.parametrize("n", LARGE)
def test_large_lengths_are_one_to_one(n: int) -> None:
    assert (np.bincount(Order(n, 5)[np.arange(n)], minlength=n) == 1).all()


@pytest.mark.parametrize("n", [1_000_000_007, 2**32, 2**32 + 1, 2**40 + 12345, 2**62 + 1], ids=str)
def test_a_billion_and_more_stay_in_range_and_apart(n: int) -> None:
    positions = np.unique(
        np.concatenate([np.arange(200_000), n - 1 - np.arange(200_000), np.arange(1000) * (n // 1000)])
    )
    found = Order(n, 3)[positions]
    assert found.dtype == np.int64
    assert len(np.unique(found)) == len(positions)
    assert found.min() >= 0
    assert found.max() < n


def test_it_is_the_same_anywhere() -> None:
    """Checkpoints rely on these: other values would go on with other batches."""
    assert Order(10, 0)[np.arange(10)].tolist() == GOLDEN[10]
    assert Order(65_536, 1, 2)[[0, 1, 65_535]].tolist() == GOLDEN[65_536]
    assert Order(10**9, 1, 2)[[0, 1, 999_999_999]].tolist() == GOLDEN[10**9]
    assert Order(10**12, -1)[[0, 1, 999_999_999]].tolist() == GOLDEN[10**12]


def test_any_shape_and_any_block_gives_the_same() -> None:
    order = Order(10**9, 4)
    whole = order[np.arange(70_000)]
    assert (order[np.arange(70_000).reshape(7, -1)] == whole.reshape(7, -1)).all()
    parts = [order[np.arange(start, min(start + 999, 70_000))] for start in range(0, 70_000, 999)]
    assert (np.concatenate(parts) == whole).all()
    assert order[5] == whole[5]
    assert order[[]].tolist() == []


def test_a_billion_needs_no_memory() -> None:
    tracemalloc.start()
    order = Order(10**9, 1)
    for start in range(0, 10**6, 65_536):
        order[np.arange(start, start + 65_536)]
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 4 << 20


@pytest.mark.parametrize("n", [1000, 4096, 65_537, 200_000, 10**9])
def test_stretches_of_the_order_hold_all_parts_of_the_items_alike(n: int) -> None:
    """Chi-square of blocks of positions against blocks of items, added up over seeds."""
    seeds, blocks, each = 20, 16, min(n // 16, 4000)
    counts = np.zeros((blocks, blocks))
    for seed in range(seeds):
        order = Order(n, seed)
        for block in range(blocks):
            found = order[np.arange(each) + block * (n // blocks)]
            counts[block] += np.bincount(found * blocks // n, minlength=blocks)
    assert chi_square(counts, seeds * each / blocks) < chi_limit(
        (blocks - 1) * (blocks if each * 2 < n // blocks else blocks - 1)
    )


@pytest.mark.parametrize("n", [1000, 4096, 65_537, 200_000, 10**9])
def test_what_follows_does_not_depend_on_what_came(n: int) -> None:
    """Serial correlation at several distances, runs up and down, pairs of successive items, and neighbours."""
    count = min(n, 100_000)
    for seed in range(5):
        found = Order(n, 100 + seed)[np.arange(count)]
        scaled = found / n - 0.5
        for lag in (1, 2, 3, 16, 255, 256, 512):
            r = float(np.corrcoef(scaled[:-lag], scaled[lag:])[0, 1])
            assert abs(r) < 5 / math.sqrt(count - lag), (lag, r)
        turns = int((np.diff(np.sign(np.diff(found))) != 0).sum())
        assert abs(turns - 2 * (count - 2) / 3) < 4.5 * math.sqrt((16 * count - 29) / 90)
        pairs = np.bincount((found[:-1] * 8 // n) * 8 + found[1:] * 8 // n, minlength=64)
        assert chi_square(pairs, (count - 1) / 64) < chi_limit(63)
        steps = np.diff(found) % n
        assert chi_square(np.bincount(steps * 16 // n, minlength=16), (count - 1) / 16) < chi_limit(15)
        assert np.bincount(np.unique(steps, return_counts=True)[1]).nonzero()[0].max() < (12 if n < 10**9 else 4)


@pytest.mark.parametrize("n", [1000, 65_537, 200_000, 10**9])
def test_items_travel_as_far_as_in_a_shuffle(n: int) -> None:
    """The mean of |item - position| is n/3, with the variance n²/18."""
    count = min(n, 50_000)
    for seed in range(5):
        positions = np.linspace(0, n - 1, count).astype(np.int64)
        moved = np.abs(Order(n, 200 + seed)[positions] - positions) / n
        assert abs(float(moved.mean()) - 1 / 3) < 5 * math.sqrt(1 / 18 / count)


@pytest.mark.parametrize("n", [3, 7, 64, 1000, 65_537, 10**9, 2**35])
def test_the_first_items_are_uniform_over_seeds(n: int) -> None:
    bins, seeds = min(n, 16), 6000
    first = np.stack([Order(n, seed, 1)[[0, 1, n - 1]] for seed in range(seeds)])
    for place in range(3 if n > 3 else 2):
        counts = np.bincount(first[:, place] * bins // n, minlength=bins)
        shares = np.diff(-(-np.arange(bins + 1) * n // bins)) / n
        assert chi_square(counts, seeds * shares) < chi_limit(bins - 1), place


def test_all_orders_of_few_are_equally_likely() -> None:
    seeds = 12_000
    found = np.stack([Order(4, seed)[np.arange(4)] for seed in range(seeds)])
    _, counts = np.unique(found, axis=0, return_counts=True)
    assert len(counts) == 24
    assert chi_square(counts, seeds / 24) < chi_limit(23)


@pytest.mark.parametrize("n", [5000, 65_537, 10**9])
def test_seeds_and_epochs_have_nothing_to_do_with_each_other(n: int) -> None:
    """Orders of neighbouring seeds and epochs, position by position: no correlation, differences all over."""
    count = min(n, 20_000)
    keys = [(0,), (0, 0), (0, 1), (1, 0), (0, 2), (2, 0), (1, 1), (2**64,), (2**64 - 1,), (-1,), (12, 3), (1, 23)]
    orders = [Order(n, *key)[np.arange(count)] for key in keys]
    for a in range(len(orders)):
        for b in range(a):
            r = float(np.corrcoef(orders[a], orders[b])[0, 1])
            assert abs(r) < 5 / math.sqrt(count), (keys[a], keys[b])
            apart = ((orders[a] - orders[b]) % n) * 16 // n
            assert chi_square(np.bincount(apart, minlength=16), count / 16) < chi_limit(15), (keys[a], keys[b])


@pytest.mark.parametrize("n", [65_537, 10**9, 2**40])
def test_one_bit_of_a_position_changes_half_of_the_item(n: int) -> None:
    bits = (n - 1).bit_length() - 1  # positions and items below a power of two, so that all bits are free
    rng = np.random.default_rng(0)
    positions = rng.integers(0, 1 << bits, 4000)
    order = Order(n, 9)
    flipped = np.zeros((bits, bits - 1))
    here = order[positions]
    for bit in range(bits):
        changed = here ^ order[positions ^ (1 << bit)]
        flipped[bit] = [((changed >> other) & 1).mean() for other in range(bits - 1)]
    assert np.abs(flipped - 0.5).max() < 6 * 0.5 / math.sqrt(4000)


def test_the_network_shuffles_few_well_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is at its weakest: few bits. First items are uniform, and neighbours do not stay neighbours."""
    monkeypatch.setattr("playhead.order._DRAWN", 3)
    for n in (60, 200, 1000):
        found = np.stack([Order(n, seed)[np.arange(n)] for seed in range(2000)])
        counts = np.bincount(found[:, 0] * 10 // n, minlength=10)
        assert chi_square(counts, 200) < chi_limit(9)
        neighbours = int((np.abs(np.diff(found, axis=1)) == 1).sum())
        assert abs(neighbours - 2 * 2000) < 5 * math.sqrt(2 * 2000)
