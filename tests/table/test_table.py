"""Tables against NumPy: every kind of index, views of views, columns, and readers that stay where they are."""

from __future__ import annotations

import operator
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from playhead.catalog.tables import TableIndex
from playhead.errors import BadQuery, NotFound, OutOfRange, PlayheadError, WrongShape, WrongType
from playhead.table import Table
from playhead.table.verifying import verify
from tests.lanes.rows.made import GAMES, add, make

ROOT = Path(__file__).parents[2]
COUNTS = [5, 1, 0, 17, 40, 3, 0, 9, 25]
LENGTH = sum(COUNTS)


class Case:
    """A table, held in one way, and its rows as NumPy has them."""

    def __init__(self, table: Table, rows: np.ndarray[Any, Any]) -> None:
        self.table, self.rows = table, rows


@pytest.fixture(scope="module", params=["memory", "mmap", "shared", "one shard", "view"])
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    path = tmp_path_factory.mktemp("table") / "t"
    rows = make(path, COUNTS, shard_bytes=16 * 32 if request.param == "one shard" else None)
    options = {"mmap": {"mmap": True}, "shared": {"shared": True}, "one shard": {"cached": 1}}
    table = Table.open(path, **options.get(request.param, {}))
    if request.param == "view":
        table, rows = table.filter(runs=[1, 4, 7, 8]), rows[np.isin(rows["run_id"], [1, 4, 7, 8])]
    return Case(table, rows)


kinds = st.sampled_from([np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint64])
places = st.lists(st.integers(-128, 127), max_size=30)
quiet = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)


@quiet
@given(places, kinds, st.sampled_from(["array", "list", "2-D", "strided"]))
def test_any_numbers_as_numpy_takes_them(case: Case, numbers: list[int], kind: Any, form: str) -> None:
    fitting = [number for number in numbers if np.iinfo(kind).min <= number <= np.iinfo(kind).max]
    given: Any = np.array(fitting, kind)
    if form == "list":
        given = fitting
    elif form == "2-D":
        given = given[: len(given) // 2 * 2].reshape(-1, 2)
    elif form == "strided":
        given = np.repeat(given, 2)[::2]
    try:
        due = case.rows[given if len(given) else np.empty(np.shape(given), np.int64)]
    except IndexError:
        with pytest.raises(OutOfRange):
            case.table.get_batch(given)
        return
    found = case.table.get_batch(given)
    assert (found.shape, found.dtype) == (due.shape, due.dtype)
    assert found.tobytes() == due.tobytes()
    out = np.empty(due.shape, due.dtype)
    assert case.table.get_batch(given, out) is out
    assert out.tobytes() == due.tobytes()


@quiet
@given(st.data())
def test_a_mask_and_a_slice_as_numpy_takes_them(case: Case, data: st.DataObject) -> None:
    length = len(case.rows)
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=length, max_size=length)))
    assert case.table.get_batch(mask).tobytes() == case.rows[mask].tobytes()
    assert case.table[mask.tolist()].tobytes() == case.rows[mask].tobytes()
    bound = st.none() | st.integers(-2 * length, 2 * length)
    part = slice(data.draw(bound), data.draw(bound), data.draw(st.none() | st.integers(-9, 9).filter(bool)))
    assert case.table[part].tobytes() == case.rows[part].tobytes()


@quiet
@given(st.integers(-(1 << 66), 1 << 66) | st.integers(-100, 100))
def test_one_row_as_numpy_gives_it(case: Case, number: int) -> None:
    if not -len(case.rows) <= number < len(case.rows):
        with pytest.raises(IndexError):
            case.table[number]
        return
    for same in (number, np.int64(number), np.array(number), np.int16(number)):
        assert case.table[same].tobytes() == case.rows[number].tobytes()
    assert case.table.get_batch(number).shape == ()
    assert case.table.get_batch(number).tobytes() == case.rows[number].tobytes()


@pytest.mark.parametrize(
    "wrong",
    [1.0, [0.5], np.array([1.0]), ["a"], None, ..., True, (1, 2), b"x", [1, 1 << 70], np.array([1], "m8[s]"), [None]],
    ids=repr,
)
def test_what_is_no_number_is_refused(case: Case, wrong: Any) -> None:
    with pytest.raises(WrongType):
        case.table[wrong]


@pytest.mark.parametrize("wrong", [np.True_, [True], np.ones(LENGTH + 1, bool), np.ones((1, LENGTH), bool)], ids=str)
def test_a_mask_of_another_size_is_refused(case: Case, wrong: Any) -> None:
    with pytest.raises(OutOfRange, match="mask"):
        case.table[wrong]


def test_out_has_to_fit(case: Case) -> None:
    other = np.dtype([("a", "u1", (32,))])
    for wrong in (
        np.empty(3, GAMES),
        np.empty((2, 1), GAMES),
        np.empty(2, other),
        np.empty(4, GAMES)[::2],
        np.empty(2, "V32"),
    ):
        with pytest.raises(WrongShape):
            case.table.get_batch([0, 1], wrong)
    frozen = np.zeros(2, GAMES)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        case.table.get_batch([0, 1], frozen)
    assert not frozen["step_index"].any()
    assert case.table.get_batch([], np.empty(0, GAMES)).shape == (0,)


