"""The database of a training table: one moment at which rows count, for everyone who reads it."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from playhead.catalog.tables import EPISODE, GAME, PLACE, Part, State, TableIndex
from playhead.errors import BadQuery, Damaged, NotFound, PlayheadError, ReadOnly, StoreLocked, WrongType
from playhead.lanes.rows import npy
from tests.lanes.rows.made import GAMES, make

DOCUMENT = (Path(__file__).parents[2] / "docs" / "format.md").read_text()


def state_of(rows: int, runs: int, commit: int = 1) -> State:
    return State(commit, [["a", "<u4"]], 64, (Part("steps.npy", rows),), runs, {"from": "tests"})


def run_of(number: int, first: int, steps: int, **more: Any) -> dict[str, Any]:
    return {"id": number, "first_step_idx": first, "num_steps": steps, **more}


@pytest.fixture
def index(tmp_path: Path) -> TableIndex:
    made = TableIndex(tmp_path / "metadata.db")
    runs = [run_of(0, 0, 3, run_id="a", **{"return": 0.5}), run_of(1, 3, 0), run_of(2, 3, 4, episode_id="e")]
    made.commit(state_of(7, 3), runs, {(0, 0): 5, (0, 1): (1 << 64) - 1}, columns=EPISODE)
    return made


def test_what_was_committed_is_read(index: TableIndex) -> None:
    assert index.is_there()
    state, (sums,) = index.read() or pytest.fail("nothing")
    assert state == state_of(7, 3) == index.state()
    assert state.rows == 7
    assert sums.tolist() == [5, (1 << 64) - 1]
    assert sums.dtype == np.uint64
    assert index.runs.spans().tolist() == [[0, 0, 3], [1, 3, 0], [2, 3, 4]]
    assert index.runs.spans(before=2).tolist() == [[0, 0, 3], [1, 3, 0]]
    assert [run["id"] for run in index.runs.find("num_steps > 0", order="-num_steps")] == [2, 0]
    assert [run["id"] for run in index.runs.find(limit=1, offset=1)] == [1]
    assert index.runs.known(2, 9)[2]["episode_id"] == "e"
    assert index.runs.count(before=2) == 2
    assert index.flaws() == []


def test_a_commit_that_fails_changes_nothing(index: TableIndex) -> None:
    for wrong in (run_of(1, 7, 1), run_of(3, 7, 1 << 70), run_of(3, 7, None)):  # type: ignore[arg-type]
        with pytest.raises(WrongType, match="do not hold"):
            index.commit(state_of(8, 4, 2), [run_of(4, 8, 0), wrong], {(0, 1): 9})
    assert index.state() == state_of(7, 3)
    assert index.blocks(1)[0].tolist() == [5, (1 << 64) - 1]


def test_state_and_checksums_are_of_one_moment(index: TableIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    """Was a bug: rows added between two questions made a sound table look damaged."""
    ask = TableIndex._blocks

    def late(self: TableIndex, connection: sqlite3.Connection, part: int) -> Any:
        monkeypatch.setattr(TableIndex, "_blocks", ask)
        self.commit(state_of(8, 4, 2), [run_of(3, 7, 1)], {(0, 1): 77})
        return ask(self, connection, part)

    monkeypatch.setattr(TableIndex, "_blocks", late)
    state, (sums,) = index.read() or pytest.fail("nothing")
    assert (state.commit, sums.tolist()) == (1, [5, (1 << 64) - 1])
    state, (sums,) = index.read() or pytest.fail("nothing")
    assert (state.commit, sums.tolist()) == (2, [5, 77])


def test_what_rows_are_added_behind(index: TableIndex) -> None:
    assert index.end() == (state_of(7, 3), {*PLACE, *EPISODE}, 2, (1 << 64) - 1)
    parts = (Part("shards/steps_00000.npy", 7), Part("shards/steps_00001.npy", 1))
    index.commit(replace(state_of(8, 4, 2), parts=parts), [run_of(3, 7, 1)], {(1, 0): 77})
    end = index.end()
    assert end is not None
    assert (end.blocks, end.checksum) == (1, 77)


@pytest.mark.parametrize(
    "lie",
    [
        "DELETE FROM playhead_blocks WHERE number = 0",
        "UPDATE playhead_blocks SET number = 0.5 WHERE number = 0",
        "UPDATE playhead_blocks SET number = 7 WHERE number = 1",
        "UPDATE playhead_blocks SET xxh3 = 'x' WHERE number = 0",
        "UPDATE playhead_blocks SET xxh3 = 0.5 WHERE number = 1",
        "INSERT INTO playhead_blocks VALUES (3, 1, 5)",
    ],
)
def test_checksums_with_gaps_are_damage(index: TableIndex, lie: str) -> None:
    connection = sqlite3.connect(index.path)
    connection.execute(lie)
    connection.commit()
    connection.close()
    for ask in (index.end, index.read, lambda: index.blocks(1)):
        with pytest.raises(Damaged, match="gaps"):
            ask()


def test_a_database_that_was_never_finished_is_no_table(tmp_path: Path) -> None:
    index = TableIndex(tmp_path / "metadata.db")
    assert not index.is_there()
    with pytest.raises(NotFound, match="is missing"):
        index.state()
    connection = sqlite3.connect(index.path)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.close()
    assert not index.is_there()
    for ask in (index.state, index.read):
        with pytest.raises(NotFound, match="is empty"):
            ask()
    index.commit(state_of(0, 0), [], {}, columns=GAME)
    assert index.is_there()


def test_what_is_no_database_is_damage(tmp_path: Path) -> None:
    index = TableIndex(tmp_path / "metadata.db")
    index.path.write_bytes(b"certainly not a database" * 100)
    for ask in (index.is_there, index.state, index.runs.spans, index.flaws):
        with pytest.raises(Damaged, match=r"metadata\.db"):
            ask()


def test_one_that_is_held_says_so(index: TableIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("playhead.catalog.tables.file._BUSY_SECONDS", 0.05)
    other = sqlite3.connect(index.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreLocked, match="another process"):
        index.commit(state_of(8, 4, 2), [run_of(3, 7, 1)], {})
    assert index.state() == state_of(7, 3)  # readers do not wait
    other.close()


def test_a_log_in_a_folder_that_cannot_be_written_is_not_passed_over(
    index: TableIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = sqlite3.connect(index.path)
    reader.execute("SELECT * FROM runs").fetchall()  # keeps the log from being moved into the file
    index.commit(state_of(8, 4, 2), [run_of(3, 7, 1)], {(0, 1): 77})
    assert os.path.getsize(f"{index.path}-wal")
    monkeypatch.setattr(os, "access", lambda *_: False)
    found = index.state()
    assert found is not None
    assert found.commit == 2
    reader.close()


def test_names_in_a_where_are_columns(index: TableIndex) -> None:
    assert index.runs.spans("`return` >= 0.5").tolist() == [[0, 0, 3]]
    with pytest.raises(BadQuery, match="episode_id"):
        index.runs.spans("episode = 'e'")
    for order in ("nothing", "id; DROP TABLE runs"):
        with pytest.raises(PlayheadError):
            index.runs.find(order=order)
    assert index.runs.count() == 3


def test_runs_that_overlap_or_are_no_numbers_are_damage(index: TableIndex) -> None:
    for value in (2, -1, 0.5, "x", (1 << 63) - 1):
        connection = sqlite3.connect(index.path)
        connection.execute("UPDATE runs SET first_step_idx = ? WHERE id = 2", (value,))
        connection.commit()
        connection.close()
        with pytest.raises(Damaged):
            index.runs.spans()
        with pytest.raises(Damaged):
            index.state()


def test_a_read_only_file_says_so(index: TableIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    error = sqlite3.OperationalError("attempt to write a readonly database")
    error.sqlite_errorcode = sqlite3.SQLITE_READONLY
    assert isinstance(index.file.meaning(error), ReadOnly)
    error.sqlite_errorcode = sqlite3.SQLITE_FULL
    assert isinstance(index.file.meaning(error), OSError)


# -- what the document says ---------------------------------------------------------------------------------------------


def test_every_table_and_column_is_described(tmp_path: Path) -> None:
    make(tmp_path / "t", [3])
    connection = sqlite3.connect(tmp_path / "t" / "metadata.db")
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    assert sorted(tables) == ["playhead_blocks", "playhead_files", "playhead_table", "runs"]
    for table in tables:
        (row,) = re.findall(rf"^\| (?:its )?`{table}` \|(?!.*`run_dir`).*$", DOCUMENT, re.MULTILINE)
        columns = [name for (name,) in connection.execute(f"SELECT name FROM pragma_table_info('{table}')")]
        assert [name for name in columns if f"`{name}`" not in row] == []
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'index' AND name LIKE 'idx%'"):
        assert f"`{name}`" in DOCUMENT
    said = json.loads(connection.execute("SELECT value FROM playhead_table").fetchone()[0])
    assert [name for name in said if f"`{name}`" not in DOCUMENT] == []
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()
    for name in [*GAME, *EPISODE]:
        assert f"`{name}`" in DOCUMENT
    manifest = json.loads((tmp_path / "t" / "manifest.json").read_text())
    section = DOCUMENT.partition("### manifest.json")[2].partition("###")[0]
    assert re.findall(r"`(\w+)`", section.partition(". ")[0]) == [
        *list(manifest)[:7], *manifest["files"][0], *list(manifest)[7:],
    ]  # fmt: skip


def test_the_bytes_are_as_described(tmp_path: Path) -> None:
    rows = make(tmp_path / "t", [3, 2])
    data = (tmp_path / "t" / "steps.npy").read_bytes()
    assert data[:8] == b"\x93NUMPY\x01\x00"
    assert int.from_bytes(data[8:10], "little") == 4096 - 10
    assert data[4096:] == rows.tobytes()
    assert b"'shape': (                   5,)" in data
    assert npy.header(GAMES, 0)[:4096].replace(b" 0,)", b" 5,)") == data[:4096]
