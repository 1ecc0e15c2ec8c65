"""`gc`: what nothing needs goes, and nothing else; also while others record and save."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import playhead
from playhead.care import collecting
from playhead.care.collecting import Collected
from tests.care.everything import values_of
from tests.care.test_verifying import change, wrong


def collect(path: Path, *, dry_run: bool = False, older_than: float = 0.0) -> Collected:
    with playhead.open(path) as store:
        return collecting.collect(store._home, dry_run=dry_run, older_than=older_than)


def blobs(path: Path) -> set[str]:
    return {file.name for file in (path / "artifacts/.dedup").rglob("*") if len(file.name) == 64}


def stray_blob(path: Path) -> Path:
    blob = path / "artifacts/.dedup/aa" / ("aa" + "0" * 62)
    blob.parent.mkdir(exist_ok=True)
    blob.write_bytes(b"left by a crash")
    return blob


def test_a_sound_store_keeps_everything(path: Path) -> None:
    before, held = values_of(path), blobs(path)
    assert collect(path).garbage == []
    assert values_of(path) == before
    assert blobs(path) == held


def test_all_kinds_of_garbage_are_told_of_and_then_removed(path: Path) -> None:
    before = values_of(path)
    stray = stray_blob(path)
    left = path / "pong/dqn/runs/run_a" / ".meta.json.999999999-0badf00d.tmp"
    left.write_bytes(b"{")
    folder = path / "episodes/teleop/000000000000/.000000000009.999999999-0badf00d.tmp"
    folder.mkdir()
    (folder / "joint.parquet").write_bytes(b"PAR1")
    trash = path / ".trash" / "old_run"
    trash.mkdir(parents=True)
    (trash / "events.jsonl").write_bytes(b"{}\n")
    journal = Path(shutil.copytree(path / "replay/run_b.journal", path / "replay/gone_run.journal"))
    version = Path(shutil.copytree(path / "artifacts/model/policy/v1", path / "artifacts/model/policy/v9"))
    due = {
        stray: "blob",
        left: "temporary",
        folder: "temporary",
        trash: "trash",
        journal: "journal",
        version: "version",
    }
    told = collect(path, dry_run=True)
    assert {found.path: found.kind for found in told.garbage} == due
    assert all(file.exists() for file in due)
    assert {found.path: found.bytes for found in collect(path).garbage} == {
        found.path: found.bytes for found in told.garbage
    }
    assert not any(file.exists() for file in due)
    assert values_of(path) == before
    assert collect(path).garbage == []


def test_what_was_touched_just_now_or_is_held_stays(path: Path) -> None:
    left = path / ".x.999999999-0badf00d.tmp"
    left.write_bytes(b"")
    mine = path / f".y.{os.getpid()}-0badf00d.tmp"
    mine.write_bytes(b"")
    os.utime(mine, (0, 0))
    assert collect(path, older_than=60).garbage == []
    os.utime(left, (0, 0))
    assert [found.path for found in collect(path, older_than=60).garbage] == [left]
    assert mine.exists()


def test_purging_a_version_frees_what_it_alone_held(path: Path) -> None:
    with playhead.open(path) as store:
        store.artifacts["policy:v1"].delete()
        assert collecting.collect(store._home, older_than=0).garbage == []
        store.artifacts["policy:v1"].purge()
    collect(path)
    with playhead.open(path) as store:
        assert store.artifacts["policy:v2"].verify() == []
    assert len(blobs(path)) == 3
    assert wrong(path) == []


def test_nothing_goes_where_a_version_cannot_be_read(path: Path) -> None:
    stray = stray_blob(path)
    change(path / "artifacts/model/policy/v1/manifest.json")
    done = collect(path)
    assert "nobody knows" in done.problems[0]
    assert stray.exists()


def test_a_journal_comes_to_no_harm_while_it_is_recorded(path: Path) -> None:
    with playhead.open(path) as store, store.run("p", "n", run_id="live", environment=False) as run:
        reel = run.new_reel()
        reel.step({"observations": np.arange(4)}, 1.0, False, False)
        reel.flush()
        assert collecting.collect(store._home, older_than=0).garbage == []
    with playhead.open(path) as store:
        assert store.resolve("h5://live/observations/0").tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("name", ["", "note.jsonl"])
def test_the_quarantine_is_never_touched(path: Path, name: str) -> None:
    aside = path / ".quarantine/then/.x.999999999-0badf00d.tmp" / name
    aside.parent.mkdir(parents=True)
    aside.mkdir() if not name else aside.write_text("")
    assert collect(path).garbage == []
    assert aside.exists()


def test_what_sqlite_keeps_beside_a_catalogue_that_is_being_rebuilt_stays(store: playhead.Store) -> None:
    alive, gone = ([store.path / f".playhead.db.{pid}-0badf00d.tmp{end}" for end in ("", "-wal", "-shm", "-journal")]
                   for pid in (os.getpid(), 999999999))  # fmt: skip
    for path in (*alive, *gone):
        path.write_bytes(b"x")
    collecting.collect(store._home, older_than=0)
    assert [path.exists() for path in alive] == [True] * 4
    assert [path.exists() for path in gone] == [False] * 4
