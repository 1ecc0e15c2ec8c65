"""Rows by priority are drawn as often as they should be; windows never leave their run; n-step returns are right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from playhead.errors import OutOfRange, WrongShape, WrongType
from playhead.table import Table
from playhead.train import PrioritizedSampler, SequenceSampler, n_step
from tests.test_order import chi_limit, chi_square
from tests.train.tables import table


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
def test_rows_are_drawn_by_their_priority(alpha: float) -> None:
    rng = np.random.default_rng(1)
    priorities = rng.random(300) * 10
    priorities[::7] = 0
    sampler = PrioritizedSampler(300, alpha=alpha, beta=1.0, seed=2)
    sampler.update(np.arange(300), priorities)
    counts = np.zeros(300)
    for _ in range(4000):
        counts += np.bincount(sampler.sample(10)[0], minlength=300)
    expected = priorities**alpha / (priorities**alpha).sum() * 40_000
    assert (counts[expected == 0] == 0).all()
    drawn = expected > 0
    assert chi_square(counts[drawn], expected[drawn]) < chi_limit(int(drawn.sum()) - 1)
    numbers, weights = sampler.sample(64)
    right = 1 / expected[numbers]
    assert np.allclose(weights, right / right.max(), rtol=1e-5)
    assert (sampler.sample(64, beta=0.0)[1] == 1).all()


@pytest.mark.parametrize("n", [1, 15, 16, 17, 255, 257, 5000])
def test_the_sums_stay_right_whatever_is_updated(n: int) -> None:
    rng = np.random.default_rng(0)
    sampler = PrioritizedSampler(n, alpha=1.0)
    known = np.ones(n)
    for _ in range(200):
        numbers = rng.integers(0, n, 20)
        values = rng.random(20) * 10.0 ** rng.integers(-12, 12, 20)
        sampler.update(numbers, values)
        for number, value in zip(numbers, values, strict=True):
            known[number] = value  # the last counts
        drawn, _ = sampler.sample(8)
        assert drawn.min() >= 0
        assert drawn.max() < n
        assert (known[drawn] > 0).all()
    assert np.array_equal(sampler.state_dict()["powers"], known)
    assert np.isclose(sampler._levels[-1].sum(), known.sum(), rtol=1e-12)


def test_only_rows_with_a_priority_are_drawn() -> None:
    sampler = PrioritizedSampler(100_000, alpha=1.0, priority=0.0)
    with pytest.raises(WrongType, match="all priorities are 0"):
        sampler.sample(3)
    sampler.update([77, 99_999], [1e-300, 3e-300])
    assert set(sampler.sample(1000)[0].tolist()) == {77, 99_999}


def test_priorities_that_no_sum_holds_are_refused() -> None:
    sampler = PrioritizedSampler(5000, alpha=2.0)
    with pytest.raises(WrongType, match="too large"):
        sampler.update([0], [1e300])
    assert len(set(sampler.sample(5000)[0].tolist())) > 4000  # nothing was changed
    sampler.update(np.arange(5000), 1e154)
    with pytest.raises(WrongType, match="too large"):
        sampler.sample(5)
    sampler.update(np.arange(5000), 1e-161)  # whose squares are hardly numbers
    assert np.allclose(sampler.sample(10)[1], 1)
    with pytest.raises(WrongType, match="too large"):
        PrioritizedSampler(10, alpha=2.0, priority=1e300)


@pytest.mark.parametrize("numbers", [[1.5], [True, False], ["1"]])
def test_numbers_are_integers(games: Table, numbers: list[object]) -> None:
    with pytest.raises(WrongType, match="integers"):
        PrioritizedSampler(10).update(numbers, 1.0)
    with pytest.raises(WrongType, match="integers"):
        SequenceSampler(games, 2).rows(numbers)


def test_a_column_called_mask_is_not_mistaken_for_padding(tmp_path: Path) -> None:
    data = {"mask": np.arange(30).reshape(10, 3), "x": np.arange(10)}
    windows = SequenceSampler(Table.build(data, tmp_path / "t"), 2)
    for columns in (None, ["mask"]):
        with pytest.raises(WrongType, match="'mask'"):
            windows.get([0], columns)
    assert windows.get([3], ["x"])["x"].tolist() == [[3, 4]]


def test_draws_are_repeated_and_go_on() -> None:
    one, two = PrioritizedSampler(1000, seed=5), PrioritizedSampler(1000, seed=6)
    one.update([1, 2, 3], [9, 8, 7])
    two.load_state_dict(one.state_dict())
    assert one.sample(100)[0].tolist() == two.sample(100)[0].tolist()
    with pytest.raises(WrongShape):
        PrioritizedSampler(10).load_state_dict(one.state_dict())
    for wrong in ([float("nan")], [-1.0], [float("inf")]):
        with pytest.raises(WrongType, match="finite"):
            one.update([1], wrong)
    with pytest.raises(OutOfRange):
        one.update([1000], [1.0])


def test_no_rows_are_no_rows() -> None:
    """Was a bug: a ZeroDivisionError."""
    rows, weights = PrioritizedSampler(np.int64(10)).sample(0)  # type: ignore[arg-type]
    assert (rows.dtype, len(rows), weights.dtype, len(weights)) == (np.int64, 0, np.float32, 0)
    with pytest.raises(WrongType, match="not -1"):
        PrioritizedSampler(10).sample(-1)


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> Table:
    return table(tmp_path_factory.mktemp("t") / "games", [5, 1, 12, 3, 30])


@pytest.mark.parametrize("length", [1, 3, 4, 13])
@pytest.mark.parametrize("stride", [1, 2, 5])
@pytest.mark.parametrize("padded", [False, True])
def test_windows_stay_within_their_run(games: Table, length: int, stride: int, padded: bool) -> None:
    lengths = [5, 1, 12, 3, 30]
    expected = []
    for run, count in enumerate(lengths):
        first = sum(lengths[:run])
        for start in range(0, count, stride):
            if padded or start + length <= count:
                expected.append([min(start + k, count - 1) + first for k in range(length)])
    sampler = SequenceSampler(games, length, stride=stride, padded=padded)
    rows, mask = sampler.rows(np.arange(len(sampler)))
    assert rows.tolist() == expected
    found = sampler.get(np.arange(len(sampler)), ["run_id", "board"])
    assert (found["run_id"] == found["run_id"][:, :1]).all()
    assert ((found["board"] & np.uint64(0xFFFFFFFF)) == rows).all()
    assert mask.all() or padded
    assert (np.diff(rows, axis=1) == mask[:, 1:]).all()
    drawn = np.concatenate(list(sampler.batches(4, seed=1)))
    assert sorted(drawn.tolist()) == list(range(len(sampler)))
    assert np.concatenate([*sampler.batches(4, seed=1, start=2), []]).tolist() == drawn[8:].tolist()


def test_windows_of_a_view_do_not_reach_over_its_gaps(games: Table) -> None:
    view = games.filter(rows=lambda rows: (rows["board"] & np.uint64(0xFF)) != 10)  # a hole in the third game
    sampler = SequenceSampler(view, 3)
    rows, _ = sampler.rows(np.arange(len(sampler)))
    boards = (view.get_batch(rows.reshape(-1))["board"] & np.uint64(0xFF)).reshape(rows.shape).astype(int)
    assert (np.diff(boards, axis=1) == 1).all()
    assert len(sampler) == 3 + (2 + 5) + 1 + 28
    with pytest.raises(OutOfRange):
        sampler.rows([len(sampler)])
    with pytest.raises(WrongType):
        SequenceSampler(games, 0)


def test_n_step_returns() -> None:
    rewards = np.array([[1, 2, 4, 8]] * 5, float)
    ends = np.array([[0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0], [0, 1, 1, 1]], bool)
    mask = np.array([[1, 1, 1, 1], [1, 1, 0, 0], [1, 1, 1, 1], [1, 1, 0, 0], [1, 0, 0, 0]], bool)
    found = n_step(rewards, ends, 0.5, mask=mask)
    assert found.returns.tolist() == [3, 2, 3, 1, 0]
    assert found.discounts.tolist() == [0.125, 0, 0.125, 0.5, 1]
    assert found.last.tolist() == [3, 2, 3, 1, 0]
    assert n_step(rewards, ends, 1.0, n=1).returns.tolist() == [1] * 5
    for wrong in (0, 4):
        with pytest.raises(WrongType):
            n_step(rewards, ends, 1.0, n=wrong)
    with pytest.raises(WrongShape):
        n_step(rewards[0], ends[0], 1.0)


def test_a_path_is_a_table(tmp_path: Path) -> None:
    opened = table(tmp_path / "t", [40])
    assert len(PrioritizedSampler(opened)) == 40
