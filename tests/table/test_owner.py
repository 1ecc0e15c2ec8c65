"""A table of a store says its name; another one is refused under it."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import warnings
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

import playhead
from playhead import care
from playhead.care.repairing import Repair
from playhead.catalog.tables import checksums
from playhead.errors import Misplaced
from playhead.layout import Layout
from playhead.table import Table

ROW = np.dtype([("value", "<f4"), ("run_id", "<u4"), ("step_index", "<u2")])


def rows(first: int, count: int = 500) -> np.ndarray:
    made = np.zeros(count, ROW)
    made["value"] = np.arange(first, first + count)
    made["step_index"] = np.arange(count)
    return made


def make(path: Path) -> Path:
    with playhead.open(path) as store:
        for name, first in (("a", 0), ("b", 10_000)):
            store.tables.build(name, rows(first), shard_bytes=2000)
    return path


def swap(one: Path, other: Path) -> None:
    aside = one.with_name("aside")
    for source, target in ((one, aside), (other, one), (aside, other)):
        os.rename(source, target)


def first(path: Path, name: str) -> float:
    with playhead.open(path, mode="r") as store:
        return float(store.tables[name][0]["value"])


def wrong(path: Path, *, full: bool) -> set[str]:
    return {finding.path.name for finding in care.verify(path, full=full) if not finding.is_harmless}


def test_swapped_folders_are_refused(tmp_path: Path) -> None:
    path = make(tmp_path / "s")
    one, two = path / "tables" / "a", path / "tables" / "b"
    swap(one, two)
    for refused in (lambda: first(path, "a"), lambda: Table.open(one), lambda: Table.open(one).append(rows(5))):
        with pytest.raises(Misplaced, match="table 'a', found table 'b'"):
            refused()
    for full in (False, True):
        assert wrong(path, full=full) == {"a", "b"}
    swap(one, two)
    assert [first(path, "a"), first(path, "b")] == [0.0, 10_000.0]
    assert not list(care.verify(path, full=True))
    shutil.rmtree(one)
    shutil.copytree(two, one)  # restored to the wrong place
    with pytest.raises(Misplaced):
        first(path, "a")
    assert first(path, "b") == 10_000.0


@pytest.mark.parametrize("name", ["metadata.db", "manifest.json", "shards/steps_00000.npy", "shards"])
def test_swapped_files_are_refused_or_reported(tmp_path: Path, name: str) -> None:
    path = make(tmp_path / "s")
    swap(path / "tables" / "a" / name, path / "tables" / "b" / name)
    with pytest.raises(playhead.errors.Damaged):
        first(path, "a")
    assert wrong(path, full=True)


def test_a_renamed_table_is_read_noted_and_repaired(tmp_path: Path) -> None:
    path = make(tmp_path / "s")
    os.rename(path / "tables" / "a", path / "tables" / "good")
    with pytest.warns(UserWarning, match=r"'good' was made as 'a'.*repair"):
        assert first(path, "good") == 0.0
    for full in (False, True):
        found = list(care.verify(path, full=full))
        assert [(finding.path.name, finding.severity) for finding in found] == [("good", "note")]
    (deed,) = Repair(Layout(path)).mend(found)
    assert deed.done, deed
    assert not list(care.verify(path, full=True))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert first(path, "good") == 0.0
    shutil.copytree(path / "tables" / "good", tmp_path / "elsewhere")
    assert float(Table.open(tmp_path / "elsewhere")[0]["value"]) == 0.0  # outside of a store names are free


def test_a_table_that_was_made_elsewhere_is_noted_and_can_be_signed(tmp_path: Path) -> None:
    path = make(tmp_path / "s")
    Table.build(rows(7), tmp_path / "c")
    os.rename(tmp_path / "c", path / "tables" / "c")
    assert first(path, "c") == 7.0
    found = list(care.verify(path, full=True))
    assert [(finding.path.name, finding.severity) for finding in found] == [("c", "note")]
    list(Repair(Layout(path)).mend(found))
    assert not list(care.verify(path))
    manifest = json.loads((path / "tables" / "c" / "manifest.json").read_text())
    assert manifest["owner"]["table"] == "c"


def test_a_table_of_an_earlier_version_is_read_and_noted(tmp_path: Path) -> None:
    path = make(tmp_path / "s")
    folder = path / "tables" / "a"
    with closing(sqlite3.connect(folder / "metadata.db")) as database:
        state = json.loads(database.execute("SELECT value FROM playhead_table WHERE key = 'state'").fetchone()[0])
        del state["built"]["playhead"]
        text = json.dumps(state)
        sums = json.loads(database.execute("SELECT value FROM playhead_table WHERE key = 'checksums'").fetchone()[0])
        sums["state"] = checksums._xxh3(text)
        for key, value in (("state", text), ("checksums", json.dumps(sums))):
            database.execute("UPDATE playhead_table SET value = ? WHERE key = ?", (value, key))
        database.commit()
    manifest = json.loads((folder / "manifest.json").read_text())
    for name in ("num_steps", "num_runs", "created", "owner"):
        del manifest[name]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert first(path, "a") == 0.0
    assert [(one.path.name, one.severity) for one in care.verify(path, full=True)] == [("a", "note")]
    Table.open(folder).append(rows(500, 10))
    assert len(Table.open(folder)) == 510


def test_the_manifest_says_what_programs_of_the_seed_write(tmp_path: Path) -> None:
    path = make(tmp_path / "s")
    before = datetime.now(UTC)
    with playhead.open(path) as store:
        table = store.tables.build("c", rows(0, 40))
    said = json.loads((table.path / "manifest.json").read_text())
    assert (said["version"], said["num_steps"], said["num_runs"]) == (1, 40, len(table.runs))
    assert abs((datetime.fromisoformat(said["created"]) - before).total_seconds()) < 60
    made, name = said["owner"]["id"], said["owner"]["table"]
    assert name == "c"
    again = json.loads((table.append(rows(40, 5)).path / "manifest.json").read_text())
    assert (again["num_steps"], again["owner"], again["created"]) == (45, {"id": made, "table": "c"}, said["created"])
    assert "playhead" not in table.built
