"""A migration from MOSAIC that is killed, or whose disk fails, at any moment: the next one makes it good."""

from __future__ import annotations

import errno
import multiprocessing
import os
import shutil
import signal
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import playhead
from playhead import testing
from playhead.catalog import mosaic as mosaic_database
from playhead.integrations import mosaic
from playhead.integrations.mosaic import rest
from tests.integrations.mosaic_database import MosaicDatabase, blob, everything, replay_file

DROPPED = ("observation", "render_payload", "frame_ref", "obs_ref")
CAMPAIGN = float(os.environ.get("PLAYHEAD_CAMPAIGN", "0.1"))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "replay").mkdir()
    replay_file(tmp_path / "replay" / "run_a.h5", 3)
    database = MosaicDatabase(tmp_path / "telemetry.sqlite")
    database.step("run_a-ep0000", 0, frame_ref="h5://run_a/frames/0")
    database.episode("run_a-ep0001", 3)
    database.step("run_a-ep0002", 0, observation=blob("a text"))
    return database.close()


@pytest.fixture
def empty_store(tmp_path: Path) -> Path:
    playhead.open(tmp_path / "empty").close()
    return tmp_path / "empty"


def migrate(source: Path, store: Path) -> None:
    with playhead.open(store) as opened:
        mosaic.migrate(source, opened)


def migrate_and_ask(source: Path, store: Path) -> dict[str, Any]:
    """Give everything that a store says after a migration, files and catalogue."""
    with playhead.open(store) as opened:
        report = mosaic.migrate(source, opened)
        assert (report.imported + report.present, report.differing, report.refused) == (1, [], [])
        (run,) = opened.runs
        return {
            "meta": {name: (run.path / name).read_bytes() for name in visible(run.path) if "." in name},
            "rest": list(rest.rows_in(run.path / rest.FOLDER / rest.STEPS)),
            "steps": opened.sql("SELECT * FROM steps ORDER BY episode_id, step_index").to_pylist(),
            "arrays": {
                (episode.id, name): episode[name].values.tolist()
                for episode in run.episodes
                for name in episode.signals
            },
            "points": opened.sql("SELECT * FROM metrics ORDER BY ts_ns, metric_name").to_pylist(),
            "replay": visible(store / "replay"),
            "left": [*(store / ".incoming").iterdir(), *(store / ".recording").glob("*.json")],
        }


def visible(folder: Path) -> list[str]:
    """List a folder without what a crash left half written, which nobody reads."""
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


def some(changes: list[testing.Operation], first: int) -> range:
    """Choose the changes that are tried: each in a campaign, else one in so many."""
    every = max(1, round(1.7 / CAMPAIGN) - 1)
    return range(first % every, len(changes), every)


def test_killed_at_any_change_of_the_disk_the_next_one_makes_it_good(
    source: Path, empty_store: Path, tmp_path: Path
) -> None:
    expected = migrate_and_ask(source, shutil.copytree(empty_store, tmp_path / "whole"))
    assert (expected["left"], len(expected["steps"])) == ([], 7)
    counted = shutil.copytree(empty_store, tmp_path / "counted")
    changes = testing.operations_of(lambda: migrate(source, counted))
    assert len(changes) > 40
    for n in some(changes, 3):
        store = shutil.copytree(empty_store, tmp_path / f"store{n}")
        testing.killed_at(n, lambda _, store=store: migrate(source, store))  # type: ignore[misc]
        assert migrate_and_ask(source, store) == expected, f"killed at change {n}, {changes[n]}"
        shutil.rmtree(store)


def fail_at(n: int, source: Path, store: Path) -> None:
    """Migrate with a disk that is full; run it in a process of its own, since only its end frees what it held."""
    with playhead.open(store) as opened, testing.failing_at(n, errno.ENOSPC):
        try:
            mosaic.migrate(source, opened)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise


def test_whatever_change_of_the_disk_fails_the_next_one_makes_it_good(
    source: Path, empty_store: Path, tmp_path: Path
) -> None:
    expected = migrate_and_ask(source, shutil.copytree(empty_store, tmp_path / "whole"))
    counted = shutil.copytree(empty_store, tmp_path / "counted")
    changes = testing.operations_of(lambda: migrate(source, counted))
    for n in some(changes, 11):
        store = shutil.copytree(empty_store, tmp_path / f"store{n}")
        child = multiprocessing.get_context("fork").Process(target=fail_at, args=(n, source, store))
        child.start()
        child.join()
        assert child.exitcode == 0
        assert migrate_and_ask(source, store) == expected, f"failed at change {n}, {changes[n]}"
        shutil.rmtree(store)


def compact_until(instructions: int, source: Path, store: Path) -> None:
    """Compact, and die after so many instructions of SQLite on the source."""
    connect = sqlite3.connect
    left = instructions

    def die() -> int:
        nonlocal left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return 0

    def connected(target: str, **options: Any) -> sqlite3.Connection:
        connection = connect(target, **options)
        if "mode=rw" in target and "telemetry" in target:
            connection.set_progress_handler(die, 20)
        return connection

    mosaic_database.sqlite3.connect = connected  # type: ignore[assignment]
    with playhead.open(store) as opened:
        mosaic.migrate(source, opened, compact=True)
    os._exit(0)


def test_killed_while_it_compacts_the_database_is_the_old_or_the_new_one(source: Path, tmp_path: Path) -> None:
    migrate(source, tmp_path / "store")
    with sqlite3.connect(source) as connection:
        old, kept = everything(connection), everything(connection, *DROPPED)
    endings = set()
    for instructions in range(0, 10_000, max(1, round(5 / CAMPAIGN))):
        killed = shutil.copy(source, tmp_path / "killed-telemetry.sqlite")
        child = multiprocessing.get_context("fork").Process(
            target=compact_until, args=(instructions, Path(killed), tmp_path / "store")
        )
        child.start()
        child.join()
        with sqlite3.connect(killed) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            is_old = everything(connection) == old
            assert is_old or everything(connection, *DROPPED) == kept
            columns = {row[1] for row in connection.execute("PRAGMA table_info(steps)")}
        assert is_old == ("observation" in columns)
        endings.add((child.exitcode, is_old))
        for leftover in tmp_path.glob("killed-*"):
            leftover.unlink()
        if child.exitcode == 0:
            break
    assert endings >= {(-signal.SIGKILL, True), (0, False)}
