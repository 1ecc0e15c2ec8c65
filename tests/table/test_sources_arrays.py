"""Tables of arrays: in memory, in `.npy` files, in Arrow and Parquet files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from playhead.errors import Damaged, Empty, NotFound, OutOfOrder, WrongShape, WrongType
from playhead.table import Table, games
from playhead.table.building import append, build
from playhead.table.sources import arrays, arrow, contract

LENGTHS = (3, 1, 6, 10)
COUNT = sum(LENGTHS)
GENERATOR = np.random.default_rng(0)
STATE = GENERATOR.normal(size=(COUNT, 2, 3)).astype(np.float32)
ACTION = GENERATOR.integers(0, 5, COUNT)
REWARD = GENERATOR.normal(size=COUNT)
NAMES = np.repeat([f"ep-{number}" for number in range(4)], LENGTHS)


def structured() -> np.ndarray[Any, Any]:
    rows = np.zeros(COUNT, [("state", "<f4", (2, 3)), ("action", "<i8"), ("reward", "<f8"), ("run_id", "<i8")])
    rows["state"], rows["action"], rows["reward"] = STATE, ACTION, REWARD
    rows["run_id"] = np.repeat([7, 3, 8, 1], LENGTHS)
    return rows


def as_arrow() -> pa.Table:
    flat = pa.FixedSizeListArray.from_arrays(pa.array(STATE.reshape(-1)), 3)
    state = pa.FixedSizeListArray.from_arrays(flat, 2)
    columns = {"state": state, "action": ACTION, "reward": REWARD, "note": ["x"] * COUNT, "episode_id": NAMES}
    return pa.table(columns)


def check(table: Table) -> None:
    assert list(table.columns) == ["state", "action", "reward", "run_id", "step_index"]
    assert np.array_equal(table["state"], STATE)
    assert np.array_equal(table["action"], ACTION)
    assert np.array_equal(table["reward"], REWARD)
    assert np.array_equal(table["run_id"], np.repeat(np.arange(4), LENGTHS))
    assert table["step_index"].tolist() == [step for length in LENGTHS for step in range(length)]
    assert [run["num_steps"] for run in table.runs] == list(LENGTHS)
    returns = [part.sum() for part in np.split(REWARD, np.cumsum(LENGTHS)[:-1])]
    assert [run["return"] for run in table.runs] == pytest.approx(returns)


@pytest.fixture(params=[1 << 20, 100], ids=["whole", "in parts"])
def part_bytes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Read a few rows at a time, so that runs lie in several parts."""
    size: int = request.param
    monkeypatch.setattr(arrays, "BLOCK_BYTES", size)
    monkeypatch.setattr(arrow, "BLOCK_BYTES", size)
    monkeypatch.setattr(arrow, "_AT_ONCE", max(3, size // 10_000))
    return size


@pytest.mark.usefixtures("part_bytes")
@pytest.mark.parametrize("options", [{}, {"errors": "skip"}, {"where": "num_steps > 0"}])
def test_structured_rows(tmp_path: Path, options: dict[str, Any]) -> None:
    check(build(structured(), tmp_path / "memory", **options))
    np.save(tmp_path / "rows.npy", structured())
    table = build(tmp_path / "rows.npy", tmp_path / "file", **options)
    check(table)
    assert [run["run_id"] for run in table.runs] == ["7", "3", "8", "1"]
    check(build([tmp_path / "rows.npy"], tmp_path / "list", **options))


@pytest.mark.usefixtures("part_bytes")
def test_one_array_a_column(tmp_path: Path) -> None:
    np.save(tmp_path / "state.npy", STATE)
    table = build(
        {"state": tmp_path / "state.npy", "action": ACTION, "reward": REWARD, "episode_id": NAMES}, tmp_path / "table"
    )
    check(table)
    assert [run["episode_id"] for run in table.runs] == [f"ep-{number}" for number in range(4)]
    plain = build(tmp_path / "state.npy", tmp_path / "plain")
    assert np.array_equal(plain["state"], STATE)
    assert len(plain.runs) == 1  # nothing tells runs apart
    assert plain["step_index"].tolist() == list(range(COUNT))


@pytest.mark.usefixtures("part_bytes")
@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".feather"])
def test_arrow_and_parquet(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"rows{suffix}"
    if suffix == ".parquet":
        pq.write_table(as_arrow(), path, row_group_size=7)
    elif suffix == ".feather":
        pyarrow.feather.write_feather(as_arrow(), str(path))
    else:
        with pa.ipc.new_file(str(path), as_arrow().schema) as file:
            file.write_table(as_arrow(), max_chunksize=8)
    table = build(path, tmp_path / "table")
    check(table)
    assert set(table.built["left_out"]) == {"note"}
    check(build(as_arrow(), tmp_path / "memory"))


def test_a_folder_of_files_is_read_in_order_also_by_others(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    for number in range(5):
        pq.write_table(as_arrow(), tmp_path / f"files/{number}.parquet")
    one = build(tmp_path / "files", tmp_path / "one", workers=1)
    assert len(one) == 5 * COUNT
    assert len(one.runs) == 20
    build(tmp_path / "files", tmp_path / "two", workers=2)
    assert (tmp_path / "one/steps.npy").read_bytes() == (tmp_path / "two/steps.npy").read_bytes()


def test_arrays_of_an_npz_file(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "rows.npz", state=STATE, action=ACTION, reward=REWARD, episode_id=NAMES)
    check(build(tmp_path / "rows.npz", tmp_path / "table"))
    np.savez(tmp_path / "objects.npz", x=np.array([{}, {}], object))
    with pytest.raises(WrongType, match="objects are never read"):
        build(tmp_path / "objects.npz", tmp_path / "objects")
    whole = (tmp_path / "rows.npz").read_bytes()
    for cut in (whole[: len(whole) // 2], whole[:300] + bytes([whole[300] ^ 1]) + whole[301:], b""):
        (tmp_path / "cut.npz").write_bytes(cut)
        with pytest.raises(Damaged, match=r"cut\.npz"):
            build(tmp_path / "cut.npz", tmp_path / "cut")


def test_columns_without_numbers(tmp_path: Path) -> None:
    texts = np.array(["a", "bc"])
    with pytest.raises(WrongType, match="x holds objects of Python"):
        build({"x": np.array([{}, 1], object), "y": np.zeros(2)}, tmp_path / "table")
    with pytest.raises(WrongType, match="no column holds numbers; there is x <U2"):
        build({"x": texts}, tmp_path / "table")
    table = build({"x": texts, "y": np.zeros(2)}, tmp_path / "table")
    assert list(table.built["left_out"]) == ["x"]
    (tmp_path / "rows.csv").write_text("1,2")
    with pytest.raises(WrongType, match=r"rows\.csv cannot be read: files end in .*\.npz, \.parquet"):
        build(tmp_path / "rows.csv", tmp_path / "other")


def test_an_index_that_is_there_is_kept(tmp_path: Path) -> None:
    table = build({"x": np.arange(4.0), "step_index": np.array([5, 9, 9, 2])}, tmp_path / "table")
    assert table["step_index"].tolist() == [5, 9, 9, 2]
    with pytest.raises(WrongType, match="step_index"):
        build({"x": np.arange(2.0), "step_index": np.array([-1, 0])}, tmp_path / "wrong")


def test_rows_of_a_run_lie_together(tmp_path: Path) -> None:
    with pytest.raises(OutOfOrder, match="sort"):
        build({"x": np.arange(4.0), "run_id": np.array([1, 1, 2, 1])}, tmp_path / "table")


def test_what_cannot_be_rows(tmp_path: Path) -> None:
    np.save(tmp_path / "objects.npy", np.array([{}, {}], object), allow_pickle=True)
    with pytest.raises(WrongType, match="objects are never read"):
        build(tmp_path / "objects.npy", tmp_path / "table")
    (tmp_path / "cut.npy").write_bytes(b"\x93NUMPY\x01\x00")
    with pytest.raises(Damaged, match=r"cut\.npy"):
        build(tmp_path / "cut.npy", tmp_path / "table")
    (tmp_path / "cut.parquet").write_bytes(b"PAR1 and then nothing")
    with pytest.raises(Damaged, match=r"cut\.parquet"):
        build(tmp_path / "cut.parquet", tmp_path / "table")
    with pytest.raises(WrongShape, match="one length"):
        build({"a": np.zeros(3), "b": np.zeros(4)}, tmp_path / "table")
    with pytest.raises(WrongType, match="gaps"):
        build(pa.table({"a": [1, None, 3]}), tmp_path / "table")
    with pytest.raises(Empty):
        build({"a": np.zeros(0)}, tmp_path / "table")
    with pytest.raises(NotFound, match=r"gone\.npy"):
        build([tmp_path / "gone.npy"], tmp_path / "table")
    with pytest.raises(WrongType, match="at="):
        build({"a": np.zeros(3)}, tmp_path / "table", rate=5)
    with pytest.raises(WrongType, match="one kind"):
        build([tmp_path / "cut.npy", tmp_path / "game.a2run2"], tmp_path / "table")
    assert not (tmp_path / "table").exists()


@pytest.mark.parametrize("dtype", [">f4", ">i2", ">c8", "<f8"])
def test_the_order_of_bytes_does_not_matter(tmp_path: Path, dtype: str) -> None:
    """Was a bug: big-endian arrays were refused as being of another type."""
    values = np.arange(5).astype(dtype)
    rows = np.zeros(5, [("x", dtype), ("more", dtype, 3)])
    rows["x"], rows["more"] = values, values[:, None]
    np.save(tmp_path / "rows.npy", rows)
    sources = {"columns": {"x": values}, "structured": rows, "file": tmp_path / "rows.npy"}
    for name, source in sources.items():
        table = build(source, tmp_path / name)
        assert table["x"].tolist() == values.tolist()
        assert table.dtype["x"] == np.dtype(dtype).newbyteorder("<")
    assert build(rows, tmp_path / "renamed", columns={"y": "more"})["y"].tolist() == rows["more"].tolist()


@pytest.mark.parametrize("column", ["run_id", "episode_id", "step_index"])
def test_the_place_of_a_row_is_one_value(tmp_path: Path, column: str) -> None:
    """Was a bug: it ended in an error of NumPy."""
    with pytest.raises(WrongShape, match=f"{column} is one value a row"):
        build({"x": np.arange(4.0), column: np.array([[0], [0], [1], [1]])}, tmp_path / "t")


def test_gaps_are_refused(tmp_path: Path) -> None:
    """Was a bug: what a mask hides was taken for a value."""
    masked = np.ma.masked_array([1.0, 2.0, 3.0], [0, 1, 0])
    rows = np.ma.masked_array(np.zeros(3, [("x", float)]), [(0,), (1,), (0,)])
    for source in ({"x": masked}, rows):
        with pytest.raises(WrongType, match="x has 1 gap,"):
            build(source, tmp_path / "t")
    with pytest.raises(WrongType, match="y has 1 gap,"):
        build({"x": np.arange(3)}, tmp_path / "t", columns={"y": lambda rows: masked})
    with pytest.raises(WrongType, match="x: a column holds numbers, alone or in arrays of one shape"):
        build({"x": [[1, 2], [3]]}, tmp_path / "t")
    assert not (tmp_path / "t").exists()
    assert build({"x": np.ma.masked_array([1, 2])}, tmp_path / "t")["x"].tolist() == [1, 2]


def test_files_that_differ(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    np.save(tmp_path / "files/a.npy", structured())
    np.save(tmp_path / "files/b.npy", structured()[["action", "run_id"]])
    with pytest.raises(NotFound, match=r"b\.npy"):
        build(tmp_path / "files", tmp_path / "table")
    table = build(tmp_path / "files", tmp_path / "table", errors="skip")
    check(table)
    with pytest.raises(WrongType, match=r"action is float64, not int64"):
        append(tmp_path / "table", {"state": STATE, "action": ACTION.astype(float), "reward": REWARD})


def test_failures_come_back_as_they_were() -> None:
    for error in (Damaged("file", "this", "that", "Do"), NotFound("gone"), OSError(28, "full", "path")):
        again = contract.Failure.of(error).error()
        assert type(again) is type(error)
        assert str(again) == str(error)


def test_a_run_whose_name_is_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WrongType, match="a value that its columns do not hold"):
        Table.build({"x": np.arange(2), "run_id": ["a", "b\ud800"]}, tmp_path / "t")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", [3, "", None])
def test_a_column_has_a_name(tmp_path: Path, name: Any) -> None:
    with pytest.raises(WrongType, match="give it a name"):
        Table.build({"x": np.arange(2), name: np.arange(2)}, tmp_path / "t")
    assert not list(tmp_path.iterdir())


# -- the number of a step ---------------------------------------------------------------------------------------------


def rows_of_the_seed(count: int = 10) -> np.ndarray[Any, Any]:
    """Make rows as the 2048 programs lay them out: 32 bytes."""
    rows = np.zeros(count, games.STEP)
    rows["board"], rows["move"], rows["step_index"] = np.arange(count), np.arange(count) % 4, np.arange(count)
    return rows


@pytest.mark.parametrize("kind", ["structured", "dict", "npy", "npz", "parquet", "files"])
def test_step_index_keeps_the_type_that_came(tmp_path: Path, kind: str) -> None:
    rows = rows_of_the_seed()
    columns = {name: rows[name] for name in rows.dtype.names or ()}
    source: Any = rows
    if kind == "dict":
        source = columns
    elif kind in ("npy", "files"):
        np.save(tmp_path / "rows.npy", rows)
        source = tmp_path / "rows.npy" if kind == "npy" else [tmp_path / "rows.npy"] * 2
    elif kind == "npz":
        np.savez(tmp_path / "rows.npz", **columns)
        source = tmp_path / "rows.npz"
    elif kind == "parquet":
        values = pa.FixedSizeListArray.from_arrays(pa.array(rows["ev_values"].reshape(-1)), 4)
        pq.write_table(pa.table(columns | {"ev_values": values}), tmp_path / "rows.parquet")
        source = tmp_path / "rows.parquet"
    table = build(source, tmp_path / "table")
    assert table.dtype == games.STEP
    assert table[:10].tobytes() == rows.tobytes()
    wide = build(source, tmp_path / "wide", widen=True)
    assert wide.dtype == games.step_dtype(widen=True)
    assert append(tmp_path / "wide", rows).dtype == wide.dtype


@pytest.mark.parametrize("given", ["u1", "<u2", ">u2", "<i4", "<u8"])
def test_every_type_of_whole_numbers_counts_steps(tmp_path: Path, given: str) -> None:
    table = build({"x": np.arange(4.0), "step_index": np.array([0, 1, 2, 3], given)}, tmp_path / "table")
    assert table.dtype["step_index"] == np.dtype(given).newbyteorder("<")
    assert table["step_index"].tolist() == [0, 1, 2, 3]


def test_steps_that_do_not_fit_are_refused_or_widened(tmp_path: Path) -> None:
    narrow = {"x": np.arange(2.0), "step_index": np.array([0, 1], np.uint16), "run_id": np.zeros(2, int)}
    long = {"x": np.arange(2.0), "step_index": np.array([0, 70_000], np.uint32), "run_id": np.zeros(2, int)}
    (tmp_path / "files").mkdir()
    for name, part in (("a", narrow), ("b", long)):
        np.savez(tmp_path / f"files/{name}.npz", **part)
    with pytest.raises(WrongType, match=r"b\.npz: step_index 70,000 does not fit uint16; pass widen=True"):
        build(tmp_path / "files", tmp_path / "table")
    assert build(tmp_path / "files", tmp_path / "table", widen=True)["step_index"].tolist() == [0, 1, 0, 70_000]
    build(narrow, tmp_path / "grown")
    with pytest.raises(WrongType, match="step_index 70,000 does not fit uint16"):
        append(tmp_path / "grown", long)
    grown = append(tmp_path / "grown", long, widen=True)
    assert grown["step_index"].tolist() == [0, 1, 0, 70_000]
    for wrong in ([-1, 0], [0.0, 1.0]):
        with pytest.raises(WrongType, match="step_index is a whole number from 0 to"):
            build({"x": np.arange(2.0), "step_index": np.array(wrong)}, tmp_path / "wrong")


def test_runs_without_a_score_say_how_they_get_one(tmp_path: Path) -> None:
    table = build(rows_of_the_seed(), tmp_path / "table")
    with pytest.raises(NotFound, match=r"have no max_score.*the folder that holds steps\.npy and its metadata\.db"):
        table.filter_by_score(2000)
