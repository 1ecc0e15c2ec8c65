"""Runs parted by chance."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from playhead.catalog.tables import EPISODE
from playhead.errors import WrongType
from playhead.layout import TableFolder
from playhead.table import Table, splitting
from playhead.table.writing import TableWriter

DTYPE = np.dtype([("x", "<f4"), ("run_id", "<u4"), ("step_index", "<u4")])


def grow(path: Path, lengths: list[int]) -> Table:
    path.mkdir(exist_ok=True)
    with TableWriter(TableFolder(path), DTYPE, EPISODE) as writer:
        runs = [{"num_steps": n, "run_id": None, "episode_id": None, "return": None} for n in lengths]
        writer.add(np.zeros(sum(lengths), DTYPE), runs)
    return Table.open(path)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    lengths = np.random.default_rng(0).integers(1, 20, 20_000).tolist()
    return grow(tmp_path_factory.mktemp("split") / "table", lengths)


def ids(view: Table) -> set[int]:
    return set(np.unique(view["run_id"]).tolist())


def test_parts_are_disjoint_and_all(table: Table) -> None:
    parts = table.split(train=0.8, test=0.15, check=0.05)
    found = [ids(part) for part in parts]
    assert sum(map(len, found)) == len(set.union(*found)) == 20_000
    assert sum(map(len, parts)) == len(table)
    for part, share in zip(found, (0.8, 0.15, 0.05), strict=True):
        deviation = np.sqrt(20_000 * share * (1 - share))
        assert abs(len(part) - 20_000 * share) < 4.5 * deviation
    assert "train of seed 0" in repr(parts[0])
    assert len(parts[1].runs) == len(found[1])


def test_what_is_left_is_a_part(table: Table) -> None:
    train, rest = table.split(train=0.9)
    assert len(train) + len(rest) == len(table)
    assert ids(rest).isdisjoint(ids(train))
    (everything,) = table.split(all=1)
    assert len(everything) == len(table)
    assert len(table.split(**{f"part{number}": 0.1 for number in range(10)})) == 10  # 0.1 ten times is not quite 1


def test_runs_stay_in_their_part_when_the_table_grows(tmp_path: Path) -> None:
    before = grow(tmp_path / "table", [3] * 500).split(train=0.7, test=0.3, seed=5)
    after = grow(tmp_path / "table", [2] * 700).split(train=0.7, test=0.3, seed=5)
    for old, new in zip(before, after, strict=True):
        assert {number for number in ids(new) if number < 500} == ids(old)


def test_a_view_is_parted_as_its_table(table: Table) -> None:
    train, _ = table.split(train=0.5, seed=1)
    view = table.filter("num_steps > 10").split(train=0.5, seed=1)[0]
    assert ids(view) == ids(train.filter("num_steps > 10"))
    inner, _ = train.split(again=0.5, seed=2)  # by another seed, independent
    assert abs(len(ids(inner)) / len(ids(train)) - 0.5) < 0.03


def test_seeds_are_independent() -> None:
    numbers = np.arange(100_000)
    drawn = [splitting.hashes(numbers, seed) / (1 << 53) for seed in (0, 1, 2, 2**63, -1)]
    for one in drawn:
        counts = np.histogram(one, 100, (0, 1))[0]
        assert ((counts - 1000) ** 2 / 1000).sum() < 160  # chi-square, 99 degrees of freedom
        assert abs(np.corrcoef(one[1:], one[:-1])[0, 1]) < 0.015
    for place, one in enumerate(drawn):
        for other in drawn[place + 1 :]:
            assert abs(np.corrcoef(one, other)[0, 1]) < 0.015


def test_the_parts_never_change() -> None:
    assert splitting.hashes(np.arange(3), 0).tolist() == [1724608024292190, 7683751235302677, 4858208428434287]


@pytest.mark.parametrize(
    "shares", [{}, {"a": 0.9, "b": 0.2}, {"a": 0.0}, {"a": -0.1}, {"a": 1.5}, {"a": True}, {"a": "half"}]
)
def test_shares_that_are_none(table: Table, shares: dict[str, float]) -> None:
    with pytest.raises(WrongType):
        table.split(**shares)
