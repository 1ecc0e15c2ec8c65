"""Numbers, texts and arrays: into one Parquet file and out again."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from playhead.errors import BadKey, Closed, Damaged, Exists, OutOfOrder, StoreLocked, WrongShape, WrongType
from playhead.lanes.vectors import SimpleSignal, SimpleSignalWriter


def written(path: Path, values: list[Any], **options: Any) -> SimpleSignal[Any]:
    with SimpleSignalWriter(path, **options) as writer:
        for number, value in enumerate(values):
            writer.append(value, 10 * number)
    return SimpleSignal(path)


def same(found: Any, expected: Any) -> None:
    expected = np.asarray(expected)
    assert found.dtype == expected.dtype or expected.dtype.kind == "U"
    assert found.shape == expected.shape
    assert found.tobytes() == expected.tobytes() if expected.dtype.kind != "U" else found.tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("values", "arrow"),
    [
        ([1.5, math.nan, -0.0, math.inf], "double"),
        ([3, -(1 << 63), (1 << 63) - 1], "int64"),
        ([True, False, True], "bool"),
        (["a", "", "höh 🚀"], "string"),
        ([np.float32(1), np.float32(2)], "float"),
        ([np.arange(7, dtype=np.float32) + i for i in range(5)], "list<element: float>"),
        ([np.full((2, 3), i, np.int16) for i in range(5)], "list<element: list<element: int16>>"),
        ([np.full((2, 1, 2), i % 2 == 0) for i in range(3)], "list<element: list<element: list<element: bool>>>"),
        ([np.full(4, i, np.float16) for i in range(3)], "list<element: halffloat>"),
        ([np.zeros((0,)) for _ in range(3)], "list<element: double>"),
        ([[1, 2, 3], [4, 5, 6]], "list<element: int64>"),
        ([(1.5, 2.5), (3.5, 4.5)], "list<element: double>"),
        ([pa.array([1.0, 2.0]), pa.array([3.0, 4.0])], "list<element: double>"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_kind_comes_back_as_it_was(tmp_path: Path, values: list[Any], arrow: str) -> None:
    signal = written(tmp_path / "x.parquet", values)
    same(signal.values, np.stack([np.asarray(value) for value in values]))
    schema = pq.read_schema(tmp_path / "x.parquet")
    assert schema.names == ["timestamp", "value"]
    assert schema.field("timestamp").type == pa.int64()
    assert str(schema.field("value").type) == arrow
    assert signal.timestamps.tolist() == [10 * number for number in range(len(values))]
    assert signal[-1][1] == 10 * (len(values) - 1)


def test_a_series_of_pandas_is_a_vector(tmp_path: Path) -> None:
    """Was a bug: an error of pandas came through."""
    pandas = pytest.importorskip("pandas")
    signal = written(tmp_path / "x.parquet", [pandas.Series([1, 2]), pandas.Series([3, 4])])
    assert signal.values.tolist() == [[1, 2], [3, 4]]


ARRAYS = hnp.arrays(
    st.sampled_from([np.bool_, np.int8, np.uint8, np.int32, np.uint64, np.float16, np.float32, np.float64]),
    hnp.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=4),
)


@settings(max_examples=60, deadline=None)
@given(rows=ARRAYS, chunk=st.integers(1, 5))
def test_arrays_of_any_type_and_shape_come_back(
    tmp_path_factory: pytest.TempPathFactory, rows: Any, chunk: int
) -> None:
    path = tmp_path_factory.mktemp("any") / "x.parquet"
    signal = written(path, list(rows), chunk_size=chunk)
    if len(rows) and rows.ndim > 1:
        same(signal.values, rows)
    assert len(signal) == len(rows)


@settings(max_examples=30, deadline=None)
@given(texts=st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=30), chunk=st.integers(1, 7))
def test_texts_of_any_length_come_back(tmp_path_factory: pytest.TempPathFactory, texts: list[str], chunk: int) -> None:
    signal = written(tmp_path_factory.mktemp("any") / "x.parquet", texts, chunk_size=chunk)
    assert signal.values.tolist() == texts


def test_scalars_of_python_and_numpy_may_mix(tmp_path: Path) -> None:
    values: list[Any] = [1.5, np.float64(2.5), np.array(3.5), 4.5]
    assert written(tmp_path / "x.parquet", values).values.tolist() == [1.5, 2.5, 3.5, 4.5]
    whole: list[Any] = [1, np.int64(2), 3, np.int64(-(2**63))]
    assert written(tmp_path / "y.parquet", whole).values.tolist() == [1, 2, 3, -(2**63)]
    large = [np.uint64(2**64 - 1), np.uint64(0)]
    assert written(tmp_path / "z.parquet", large).values.tolist() == [2**64 - 1, 0]


def test_row_groups_hold_chunks(tmp_path: Path) -> None:
    written(tmp_path / "x.parquet", list(range(25)), chunk_size=10)
    metadata = pq.read_metadata(tmp_path / "x.parquet")
    assert [metadata.row_group(group).num_rows for group in range(3)] == [10, 10, 5]


def test_nothing_is_read_before_it_is_needed(tmp_path: Path) -> None:
    signal = written(tmp_path / "x.parquet", [1.0, 2.0])
    lazy = SimpleSignal(tmp_path / "x.parquet")
    missing = SimpleSignal(tmp_path / "missing.parquet")
    assert len(lazy) == 2
    assert lazy._values is None
    assert lazy._stamps is None
    assert lazy.time[5:][0] == (2.0, 10)
    assert signal.values.base is not None
    with pytest.raises(FileNotFoundError):
        len(missing)


def test_views_share_memory_and_cannot_be_written(tmp_path: Path) -> None:
    signal = written(tmp_path / "x.parquet", [np.arange(3.0) + i for i in range(10)])
    assert np.shares_memory(signal[2:8].time[30:].values, signal.values)
    with pytest.raises(ValueError, match="read-only"):
        signal.values[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        signal.timestamps[0] = 1


def test_a_value_is_taken_as_it_was_when_it_was_appended(tmp_path: Path) -> None:
    array = np.zeros(3)
    with SimpleSignalWriter[Any](tmp_path / "x.parquet") as writer:
        for number in range(5):
            array[:] = number
            writer.append(array, number)
    assert SimpleSignal[Any](tmp_path / "x.parquet").values[:, 0].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("first", "second", "kind", "match"),
    [
        (np.zeros(3), np.zeros(2), WrongShape, "shape"),
        (np.zeros(3, np.float32), np.zeros(3, np.int32), WrongType, "dtype"),
        (1, 1.5, WrongType, "type"),
        (1.5, 1, WrongType, "type"),
        (True, 1, WrongType, "type"),
        ("a", 1, WrongType, "type"),
        (1.5, np.zeros(3), WrongType, "type"),
        (1.5, None, WrongType, "NoneType"),
        (1.5, {"a": 1}, WrongType, "dict"),
        (np.zeros(3), np.zeros(3, complex), WrongType, "complex"),
        (np.zeros(3), ["a", "b", "c"], WrongType, "recorded as a signal"),
        (np.zeros(2), [[1], [1, 2]], WrongType, "even array"),
        (1, 1 << 63, WrongType, "64 bits"),
        ("a", "\ud800", WrongType, "Unicode"),
    ],
)
def test_a_refused_value_changes_nothing(tmp_path: Path, first: Any, second: Any, kind: type, match: str) -> None:
    with SimpleSignalWriter[Any](tmp_path / "x.parquet") as writer:
        writer.append(first, 10)
        with pytest.raises(kind, match=match):
            writer.append(second, 20)
        writer.append(first, 20)
    assert SimpleSignal[Any](tmp_path / "x.parquet").timestamps.tolist() == [10, 20]


@pytest.mark.parametrize(
    ("stamp", "kind"),
    [(10, OutOfOrder), (9, OutOfOrder), (-1, OutOfOrder), (math.nan, BadKey), (20.0, BadKey), (None, BadKey), (True, BadKey),
     ("20", BadKey), (1 << 63, BadKey)],
)  # fmt: skip
@pytest.mark.parametrize("value", [1.5, 3, np.zeros(2)], ids=["float", "int", "array"])
def test_a_refused_time_changes_nothing(tmp_path: Path, value: Any, stamp: Any, kind: type) -> None:
    with SimpleSignalWriter[Any](tmp_path / "x.parquet") as writer:
        writer.append(value, 10)
        with pytest.raises(kind):
            writer.append(value, stamp)
        writer.append(value, np.int64(11))
    assert SimpleSignal[Any](tmp_path / "x.parquet").timestamps.tolist() == [10, 11]


def test_a_first_value_that_is_refused_leaves_the_kind_open(tmp_path: Path) -> None:
    with SimpleSignalWriter[Any](tmp_path / "x.parquet") as writer:
        with pytest.raises(WrongType):
            writer.append(object(), 1)
        writer.append("text", 1)
    assert SimpleSignal[Any](tmp_path / "x.parquet")[0] == ("text", 1)


def test_the_file_appears_at_the_end_and_nothing_else_stays(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    with SimpleSignalWriter[Any](path) as writer:
        writer.append(1, 1)
        writer.flush(sync=True)
        assert not path.exists()
    assert [item.name for item in tmp_path.iterdir()] == ["x.parquet"]
    with pytest.raises(Closed, match="Cannot append to a finished writer"):
        writer.append(2, 2)
    with pytest.raises(Closed):
        writer.abort()
    writer.close()


def test_leaving_by_an_exception_finishes_the_file(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), SimpleSignalWriter[Any](tmp_path / "x.parquet") as writer:
        writer.append(1, 1)
        raise ZeroDivisionError
    assert len(SimpleSignal[Any](tmp_path / "x.parquet")) == 1


def test_abort_leaves_nothing(tmp_path: Path) -> None:
    with SimpleSignalWriter[Any](tmp_path / "x.parquet") as writer:
        writer.append(1, 1)
        writer.abort()
        writer.abort()
        with pytest.raises(Closed):
            writer.append(2, 2)
    assert list(tmp_path.iterdir()) == []


def test_an_empty_signal_is_a_file_without_rows(tmp_path: Path) -> None:
    signal = written(tmp_path / "x.parquet", [])
    assert len(signal) == 0
    assert [str(field.type) for field in pq.read_schema(tmp_path / "x.parquet")] == ["int64", "int64"]
    with pytest.raises(ValueError, match="empty"):
        _ = signal.start_ts


def test_what_was_left_behind_is_recovered(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    writer = SimpleSignalWriter[Any](path)
    writer.append(1.5, 1)
    writer.flush()
    with pytest.raises(StoreLocked):
        SimpleSignalWriter.recover(path)
    with pytest.raises(StoreLocked):
        SimpleSignalWriter[Any](path)
    writer._tape.abandon()  # as a kill would
    with pytest.raises(Exists, match="recover"):
        SimpleSignalWriter[Any](path)
    assert SimpleSignalWriter.recover(path)
    assert SimpleSignal[Any](path)[0] == (1.5, 1)
    assert not SimpleSignalWriter.recover(path)


@pytest.mark.parametrize(
    "values", [[1.5] * 50, ["text", "x"] * 25, [np.arange(5.0)] * 50], ids=["float", "text", "array"]
)
def test_a_flipped_bit_is_damage_or_harmless(tmp_path: Path, values: list[Any]) -> None:
    path = tmp_path / "x.parquet"
    signal = written(path, values, chunk_size=20)
    stamps, expected = signal.timestamps.tolist(), signal.values.tolist()
    whole = path.read_bytes()
    rng = np.random.default_rng(7)
    noticed = 0
    for position in {*rng.integers(0, len(whole), 150).tolist(), *range(len(whole) - 60, len(whole))}:
        broken = bytearray(whole)
        broken[position] ^= 1 << int(rng.integers(8))
        path.write_bytes(broken)
        try:
            found = SimpleSignal[Any](path)
            assert (found.timestamps.tolist(), found.values.tolist()) == (stamps, expected), position
        except Damaged as error:
            assert str(path) in str(error)
            noticed += 1
    assert noticed > 50


@pytest.mark.parametrize("size", [0, 1, 4, 100, -9, -1])
def test_a_cut_file_is_damage(tmp_path: Path, size: int) -> None:
    path = tmp_path / "x.parquet"
    written(path, [1.5] * 50)
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(Damaged, match=r"x\.parquet"):
        _ = SimpleSignal[Any](path).values


def test_stamps_that_do_not_increase_are_damage(tmp_path: Path) -> None:
    pq.write_table(pa.table({"timestamp": [1, 1], "value": [1.0, 2.0]}), tmp_path / "x.parquet")
    with pytest.raises(Damaged, match="increase"):
        _ = SimpleSignal[Any](tmp_path / "x.parquet").timestamps
    pq.write_table(pa.table({"timestamp": [1, None], "value": [1.0, None]}), tmp_path / "y.parquet")
    with pytest.raises(Damaged, match="missing"):
        _ = SimpleSignal[Any](tmp_path / "y.parquet").timestamps
    with pytest.raises(Damaged, match="missing"):
        _ = SimpleSignal[Any](tmp_path / "y.parquet").values


def test_files_with_several_clocks_are_read_by_the_one_that_is_asked_for(tmp_path: Path) -> None:
    table = pa.table({"ts.robot": [1, 2], "ts.recorded": [5, 6], "value": [1.0, 2.0]})
    pq.write_table(table, tmp_path / "x.parquet")
    assert SimpleSignal[Any](tmp_path / "x.parquet").timestamps.tolist() == [5, 6]
    assert SimpleSignal[Any](tmp_path / "x.parquet", timeline="robot").timestamps.tolist() == [1, 2]
    assert SimpleSignal[Any](tmp_path / "x.parquet").clocks == ("ts.robot", "ts.recorded")
    with pytest.raises(Damaged, match=r"ts\.camera"):
        len(SimpleSignal[Any](tmp_path / "x.parquet", timeline="camera"))


def test_lists_of_several_lengths_of_other_programs_stay_apart(tmp_path: Path) -> None:
    pq.write_table(pa.table({"timestamp": [1, 2], "value": [[1.0], [2.0, 3.0]]}), tmp_path / "x.parquet")
    values = SimpleSignal[Any](tmp_path / "x.parquet").values
    assert [value.tolist() for value in values] == [[1.0], [2.0, 3.0]]
