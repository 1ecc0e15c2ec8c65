"""Rows in `.npy` files: written, added to, loaded, at every size that is a border."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.catalog.tables import GAME
from playhead.errors import Closed, Damaged, Exists, Forked, NotFound, StoreLocked, WrongShape, WrongType
from playhead.lanes.rows import npy
from playhead.lanes.rows.held import OneArray, Shards
from playhead.lanes.rows.spans import Spans, of_mask
from playhead.layout import TableFolder
from playhead.table import Table
from playhead.table.verifying import verify
from playhead.table.writing import TableWriter
from tests.lanes.rows.made import GAMES, ODD, add, make, rows_of, runs_of, small_blocks

BLOCK = 256  # bytes: 8 rows of a game


# -- sizes --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [GAMES, ODD], ids=["games", "odd"])
@pytest.mark.parametrize("shard_rows", [None, 1, 8, 13])
@pytest.mark.parametrize("before", [[], [0], [1], [8], [9], [7, 0, 1], [16], [30, 3]])
@pytest.mark.parametrize("more", [[1], [7], [8, 0, 9]])
def test_what_is_written_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dtype: Any, shard_rows: int | None, before: Any, more: Any
) -> None:
    small_blocks(monkeypatch, BLOCK)
    shard = None if shard_rows is None else shard_rows * dtype.itemsize
    first = make(tmp_path / "t", before, dtype, shard_bytes=shard)
    assert Table.open(tmp_path / "t")[:].tobytes() == first.tobytes()
    both = np.concatenate([first, add(tmp_path / "t", more, dtype)])
    for table in (
        Table.open(tmp_path / "t"),
        Table.open(tmp_path / "t", mmap=True),
        Table.open(tmp_path / "t", cached=1),
    ):
        assert table[:].tobytes() == both.tobytes()
        assert [run["num_steps"] for run in table.runs] == before + more
        assert [run["first_step_idx"] for run in table.runs] == np.cumsum([0, *before, *more])[:-1].tolist()
    files = sorted((tmp_path / "t").rglob("*.npy"))
    assert np.concatenate([np.load(file) for file in files]).tobytes() == both.tobytes()
    assert all(len(np.load(file)) <= shard_rows for file in files if shard_rows)
    assert verify(tmp_path / "t") == []


def test_in_pieces_or_at_once_the_files_are_the_same(tmp_path: Path) -> None:
    counts = [3, 50, 0, 200, 1]
    make(tmp_path / "whole", counts)
    (tmp_path / "pieces").mkdir()
    rows = rows_of(counts)
    with TableWriter(TableFolder(tmp_path / "pieces"), GAMES, GAME, built={"from": "a test"}) as writer:
        at = 0
        for count, run in zip(counts, runs_of(counts), strict=True):
            writer.add(rows[at : at + count].copy(), [run])
            at += count
    assert (tmp_path / "pieces/steps.npy").read_bytes() == (tmp_path / "whole/steps.npy").read_bytes()
    whole, pieces = (json.loads((tmp_path / name / "manifest.json").read_text()) for name in ("whole", "pieces"))
    for own in ("created", "owner"):
        assert whole.pop(own) != pieces.pop(own)
    assert whole == pieces


def test_an_append_writes_only_what_is_new(tmp_path: Path) -> None:
    make(tmp_path / "t", [1000])
    before = (tmp_path / "t" / "steps.npy").read_bytes()
    node = (tmp_path / "t" / "steps.npy").stat().st_ino
    add(tmp_path / "t", [10])
    after = (tmp_path / "t" / "steps.npy").read_bytes()
    assert (tmp_path / "t" / "steps.npy").stat().st_ino == node
    assert after[npy.ALIGNED : len(before)] == before[npy.ALIGNED :]
    assert len(after) == len(before) + 10 * GAMES.itemsize


# -- what cannot be rows ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype",
    [
        np.dtype("<f4"),
        np.dtype([("a", "O")]),
        np.dtype([("a", ">u4")]),
        np.dtype([("a", "u1"), ("b", ">f8", (2,))]),
        np.dtype([("a", "u1"), ("b", "<u4")], align=True),
        np.dtype({"names": ["a", "b"], "formats": ["u1", "u1"], "offsets": [1, 0]}),
        np.dtype({"names": ["a"], "formats": ["u1"], "offsets": [0], "itemsize": 4}),
        np.dtype([("a", [("b", "u1")])]),
        np.dtype([("a", "S4")]),
        np.dtype([("a", "U4")]),
        np.dtype([("a", "V4")]),
        np.dtype([("a", "M8[ns]")]),
        np.dtype([("a", "u1", (0,))]),
        np.dtype([]),
        np.dtype([("größe", "u1")]),
    ],
    ids=str,
)
def test_types_that_rows_cannot_have_are_refused(tmp_path: Path, dtype: np.dtype[Any]) -> None:
    (tmp_path / "t").mkdir()
    with pytest.raises(WrongType):
        TableWriter(TableFolder(tmp_path / "t"), dtype)
    assert os.listdir(tmp_path / "t") == []


@pytest.mark.parametrize("name", ["a", "'shape': (", "quote\"'", "with space", "return"])
def test_any_name_of_a_column_survives_an_append(tmp_path: Path, name: str) -> None:
    dtype = np.dtype([(name, "<i4"), ("wide", "<f2", (2, 2)), ("empty", "u1", (0,))])
    (tmp_path / "t").mkdir()
    for value in (1, 2):
        with TableWriter(TableFolder(tmp_path / "t"), dtype) as writer:
            writer.add(np.full(3, value, dtype), [{"num_steps": 3}])
    assert np.load(tmp_path / "t" / "steps.npy")[name].tolist() == [1, 1, 1, 2, 2, 2]
    assert Table.open(tmp_path / "t")[name].tolist() == [1, 1, 1, 2, 2, 2]


def test_many_columns_make_a_larger_header(tmp_path: Path) -> None:
    dtype = np.dtype([(f"column_{number}", "<f4") for number in range(4000)])
    (tmp_path / "t").mkdir()
    with TableWriter(TableFolder(tmp_path / "t"), dtype) as writer:
        writer.add(np.ones(2, dtype), [{"num_steps": 2}])
    table = Table.open(tmp_path / "t")
    assert len(table.columns) == 4000
    assert np.load(tmp_path / "t" / "steps.npy", max_header_size=1 << 20).tobytes() == table[:].tobytes()


@pytest.mark.parametrize(
    "head",
    [
        b"", b"\x93NUM", b"\x93NUMPY\x01\x00", b"\x93NUMPY\x03\x00\x10\x00\x00\x00", b"\x93NUMPY\x09\x00",
        b"\x93NUMPY\x01\x00\x05\x00{'a'\n", b"\x93NUMPY\x01\x00\x04\x00(((\n", b"\x93NUMPY\x01\x00\x03\x00''\n",
        b"\x93NUMPY\x01\x00\x30\x00" + b"(" * 47 + b"\n", b"PK\x03\x04",
    ],
)  # fmt: skip
def test_a_header_that_is_none_is_damage(tmp_path: Path, head: bytes) -> None:
    (tmp_path / "x.npy").write_bytes(head)
    with pytest.raises(Damaged, match=r"header of a \.npy file"):
        npy.read(tmp_path / "x.npy")


@pytest.mark.parametrize("shape", ["(-5,)", "(2, 2)", "()"])
def test_a_shape_that_no_rows_have_is_refused(tmp_path: Path, shape: str) -> None:
    said = f"{{'descr': [('a', '<u4')], 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117) + b"\n"
    (tmp_path / "x.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(said).to_bytes(2, "little") + said + b"0" * 64)
    with pytest.raises(WrongType, match="one dimension"):
        npy.read(tmp_path / "x.npy")


def test_a_header_with_any_bit_turned_is_read_or_refused(tmp_path: Path) -> None:
    head = npy.header(GAMES, 5)
    text = head.rstrip()
    rng = np.random.default_rng(3)
    with warnings.catch_warnings(record=True) as told:
        for _ in range(600):
            broken = bytearray(head)
            broken[rng.integers(len(text))] ^= 1 << rng.integers(8)
            (tmp_path / "x.npy").write_bytes(broken)
            try:
                npy.read(tmp_path / "x.npy")
            except (Damaged, WrongType) as error:
                assert "x.npy" in str(error)
    assert told == []


# -- adding -------------------------------------------------------------------------------------------------------------


def test_rows_of_another_type_are_not_taken_by_position(tmp_path: Path) -> None:
    make(tmp_path / "t", [4])
    other = GAMES.descr
    other[1], other[2] = other[2], other[1]
    with TableWriter(TableFolder(tmp_path / "t")) as writer:
        for rows in (np.zeros(2, other), np.zeros(2), np.zeros((1, 2), GAMES)):
            with pytest.raises(WrongType):
                writer.add(rows, runs_of([2]))
        for counts in ([1], [3], [3, -1]):
            with pytest.raises(WrongShape):
                writer.add(np.zeros(2, GAMES), runs_of(counts))
        with pytest.raises(NotFound, match="max_score"):
            writer.add(np.zeros(2, GAMES), [{"num_steps": 2, "maxscore": 1}])
    assert len(Table.open(tmp_path / "t")) == 4
    with pytest.raises(WrongType, match="has rows of"):
        TableWriter(TableFolder(tmp_path / "t"), np.dtype(other))


@pytest.mark.parametrize("wrong", [{"max_score": None}, {"max_score": 1 << 64}, {"engine": object()}])
def test_a_run_that_does_not_fit_its_columns_adds_nothing(tmp_path: Path, wrong: dict[str, Any]) -> None:
    make(tmp_path / "t", [4])
    with pytest.raises(WrongType, match="do not hold"), TableWriter(TableFolder(tmp_path / "t")) as writer:
        writer.add(np.zeros(2, GAMES), [{**runs_of([2])[0], **wrong}])
    assert len(Table.open(tmp_path / "t")) == 4
    add(tmp_path / "t", [3])
    assert verify(tmp_path / "t") == []


def test_a_run_gets_its_id_and_place_here(tmp_path: Path) -> None:
    make(tmp_path / "t", [4])
    with TableWriter(TableFolder(tmp_path / "t")) as writer:
        writer.add(rows_of([2], first_run=1), [{**runs_of([2])[0], "id": 77, "first_step_idx": 1}])
    assert [(run["id"], run["first_step_idx"]) for run in Table.open(tmp_path / "t").runs] == [(0, 0), (1, 4)]


def test_run_ids_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    dtype = np.dtype([("run_id", "u1")])
    (tmp_path / "t").mkdir()
    with TableWriter(TableFolder(tmp_path / "t"), dtype) as writer:
        writer.add(np.zeros(256, dtype), [{"num_steps": 1}] * 256)
        with pytest.raises(WrongType, match="run 256"):
            writer.add(np.zeros(1, dtype), [{"num_steps": 1}])
    assert Table.open(tmp_path / "t")["run_id"].tolist() == list(range(256))


def test_one_adds_at_a_time_and_only_in_its_own_process(tmp_path: Path) -> None:
    make(tmp_path / "t", [4])
    with TableWriter(TableFolder(tmp_path / "t")) as writer:
        with pytest.raises(StoreLocked, match="is adding"):
            TableWriter(TableFolder(tmp_path / "t"))
        pid = os.fork()
        if pid == 0:
            refused = 0
            for do in (lambda: writer.add(np.zeros(1, GAMES), runs_of([1])), writer.commit):
                try:
                    do()
                except Forked:
                    refused += 1
            writer.abandon()
            os._exit(refused)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 2
        writer.add(rows_of([2], first_run=1), runs_of([2], 1))
    with pytest.raises(Closed):
        writer.add(np.zeros(1, GAMES), runs_of([1]))
    assert writer.commit().rows == 6
    assert verify(tmp_path / "t") == []


def test_what_raised_is_not_there(tmp_path: Path) -> None:
    rows = make(tmp_path / "t", [4])
    with pytest.raises(ZeroDivisionError), TableWriter(TableFolder(tmp_path / "t")) as writer:
        writer.add(np.zeros(100, GAMES), runs_of([100]))
        raise ZeroDivisionError
    assert Table.open(tmp_path / "t")[:].tobytes() == rows.tobytes()
    assert [finding.is_harmless for finding in verify(tmp_path / "t")] == [True]
    add(tmp_path / "t", [1])
    assert verify(tmp_path / "t") == []


def test_shards_stay_shards_when_rows_are_added(tmp_path: Path) -> None:
    make(tmp_path / "t", [10], shard_bytes=8 * 32)
    add(tmp_path / "t", [20])
    assert [len(np.load(file)) for file in sorted((tmp_path / "t" / "shards").iterdir())] == [8, 8, 8, 6]
    with pytest.raises(WrongType, match="shard_bytes=256"):
        TableWriter(TableFolder(tmp_path / "t"), shard_bytes=64)


def test_a_database_that_is_lost_never_costs_the_rows(tmp_path: Path) -> None:
    """Was a bug: a writer took the folder for an empty one, and began anew over the rows."""
    make(tmp_path / "t", [10])
    (tmp_path / "t" / "metadata.db").unlink()
    held = (tmp_path / "t" / "steps.npy").read_bytes()
    with pytest.raises(Exists, match="does not know"):
        TableWriter(TableFolder(tmp_path / "t"), GAMES, GAME)
    with pytest.raises(NotFound, match="no table"):
        TableWriter(TableFolder(tmp_path / "t"))
    assert (tmp_path / "t" / "steps.npy").read_bytes() == held


def test_an_older_database_never_costs_the_newer_rows(tmp_path: Path) -> None:
    """Was a bug: rows behind those that an older database knows were cut off as leftovers of a crash."""
    make(tmp_path / "t", [10])
    older = (tmp_path / "t" / "metadata.db").read_bytes()
    add(tmp_path / "t", [10])
    held = (tmp_path / "t" / "steps.npy").read_bytes()
    (tmp_path / "t" / "metadata.db").write_bytes(older)
    for file in (tmp_path / "t").glob("metadata.db-*"):
        file.unlink()
    with pytest.raises(Damaged, match=r"metadata\.db is older"), TableWriter(TableFolder(tmp_path / "t")) as writer:
        writer.add(rows_of([1]), runs_of([1]))
    assert (tmp_path / "t" / "steps.npy").read_bytes() == held


# -- ranges -------------------------------------------------------------------------------------------------------------

masks = st.lists(st.booleans(), max_size=60).map(lambda values: np.array(values, bool))


@given(masks, masks, st.data())
def test_ranges_are_as_masks(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any], data: st.DataObject) -> None:
    size = max(len(one), len(other))
    one, other = np.pad(one, (0, size - len(one))), np.pad(other, (0, size - len(other)))
    spans = of_mask(one)
    assert len(spans) == one.sum()
    assert spans.rows(np.arange(len(spans))).tolist() == np.flatnonzero(one).tolist()
    assert spans.common(of_mask(other)) == of_mask(one & other)
    start = data.draw(st.integers(0, size))
    stop = data.draw(st.integers(start, size))
    inside = np.zeros(size, bool)
    inside[start:stop] = True
    assert spans.within(start, stop) == of_mask(one & inside)
    assert hash(spans) == hash(of_mask(one))
    assert (spans.starts[1:] > spans.stops[:-1]).all()


def test_ranges_that_touch_are_one() -> None:
    spans = Spans(np.array([0, 5, 5, 7]), np.array([5, 5, 7, 9]))
    assert (spans.count, len(spans)) == (1, 9)
    assert spans != 3


# -- shards -------------------------------------------------------------------------------------------------------------


def test_the_shard_that_was_not_used_longest_makes_room() -> None:
    rows = rows_of([40])
    loaded: list[int] = []

    def load(number: int) -> OneArray:
        loaded.append(number)
        return OneArray(rows[number * 10 : number * 10 + 10])

    shards = Shards([10, 10, 10, 10], GAMES, load, 2)
    for places in ([0, 12], [3], [25], [5], [14]):
        assert shards.take(np.array(places), None).tobytes() == rows[places].tobytes()
    assert loaded == [0, 1, 2, 1]
    assert shards.loads == 4
    loaded.clear()
    every = np.random.default_rng(0).permutation(40).reshape(4, 10)
    assert shards.take(every, None).tobytes() == rows[every].tobytes()
    assert len(loaded) == 2  # those that are in memory come first
    assert shards.bounds == [(0, 10), (10, 20), (20, 30), (30, 40)]
    assert shards.between(8, 32).tobytes() == rows[8:32].tobytes()
