"""Tables of which only some shards are in memory: every row once, few loads, shares of ranks, and how random it is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from playhead.errors import WrongType
from playhead.lanes.rows.held import Shards
from playhead.table import Table
from playhead.train.table_course import ShardOrder
from tests.train.tables import add, numbers

SHARD = 250  # rows


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("t") / "shards"
    add(path, [97, 203, 500, 100, 300, 450, 50, 220], shard_bytes=SHARD * 32)
    return path


def seen(table: Table, size: int = 30, **options: object) -> list[int]:
    return [number for batch in table.loader(size, device="numpy", **options) for number in numbers(batch)]  # type: ignore[arg-type]


def test_every_row_comes_once_and_every_shard_is_loaded_once(path: Path) -> None:
    table = Table.open(path, cached=2)
    rows = table._rows
    assert isinstance(rows, Shards)
    assert len(rows.bounds) > 5
    found = seen(table, seed=1)
    assert sorted(found) == list(range(1920))
    assert found != seen(table, seed=2)
    fresh = Table.open(path, cached=2)
    assert seen(fresh, seed=1) == found
    assert fresh._rows.loads == len(rows.bounds)  # type: ignore[attr-defined]


def test_within_a_window_the_order_is_random(path: Path) -> None:
    """Rows of two shards are mixed; shards that follow one another do not stay together."""
    table = Table.open(path, cached=2)
    bounds = np.array(table._rows.bounds)  # type: ignore[attr-defined]
    shard = np.searchsorted(bounds[:, 1], seen(table, seed=3), "right")
    window = shard[: np.flatnonzero(~np.isin(shard, shard[:40]))[0]]
    assert len(set(window.tolist())) == 2
    assert (np.diff(window) != 0).sum() > len(window) / 4
    firsts = {
        tuple(dict.fromkeys(np.searchsorted(bounds[:, 1], seen(table, seed=s), "right").tolist())) for s in range(6)
    }
    assert len(firsts) == 6


@pytest.mark.parametrize("world", [2, 3, 4])
def test_ranks_have_shards_of_their_own(path: Path, world: int) -> None:
    tables = [Table.open(path, cached=2) for _ in range(world)]
    parts = [seen(table, 10, seed=5, rank=rank, world=world) for rank, table in enumerate(tables)]
    assert sorted(number for part in parts for number in part) == list(range(1920))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    count = len(tables[0]._rows.bounds)  # type: ignore[attr-defined]
    assert sum(table._rows.loads for table in tables) <= count + world - 1  # type: ignore[attr-defined]
    steps = {
        len(list(t.loader(10, seed=5, rank=r, world=world, drop_last=True, device="numpy")))
        for r, t in enumerate(tables)
    }
    assert steps == {1920 // world // 10}


def test_it_goes_on_where_it_was(path: Path) -> None:
    table = Table.open(path, cached=2)
    view = table.filter(rows=lambda rows: rows["move"] > 0)
    whole = seen(view, 20, seed=7)
    assert sorted(whole) == [number for number in range(1920) if number % 4]
    loader = view.loader(20, seed=7, device="numpy")
    for taken, _ in enumerate(loader, 1):
        if taken == 31:
            break
    state = loader.state_dict()
    again = view.loader(20, device="numpy")
    again.load_state_dict(state)
    assert [number for batch in again for number in numbers(batch)] == whole[31 * 20 :]
    with pytest.raises(WrongType, match="dealt to 1 ranks"):
        view.loader(10, rank=0, world=2).load_state_dict(state)
    with pytest.raises(WrongType, match="same cached="):
        Table.open(path).filter(rows=lambda rows: rows["move"] > 0).loader(20).load_state_dict(state)
    other = Table.open(path, cached=3).filter(rows=lambda rows: rows["move"] > 0).loader(20, device="numpy")
    other.load_state_dict(state)  # more memory: the windows stay those of the epoch
    assert [number for batch in other for number in numbers(batch)] == whole[31 * 20 :]


@pytest.mark.parametrize("cached", [2, None])
def test_a_state_of_another_table_in_small_shards_is_refused(path: Path, tmp_path: Path, cached: int | None) -> None:
    """Was a bug: shards that are smaller than a block had no part in what tells tables apart."""
    state = Table.open(path, cached=cached).loader(30).state_dict()
    Table.open(path, cached=3 if cached else None).loader(30).load_state_dict(state)
    add(tmp_path / "other", [97, 203, 500, 100, 300, 450, 50, 220], shard_bytes=SHARD * 32, seed=1)
    with pytest.raises(WrongType, match="another table"):
        Table.open(tmp_path / "other", cached=cached).loader(30).load_state_dict(state)


@pytest.mark.parametrize("more", [[10], [93], [100, 700]], ids=str)
@pytest.mark.parametrize("lengths", [[97, 310], [200], [250, 250]], ids=str)
def test_a_table_in_small_shards_that_grew_is_still_known(tmp_path: Path, lengths: list[int], more: list[int]) -> None:
    add(tmp_path / "t", lengths, shard_bytes=SHARD * 32)
    state = Table.open(tmp_path / "t").loader(30).state_dict()
    add(tmp_path / "t", more, first=sum(lengths))
    Table.open(tmp_path / "t").loader(30).load_state_dict(state)
    add(tmp_path / "u", lengths, shard_bytes=SHARD * 32, seed=1)
    add(tmp_path / "u", more, first=sum(lengths))
    with pytest.raises(WrongType, match="another table"):
        Table.open(tmp_path / "u").loader(30).load_state_dict(state)


def test_where_all_shards_fit_the_order_is_that_of_one_table(path: Path) -> None:
    assert seen(Table.open(path, mmap=True), seed=2) == seen(Table.open(path), seed=2)
    resident = Table.open(path, cached=2).loader(30, seed=2, shuffle=False, device="cpu", resident=True)
    assert [number for batch in resident for number in numbers(batch)] == list(range(1920))


def test_many_shapes_of_shards_are_covered() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        edges = np.concatenate([[0], np.cumsum(rng.integers(1, 30, rng.integers(1, 12)))])
        world, window = int(rng.integers(1, 6)), int(rng.integers(1, 5))
        orders = [ShardOrder(edges, window, rank, world, 1, 2) for rank in range(world)]
        found = [order[np.arange(order.n)] for order in orders]
        assert sorted(np.concatenate(found).tolist()) == list(range(edges[-1]))
