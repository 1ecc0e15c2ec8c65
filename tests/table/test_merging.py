"""One table of several."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest

from playhead.errors import Damaged, Empty, Exists, WrongType
from playhead.table import Table
from playhead.table.building import build
from playhead.table.merging import merge
from playhead.table.sources import tables as table_source


def made(path: Path, lengths: tuple[int, ...], first: int = 0) -> Table:
    count = sum(lengths)
    return build({"x": np.arange(count) + first, "run_id": np.repeat(np.arange(len(lengths)), lengths)}, path)


def test_runs_lie_one_behind_the_other_with_new_ids(tmp_path: Path) -> None:
    one, two = made(tmp_path / "one", (3, 4)), made(tmp_path / "two", (5, 1), 100)
    table = merge([one, tmp_path / "two"], tmp_path / "both")
    assert np.array_equal(table["x"], np.concatenate([one["x"], two["x"]]))
    assert table["run_id"].tolist() == [0] * 3 + [1] * 4 + [2] * 5 + [3]
    assert [(run["run_id"], run["first_step_idx"]) for run in table.runs] == [("0", 0), ("1", 3), ("0", 7), ("1", 12)]
    assert table.built == {"source": [str(tmp_path / "one"), str(tmp_path / "two")]}
    assert table.verify() == []
    with pytest.raises(Exists):
        merge([one], tmp_path / "both")
    with pytest.raises(Empty):
        merge([], tmp_path / "none")


def test_views_are_written_as_they_show(tmp_path: Path) -> None:
    whole = made(tmp_path / "one", (3, 4, 5))
    some = whole.filter(rows=lambda rows: rows["x"] % 2 == 0).filter(runs=[0, 2])
    table = merge([some, whole.filter("num_steps = 4")], tmp_path / "some")
    assert table["x"].tolist() == [0, 2, 8, 10, 3, 4, 5, 6]
    assert [run["num_steps"] for run in table.runs] == [2, 2, 4]
    assert [run["run_id"] for run in table.runs] == ["0", "2", "1"]


def test_runs_longer_than_what_is_read_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = made(tmp_path / "one", (1, 50, 2, 2, 17, 16))
    monkeypatch.setattr(table_source, "BLOCK_BYTES", 8 * whole.dtype.itemsize)
    table = merge([whole, whole], tmp_path / "two")
    assert np.array_equal(table["x"], np.tile(whole["x"], 2))
    assert [run["num_steps"] for run in table.runs] == [1, 50, 2, 2, 17, 16] * 2
    assert np.array_equal(table["run_id"], np.repeat(np.arange(12), [1, 50, 2, 2, 17, 16] * 2))


def test_others_are_refused_with_what_differs(tmp_path: Path) -> None:
    one = made(tmp_path / "one", (3,))
    other = build({"x": np.zeros(2)}, tmp_path / "other")
    with pytest.raises(WrongType, match="x is float64, not int64"):
        merge([one, other], tmp_path / "both")
    assert not (tmp_path / "both").exists()


def foreign(path: Path, dtype: list[tuple[str, str]]) -> None:
    """Make a table as another program does."""
    path.mkdir()
    rows = np.zeros(5, dtype)
    rows["step_index"] = [0, 1, 2, 0, 1]
    np.save(path / "steps-00000.npy", rows[:3])
    np.save(path / "steps-00001.npy", rows[3:])
    with sqlite3.connect(path / "metadata.db") as connection:
        connection.execute("CREATE TABLE runs (id INTEGER PRIMARY KEY, seed INTEGER, steps INTEGER, max_score INTEGER)")
        connection.executemany("INSERT INTO runs VALUES (?, ?, ?, ?)", [(0, 7, 3, 100), (1, 8, 2, 200)])
    connection.close()


def test_tables_of_other_programs_and_widths(tmp_path: Path) -> None:
    foreign(tmp_path / "narrow", [("run_id", "<u4"), ("step_index", "<u2"), ("board", "<u8")])
    foreign(tmp_path / "wide", [("run_id", "<u4"), ("step_index", "<u4"), ("board", "<u8")])
    with pytest.raises(WrongType, match="widen=True"):
        merge([tmp_path / "narrow", tmp_path / "wide"], tmp_path / "both")
    table = merge([tmp_path / "narrow", tmp_path / "wide"], tmp_path / "both", widen=True)
    assert table.dtype["step_index"] == np.uint32
    assert table["run_id"].tolist() == [0, 0, 0, 1, 1, 2, 2, 2, 3, 3]
    assert [run["seed"] for run in table.runs] == [7, 8, 7, 8]
    assert len(table.filter("max_score >= 200")) == 4
    with pytest.raises(WrongType, match="merge it"):
        Table.open(tmp_path / "wide").append({"board": np.zeros(2, np.uint64)})


def test_damage_is_not_copied(tmp_path: Path) -> None:
    made(tmp_path / "one", (400_000,))
    path = tmp_path / "one/steps.npy"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(Damaged):
        merge([tmp_path / "one"], tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