def test_columns_length_and_words(case: Case) -> None:
    assert len(case.table) == len(case.rows)
    assert list(case.table.columns) == list(GAMES.names or ())
    for name in case.table.columns:
        assert case.table[name].dtype == case.rows[name].dtype
        assert case.table[name].tobytes() == np.ascontiguousarray(case.rows[name]).tobytes()
    with pytest.raises(NotFound, match="board"):
        case.table["bord"]
    assert f"{len(case.rows):,} rows" in repr(case.table)
    assert "runs" in repr(case.table.runs)
    shown = case.table._repr_html_()
    assert f"{len(case.rows):,} rows" in shown
    assert all(f">{name}<" in shown for name in case.table.columns)
    assert [row.tobytes() for row in case.table] == [row.tobytes() for row in case.rows]


def test_a_batch_is_a_copy(case: Case) -> None:
    batch = case.table.get_batch([0, 1])
    batch["board"] = 0
    assert case.table.get_batch([0, 1]).tobytes() == case.rows[:2].tobytes()
    part = case.table[:2]
    part["board"] = 0
    assert case.table[:2].tobytes() == case.rows[:2].tobytes()


# -- choosing -----------------------------------------------------------------------------------------------------------

conditions: dict[str, Any] = {
    "max_score >= 3000": lambda run: run["max_score"] >= 3000,
    "engine = 'x'": lambda run: run["engine"] == "x",
    "max_score < 5000 and engine != 'y'": lambda run: run["max_score"] < 5000 and run["engine"] not in ("y", None),
    "num_steps > 4 or id = 1": lambda run: run["num_steps"] > 4 or run["id"] == 1,
    "engine is null": lambda run: run["engine"] is None,
    "max_score > 100000": lambda run: False,
}
predicates: list[Any] = [
    lambda rows: rows["step_index"] % 3 == 0,
    lambda rows: rows["board"] % 2 == 1,
    lambda rows: np.zeros(len(rows), bool),
    lambda rows: rows["run_id"] == 4,
]
choices = st.lists(
    st.sampled_from(list(conditions)).map(lambda text: ("where", text))
    | st.sets(st.integers(0, len(COUNTS) - 1)).map(lambda ids: ("runs", ids))
    | st.sampled_from(predicates).map(lambda fits: ("rows", fits)),
    max_size=4,
)


@pytest.fixture(scope="module", params=["memory", "mmap", "one shard"])
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    path = tmp_path_factory.mktemp("table") / "t"
    rows = make(path, COUNTS, shard_bytes=16 * 32 if request.param == "one shard" else None)
    return Case(Table.open(path, mmap=request.param == "mmap", cached=1), rows)


@quiet
@given(choices)
def test_views_of_views_are_as_masks(whole: Case, chosen: list[tuple[str, Any]]) -> None:
    view, mask = whole.table, np.ones(LENGTH, bool)
    runs = {run["id"]: run for run in whole.table.runs}
    for how, what in chosen:
        view = view.filter(**{how: what})
        if how == "rows":
            mask &= what(whole.rows)
        else:
            ids = what if how == "runs" else {run["id"] for run in runs.values() if conditions[what](run)}
            mask &= np.isin(whole.rows["run_id"], list(ids))
    due = whole.rows[mask]
    assert len(view) == len(due)
    assert view[:].tobytes() == due.tobytes()
    assert view.get_batch(np.arange(len(due))[::-1]).tobytes() == due[::-1].tobytes()
    assert view.is_view == bool(chosen)
    shown = list(dict.fromkeys(due["run_id"].tolist()))
    assert [run["id"] for run in view.runs if run["num_steps"]] == shown
    assert repr(view).count(",") >= len(chosen)
    with pytest.raises(OutOfRange):
        view[len(due)]


def test_conditions_of_one_call_all_hold(whole: Case) -> None:
    fits = predicates[0]
    view = whole.table.filter("engine = 'x'", runs=range(5), rows=fits)
    assert view[:].tobytes() == whole.table.filter("engine = 'x'").filter(runs=range(5)).filter(rows=fits)[:].tobytes()
    assert whole.table.filter_by_score(2000, 4000)[:].tobytes() == (
        whole.table.filter("max_score >= 2000 and max_score <= 4000")[:].tobytes()
    )
    assert "engine = 'x'" in repr(view)


def test_a_choice_that_cannot_be_made_is_refused(whole: Case) -> None:
    with pytest.raises(BadQuery):
        whole.table.filter("max_score >=")
    with pytest.raises(PlayheadError, match="max_score"):
        whole.table.filter("maxscore > 1")
    with pytest.raises(NotFound, match="no run 99"):
        whole.table.filter(runs=[1, 99])
    for wrong in ([0.5], ["a"], [None]):
        with pytest.raises(TypeError):
            whole.table.filter(runs=wrong)
    for fits in (lambda rows: rows["move"], lambda rows: True, lambda rows: np.ones(3, bool)):
        with pytest.raises(WrongType, match="truth value"):
            whole.table.filter(rows=fits)


