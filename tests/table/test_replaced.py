"""A table that is replaced while somebody opens it, adds to it, or still reads it: never a mixture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from playhead.errors import BadQuery, Closed, NotFound, WrongType
from playhead.layout import TableFolder
from playhead.table import Table, building, opening
from playhead.table.writing import TableWriter
from playhead.train.table_columns import Columns
from playhead.train.tables import TableBatchSampler

ROW = np.dtype([("a", "<i4"), ("b", "<i4"), ("run_id", "<u4")])


def columns(first: int, count: int = 100, *, turned: bool = False) -> dict[str, Any]:
    a = np.arange(first, first + count, dtype=np.int32)
    found = {"a": a, "b": a * 100, "run_id": np.arange(count) // 10}
    return dict(sorted(found.items(), reverse=True)) if turned else found


@pytest.mark.parametrize("step", ["look_at", "hold"])
@pytest.mark.parametrize("mmap", [False, True])
def test_opening_gives_the_old_or_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, mmap: bool
) -> None:
    Table.build(columns(0), tmp_path / "t")
    real = getattr(opening, step)

    def racing(*given: Any, **options: Any) -> Any:
        monkeypatch.setattr(opening, step, real)
        found = real(*given, **options) if step == "look_at" else None
        Table.build(columns(1000, 150), tmp_path / "t", overwrite=True)
        return found or real(*given, **options)

    monkeypatch.setattr(opening, step, racing)
    table = Table.open(tmp_path / "t", mmap=mmap)
    assert len(table) == sum(run["num_steps"] for run in table.runs) == 150
    assert table[0]["a"] == 1000


def test_shards_that_are_not_loaded_yet_are_never_those_of_another(tmp_path: Path) -> None:
    Table.build(columns(0), tmp_path / "t", shard_bytes=400)
    table = Table.open(tmp_path / "t", cached=1)
    assert table[0]["a"] == 0
    Table.build(columns(1000), tmp_path / "t", shard_bytes=400, overwrite=True)
    with pytest.raises(Closed, match="another table"):
        table.get_batch([99])


def test_runs_are_never_those_of_a_table_that_came_later(tmp_path: Path) -> None:
    table = Table.build(columns(0), tmp_path / "t")
    for number in range(1, 6):  # file systems give the inode of a folder that is gone to the next one
        Table.build(columns(1000 * number, 150), tmp_path / "t", overwrite=True)
        with pytest.raises(Closed, match="another table"):
            len(table.runs)
        with pytest.raises(Closed, match="another table"):
            table.filter("num_steps > 5")


def test_rows_are_never_added_to_another_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Table.build(columns(0), tmp_path / "t")

    def racing(*given: Any, **options: Any) -> TableWriter:
        monkeypatch.setattr(building, "TableWriter", TableWriter)
        Table.build(columns(0, turned=True), tmp_path / "t", overwrite=True)
        return TableWriter(*given, **options)

    monkeypatch.setattr(building, "TableWriter", racing)
    with pytest.raises(Closed, match="another table"):
        building.append(tmp_path / "t", columns(500, 10))
    assert len(Table.open(tmp_path / "t")) == 100


def test_many_shards_may_be_asked_to_stay(tmp_path: Path) -> None:
    Table.build(columns(0), tmp_path / "t", shard_bytes=400)
    assert len(Table.open(tmp_path / "t", cached=1_000_000)[:]) == 100


def test_runs_have_no_number_before_they_are_there(tmp_path: Path) -> None:
    with pytest.raises((BadQuery, NotFound), match="no field 'id'"):
        Table.build(columns(0), tmp_path / "t", where="id < 2")


def test_a_commit_that_failed_never_succeeds(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    writer = TableWriter(TableFolder(tmp_path / "t"), ROW, {"x": "INTEGER NOT NULL"})
    writer.add(np.zeros(3, ROW), [{"num_steps": 3, "x": None}])
    with pytest.raises(WrongType):
        writer.commit()
    with pytest.raises(Closed, match="nothing was committed"):
        writer.commit()
    with pytest.raises(Closed, match="nothing was committed"):
        writer.add(np.zeros(3, ROW), [{"num_steps": 3, "x": 1}])


def test_a_batch_may_be_empty() -> None:
    dtype = np.dtype([("a", "<f4", (3,)), ("b", "<i4")])
    packed = Columns(dtype, None, True).pack(np.empty(0, dtype))
    assert packed["a"].shape == (0, 3)


def test_a_state_counts_the_rows_of_its_own_epoch(tmp_path: Path) -> None:
    """Was a bug: workers that had read ahead into the next epoch forgot that the table had been shorter."""
    table = Table.build(columns(0), tmp_path / "t")
    sampler = TableBatchSampler(table, 10, rank=0, world=1)
    batches = iter(sampler)
    seen = [int(row) for _ in range(5) for row in next(batches)]
    state = sampler.state_dict()
    grown = table.append(columns(100, 50))
    again = TableBatchSampler(grown, 10, rank=0, world=1)
    again.load_state_dict(state)
    ahead = [batch.tolist() for batch in again]
    state = again.state_at(0, 7)
    assert (state["rows"], state["items"]) == (100, 70)
    last = TableBatchSampler(grown, 10, rank=0, world=1)
    last.load_state_dict(state)
    rest = [row for batch in last for row in batch.tolist()]
    assert sorted([*seen, *ahead[0], *ahead[1], *rest]) == list(range(100))
