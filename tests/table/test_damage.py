"""Damaged tables: what is wrong is named, with what to do; and no wrong byte is ever given."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from playhead.errors import Damaged, NotFound, PlayheadError, StoreTooNew, WrongType
from playhead.lanes.rows.npy import ALIGNED
from playhead.table import Table
from playhead.table.verifying import verify
from tests.lanes.rows.made import GAMES, ODD, add, make, small_blocks

CAMPAIGN = float(os.environ.get("PLAYHEAD_CAMPAIGN", "0.1"))
BLOCK = 256
COUNTS = [5, 20, 0, 33, 2]
END = ALIGNED + sum(COUNTS) * 32


class Victim:
    """A table of two commits, to be copied and damaged."""

    def __init__(self, path: Path, shard_bytes: int | None = None) -> None:
        self.path = path / "sound"
        self.rows = np.concatenate([make(self.path, COUNTS[:2], shard_bytes=shard_bytes), add(self.path, COUNTS[2:])])
        self._copies = 0
        settle(self.path)

    def copy(self) -> Path:
        self._copies += 1
        return Path(shutil.copytree(self.path, self.path.with_name(f"copy{self._copies}")))


def settle(path: Path) -> None:
    """Let the database be one file."""
    connection = sqlite3.connect(path / "metadata.db")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    for file in path.glob("metadata.db-*"):
        file.unlink()


@pytest.fixture(scope="module")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Victim:
    with pytest.MonkeyPatch.context() as patch:
        small_blocks(patch, BLOCK)
        return Victim(tmp_path_factory.mktemp("one"))


@pytest.fixture(scope="module")
def sharded(tmp_path_factory: pytest.TempPathFactory) -> Victim:
    with pytest.MonkeyPatch.context() as patch:
        small_blocks(patch, BLOCK)
        return Victim(tmp_path_factory.mktemp("many"), 24 * 32)


def changed(path: Path, sql: str, *values: Any) -> None:
    connection = sqlite3.connect(path / "metadata.db")
    connection.execute(sql, values)
    connection.commit()
    connection.close()
    settle(path)


def assert_said(path: Path, *words: str, kind: type[Exception] = Damaged) -> None:
    """See that opening is refused in words that name what is wrong, and that verifying finds it too."""
    for mmap in (False, True):
        with pytest.raises(kind) as raised:
            Table.open(path, mmap=mmap)
        for word in words:
            assert word in str(raised.value), raised.value
    if kind is not NotFound:
        findings = [finding for finding in verify(path) if not finding.is_harmless]
        assert findings
        assert all(finding.remedy for finding in findings), findings


# -- rows ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "size", [0, 1, 6, 9, 10, 100, ALIGNED - 1, ALIGNED, ALIGNED + 1, ALIGNED + BLOCK, END - 32, END - 1]
)
def test_a_file_that_is_cut_short(victim: Victim, size: int) -> None:
    path = victim.copy()
    os.truncate(path / "steps.npy", size)
    assert_said(path, "steps.npy", "bytes", "Build the table again")
    with pytest.raises(Damaged):
        add(path, [1])
    assert (path / "steps.npy").stat().st_size == size


def test_bytes_behind_the_rows_are_harmless(victim: Victim) -> None:
    path = victim.copy()
    with open(path / "steps.npy", "ab") as file:
        file.write(b"rows that never counted")
    assert Table.open(path)[:].tobytes() == victim.rows.tobytes()
    (finding,) = verify(path)
    assert finding.is_harmless
    assert "23" not in finding.expected
    add(path, [1])
    assert verify(path) == []


@pytest.mark.parametrize("name", ["steps.npy", "metadata.db", "manifest.json"])
def test_a_file_that_is_missing(victim: Victim, name: str) -> None:
    path = victim.copy()
    (path / name).unlink()
    if name == "manifest.json":
        assert Table.open(path)[:].tobytes() == victim.rows.tobytes()
        assert [finding.path.name for finding in verify(path)] == [name]
        add(path, [1])
        assert verify(path) == []
    else:
        with pytest.raises(NotFound, match=name):
            Table.open(path)
        if name == "steps.npy":
            assert any(not finding.is_harmless for finding in verify(path))


def test_a_shard_that_is_missing_or_another_one(sharded: Victim) -> None:
    path = sharded.copy()
    os.replace(path / "shards" / "steps_00000.npy", path / "shards" / "steps_00001.npy")
    with pytest.raises(NotFound, match="steps_00000"):
        Table.open(path)
    shutil.copy(path / "shards" / "steps_00001.npy", path / "shards" / "steps_00000.npy")
    assert_said(path, "steps_00001.npy")


def test_a_row_that_changed_is_named_by_its_offset(victim: Victim) -> None:
    for row in (0, 7, 8, 30, 59):
        path = victim.copy()
        data = bytearray((path / "steps.npy").read_bytes())
        data[ALIGNED + row * 32 + 3] ^= 4
        (path / "steps.npy").write_bytes(data)
        with pytest.raises(Damaged, match=f"offset {ALIGNED + row // 8 * BLOCK:,} .*checksum"):
            Table.open(path)
        (finding,) = verify(path)
        assert f"offset {ALIGNED + row // 8 * BLOCK:,}" in finding.expected
        assert finding.remedy


def test_a_shard_is_checked_when_it_is_loaded(sharded: Victim) -> None:
    path = sharded.copy()
    with open(path / "shards" / "steps_00001.npy", "r+b") as file:
        file.seek(ALIGNED + 12 * 32)  # in a block that is neither the first nor the last
        file.write(b"\xff" * 4)
    table = Table.open(path, cached=1)
    assert table[:24].tobytes() == sharded.rows[:24].tobytes()
    with pytest.raises(Damaged, match="steps_00001"):
        table[24]
    with pytest.raises(Damaged, match="steps_00001"):
        Table.open(path)


# -- the header ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        (b"'<u8'", b"'<i8'", "board"),
        (b"'board'", b"'beard'", "beard"),
        (b"('move', '|u1')", b"('move', '|O1')", "steps.npy"),
        (b"('move', '|u1')", b"('move', '|b1')", "move"),
        (b"'descr'", b"'decsr'", "header"),
        (b"NUMPY", b"NUMPI", "header"),
        (b"                  60,)", b"1000000000000000000,)", "1,000,000,000,000,000,000"),
        (b"                  60,)", b"                 61,) ", "61"),
    ],
)
def test_a_header_that_disagrees(victim: Victim, old: bytes, new: bytes, word: str) -> None:
    path = victim.copy()
    data = (path / "steps.npy").read_bytes()
    assert data.count(old) == 1, data[:400]
    new = new.rjust(len(old))
    (path / "steps.npy").write_bytes(data.replace(old, new))
    for mmap in (False, True):
        with pytest.raises((Damaged, WrongType), match=word) as raised:
            Table.open(path, mmap=mmap)
        assert "steps.npy" in str(raised.value)
    assert any(not finding.is_harmless for finding in verify(path))


def test_a_header_that_is_behind_is_harmless(victim: Victim) -> None:
    path = victim.copy()
    data = (path / "steps.npy").read_bytes()
    (path / "steps.npy").write_bytes(data.replace(b"                  60,)", b"                  25,)"))
    assert Table.open(path)[:].tobytes() == victim.rows.tobytes()
    (finding,) = verify(path)
    assert finding.is_harmless
    assert finding.found.startswith("25")
    add(path, [4])
    assert len(np.load(path / "steps.npy")) == 64
    assert verify(path) == []


# -- what is of another table ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["metadata.db", "manifest.json", "steps.npy"])
@pytest.mark.parametrize("other", ["same sizes", "other sizes", "one commit", "other type"])
def test_a_file_of_another_table(
    victim: Victim, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, other: str
) -> None:
    small_blocks(monkeypatch, BLOCK)
    stranger = tmp_path / "stranger"
    if other == "same sizes":
        make(stranger, COUNTS[:2], seed=1)
        add(stranger, COUNTS[2:], seed=1)
    elif other == "other sizes":
        make(stranger, [9, 9], seed=1)
        add(stranger, [9, 60], seed=1)
    elif other == "one commit":
        make(stranger, [100], seed=1)
    else:
        make(stranger, COUNTS, ODD)
    settle(stranger)
    path = victim.copy()
    shutil.copy(stranger / name, path / name)
    assert_said(path, name if name == "manifest.json" else "", kind=PlayheadError)


def test_a_manifest_that_is_none(victim: Victim) -> None:
    for text in (
        "",
        "{",
        "[]",
        "null",
        '"x"',
        '{"commit": "x"}',
        '{"commit": 1e400, "rows": 1, "runs": 1, "dtype": 1}',
        "\xff",
    ):
        path = victim.copy()
        (path / "manifest.json").write_text(text, encoding="latin-1")
        assert_said(path, "manifest.json", "remove this file")
        (path / "manifest.json").unlink()
        assert len(Table.open(path)) == 60


def test_a_manifest_that_disagrees(victim: Victim) -> None:
    said = json.loads((victim.path / "manifest.json").read_text())
    for name, value in [("rows", 61), ("runs", 4), ("commit", 3), ("dtype", []), ("files", []), ("block_bytes", 1)]:
        path = victim.copy()
        (path / "manifest.json").write_text(json.dumps({**said, name: value}))
        assert_said(path, "manifest.json", "as metadata.db says")


# -- the database -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change", ["DELETE FROM runs WHERE id = 4", "UPDATE runs SET num_steps = 3 WHERE id = 4", "DELETE FROM runs"]
)
def test_nothing_is_added_behind_a_last_run_that_is_not_the_last(victim: Victim, change: str) -> None:
    path = victim.copy()
    connection = sqlite3.connect(path / "metadata.db")
    with connection:
        connection.execute(change)
    connection.close()
    before = (path / "steps.npy").read_bytes()
    with pytest.raises(Damaged, match=r"metadata\.db"):
        add(path, [4])
    assert (path / "steps.npy").read_bytes() == before


STATE = "UPDATE playhead_table SET value = "


def test_a_table_of_a_later_version_says_so(victim: Victim) -> None:
    """Was a bug: it was called damaged."""
    path = victim.copy()
    changed(path, STATE + "json_set(value, '$.version', 2)")
    with pytest.raises(StoreTooNew, match=r"metadata\.db is a table of version 2; this Playhead knows 1"):
        Table.open(path)
    with pytest.raises(StoreTooNew):
        add(path, [4])
    assert "version 2" in verify(path)[0].found


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM playhead_table",
        STATE + "'{'",
        STATE + "'[]'",
        STATE + "5",
        STATE + "json_set(value, '$.version', 2)",
        STATE + "json_set(value, '$.version', 'x')",
        STATE + "json_set(value, '$.block_bytes', 0)",
        STATE + "json_set(value, '$.block_bytes', -4)",
        STATE + "json_set(value, '$.block_bytes', 1e30)",
        STATE + "json_set(value, '$.block_bytes', '256')",
        STATE + "json_set(value, '$.block_bytes', 512)",
        STATE + "json_set(value, '$.runs', 4)",
        STATE + "json_set(value, '$.runs', 1000000000000000000)",
        STATE + "json_set(value, '$.commit', 1)",
        STATE + "json_set(value, '$.commit', NULL)",
        STATE + "json_set(value, '$.dtype', json('[[\"a\", \"O\"]]'))",
        STATE + "json_set(value, '$.dtype', 'x')",
        STATE + "json_remove(value, '$.dtype')",
        STATE + "json_set(value, '$.more', 1)",
        "UPDATE playhead_files SET rows = 59",
        "UPDATE playhead_files SET rows = 61",
        "UPDATE playhead_files SET rows = 1000000000000000000",
        "UPDATE playhead_files SET rows = -1",
        "UPDATE playhead_files SET rows = 'many'",
        "UPDATE playhead_files SET number = 1",
        "UPDATE playhead_files SET name = '../sound/steps.npy'",
        "UPDATE playhead_files SET name = '/etc/passwd'",
        "UPDATE playhead_files SET name = 'shards/../../sound/steps.npy'",
        "UPDATE playhead_files SET name = x'00ff'",
        "INSERT INTO playhead_files VALUES (1, 'steps.npy', 60)",
        "DELETE FROM playhead_files",
        "DELETE FROM playhead_blocks WHERE number = 3",
        "DELETE FROM playhead_blocks WHERE number = 7",
        "DELETE FROM playhead_blocks",
        "UPDATE playhead_blocks SET xxh3 = 'x' WHERE number = 0",
        "UPDATE playhead_blocks SET xxh3 = xxh3 + 1 WHERE number = 0",
        "UPDATE runs SET num_steps = 6 WHERE id = 0",
        "UPDATE runs SET first_step_idx = 6 WHERE id = 1",
        "UPDATE runs SET first_step_idx = 1000000000000000000 WHERE id = 1",
        "UPDATE runs SET first_step_idx = 1.5 WHERE id = 1",
        "UPDATE runs SET num_steps = num_steps + CASE id WHEN 0 THEN 1 ELSE -1 END WHERE id < 2",
        "UPDATE runs SET num_steps = num_steps + CASE id WHEN 0 THEN 9000 ELSE -9000 END WHERE id < 2",
        "UPDATE runs SET num_steps = 'x' WHERE id = 0",
        "UPDATE runs SET id = 9 WHERE id = 1",
        "DELETE FROM runs WHERE id = 4",
        "DELETE FROM runs WHERE id = 2",
        "DROP TABLE runs",
        "DROP TABLE playhead_blocks",
        "DROP TABLE playhead_files",
    ],
)
def test_a_database_that_lies(victim: Victim, sql: str) -> None:
    path = victim.copy()
    changed(path, sql)
    held = (path / "steps.npy").read_bytes()
    with pytest.raises(PlayheadError) as raised:
        Table.open(path)
    assert str(path) in str(raised.value)
    assert any(not finding.is_harmless for finding in verify(path)), sql
    with pytest.raises(PlayheadError):
        Table.open(path, mmap=True)
    try:
        add(path, [1])
    except PlayheadError:
        assert (path / "steps.npy").read_bytes() == held


def test_rows_that_say_another_run(tmp_path: Path) -> None:
    """What only reading all rows can tell: the runs of the database are others than those of the rows."""
    make(tmp_path / "t", [5, 20, 9])
    changed(tmp_path / "t", "UPDATE runs SET num_steps = num_steps + CASE id WHEN 0 THEN 1 ELSE -1 END WHERE id < 2")
    changed(tmp_path / "t", "UPDATE runs SET first_step_idx = 6 WHERE id = 1")
    findings = [finding for finding in verify(tmp_path / "t") if not finding.is_harmless]
    assert [finding.path.name for finding in findings] == ["steps.npy", "metadata.db"]
    assert f"run_id 0 in row 5 at offset {ALIGNED + 5 * 32:,}" in findings[0].expected
    assert findings[0].found.startswith("1, ")


def test_a_folder_without_a_table(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none", Path(__file__)):
        for do in (Table.open, verify):
            with pytest.raises(NotFound, match="no table"):
                do(path)
    (tmp_path / "metadata.db").write_bytes(b"")
    with pytest.raises(NotFound, match="build it again"):
        Table.open(tmp_path)


def test_a_table_that_cannot_be_written(victim: Victim, monkeypatch: pytest.MonkeyPatch) -> None:
    path = victim.copy()
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write anywhere
    assert Table.open(path)[:].tobytes() == victim.rows.tobytes()
    assert sorted(os.listdir(path)) == ["manifest.json", "metadata.db", "steps.npy"]
    assert len(Table.open(path).filter("max_score >= 0")) == 60


# -- at random ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["one", "shards"])
def test_no_flip_anywhere_gives_a_wrong_byte(victim: Victim, sharded: Victim, kind: str) -> None:
    chosen = victim if kind == "one" else sharded
    path = chosen.copy()
    files = sorted(file for file in path.rglob("*") if file.is_file())
    rng = np.random.default_rng(5)
    refused = right = 0
    runs = list(Table.open(chosen.path).runs)
    for _ in range(max(200, int(3000 * CAMPAIGN)) // 2):
        file = files[rng.integers(len(files))]
        sound = file.read_bytes()
        data = bytearray(sound)
        for place in rng.integers(len(data), size=rng.integers(1, 4)):
            data[place] ^= 1 << rng.integers(8)
        file.write_bytes(data)
        try:
            table = Table.open(path, cached=1 if kind == "shards" and rng.integers(2) else None)
            assert table[:].tobytes() == chosen.rows.tobytes(), file
            whole = table.filter("id >= 0")
            assert whole[:].tobytes() == chosen.rows.tobytes(), file
            for number, view in enumerate(table.filter(runs=[run["id"]]) for run in runs):
                assert view[:].tobytes() == chosen.rows[chosen.rows["run_id"] == number].tobytes(), file
            right += 1
        except (PlayheadError, OSError) as error:
            assert str(error)
            refused += 1
            with pytest.MonkeyPatch.context():
                try:
                    found = verify(path)
                except NotFound:
                    found = []
                assert all(finding.remedy for finding in found)
        file.write_bytes(sound)
        for left in path.glob("metadata.db-*"):
            left.unlink()
    print(f"{refused} flips were noticed, {right} changed nothing that counts, none gave a wrong byte")
    assert refused > 20
    assert right > 20
    assert chosen.rows.dtype == GAMES


def test_a_damaged_name_in_the_database_is_damage(victim: Victim) -> None:
    path = victim.copy()
    data = (path / "metadata.db").read_bytes()
    (path / "metadata.db").write_bytes(data.replace(b"indexidx_runs_len", b"indexidx_\xf2uns_len"))
    with pytest.raises(Damaged, match=r"metadata\.db"):  # SQLite says so in words that are no text
        Table.open(path)
    assert verify(path)