def test_a_predicate_cannot_change_the_table(whole: Case) -> None:
    def change(rows: Any) -> Any:
        rows["move"] = 0
        return rows["move"] == 0

    with pytest.raises(ValueError, match="read-only"):
        whole.table.filter(rows=change)


def test_runs_are_a_sequence(whole: Case) -> None:
    runs = whole.table.runs
    assert [run["num_steps"] for run in runs] == COUNTS
    assert len(runs) == len(COUNTS)
    assert runs[-1]["id"] == len(COUNTS) - 1
    assert [run["id"] for run in runs[::-2]] == list(range(len(COUNTS)))[::-2]
    with pytest.raises(OutOfRange):
        operator.getitem(runs, len(COUNTS))


# -- other makers -------------------------------------------------------------------------------------------------------


def test_a_table_of_another_program_opens(tmp_path: Path) -> None:
    import sqlite3

    counts = {"steps": [4, 6], "num_moves": [3, 3], "num_steps": [10]}
    for name, steps in counts.items():
        path = tmp_path / name
        rows = make(tmp_path / f"{name} ours", steps)
        path.mkdir()
        np.save(path / "steps-00000.npy", rows[:5])
        np.save(path / "steps-00001.npy", rows[5:])
        with sqlite3.connect(path / "metadata.db") as connection:
            connection.execute(
                f"CREATE TABLE runs (id INTEGER PRIMARY KEY, seed INTEGER, {name} INTEGER, max_score INTEGER)"
            )
            connection.executemany(
                "INSERT INTO runs VALUES (?, 1, ?, ?)", [(n, k, 10 * n) for n, k in enumerate(steps)]
            )
        connection.close()
        table = Table.open(path)
        assert table[:].tobytes() == rows.tobytes()
        assert len(table.filter("max_score >= 10")) == sum(steps[1:])
        (finding,) = verify(path)
        assert finding.is_harmless
        assert "another program" in finding.found
        with pytest.raises(WrongType, match="another program"):
            add(path, [1])


# -- snapshots ----------------------------------------------------------------------------------------------------------

APPENDER = """
import sys
from pathlib import Path
from tests.lanes.rows.made import add
number = 0
while True:
    add(Path(sys.argv[1]), [3, 700, 1], seed=number)
    number += 1
    print(number, flush=True)
"""


@pytest.mark.parametrize("shard_bytes", [None, 32 * 5000])
def test_readers_keep_what_they_opened_while_rows_are_added(tmp_path: Path, shard_bytes: int | None) -> None:
    path = tmp_path / "t"
    rows = make(path, [100, 31], shard_bytes=shard_bytes)
    held = [Table.open(path), Table.open(path, mmap=True), Table.open(path, cached=1)]
    process = subprocess.Popen([sys.executable, "-c", APPENDER, str(path)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        opened, until, sizes = 0, time.monotonic() + 4, set()
        while time.monotonic() < until:
            table = Table.open(path, mmap=bool(opened % 2))  # no false alarm, whatever is half done just then
            assert table[:131].tobytes() == rows.tobytes()
            assert len(table) == 131 + 704 * ((len(table.runs) - 2) // 3)
            assert sum(run["num_steps"] for run in table.runs) == len(table)
            assert (np.diff(table["run_id"].astype(np.int64)) >= 0).all()
            sizes.add(len(table))
            opened += 1
        for table in held:
            assert table[:].tobytes() == rows.tobytes()
            assert (len(table), len(table.runs)) == (131, 2)
            assert len(table.filter("max_score >= 0")) == 131
    finally:
        process.kill()
        process.communicate()
    assert len(sizes) > 3
    print(f"{opened} opened while {len(sizes)} appends were seen")
    add(path, [1])
    assert [finding for finding in verify(path) if not finding.is_harmless] == []


def test_a_table_that_is_replaced_while_it_is_opened_is_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Was a bug: the database of one and the rows of the other looked like damage."""
    make(tmp_path / "t", [40], seed=1)
    new = make(tmp_path / "new", [40], seed=2)
    read = TableIndex.read

    def late(self: TableIndex) -> Any:
        found = read(self)
        if (tmp_path / "new").exists():
            (tmp_path / "t").rename(tmp_path / "old")
            (tmp_path / "new").rename(tmp_path / "t")
        return found

    monkeypatch.setattr(TableIndex, "read", late)
    assert Table.open(tmp_path / "t")[:].tobytes() == new.tobytes()


def test_forked_readers_share_the_memory(tmp_path: Path) -> None:
    rows = make(tmp_path / "t", [50])
    table = Table.open(tmp_path / "t")
    pid = os.fork()
    if pid == 0:
        os._exit(0 if table[:].tobytes() == rows.tobytes() and len(table.runs) == 1 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


@pytest.mark.parametrize("runs", [["a"], [1.5], 1, [2**70]])
def test_runs_are_chosen_by_whole_numbers(tmp_path: Path, runs: Any) -> None:
    table = Table.build({"x": np.arange(3)}, tmp_path / "t")
    with pytest.raises(WrongType, match="by their ids"):
        table.filter(runs=runs)
