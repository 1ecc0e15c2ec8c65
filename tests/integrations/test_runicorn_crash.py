"""A migration that is killed, or whose disk fails, at any moment: the next one makes it good."""

from __future__ import annotations

import errno
import multiprocessing
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

import playhead
from playhead import testing
from playhead.integrations import runicorn
from tests.integrations.conftest import RunicornFolder, append, tree

RUN = "20261115_072340_aaaaaa"


@pytest.fixture
def source(folder: RunicornFolder) -> Path:
    append(folder.old("demo", "expA", RUN), "not an event")
    return folder.path


@pytest.fixture
def empty_store(tmp_path: Path) -> Path:
    """A store to copy, since making one takes longer."""
    playhead.open(tmp_path / "empty").close()
    return tmp_path / "empty"


def migrate(source: Path, store: Path) -> None:
    with playhead.open(store) as opened:
        runicorn.migrate(source, opened)


def migrate_and_ask(source: Path, store: Path) -> dict[str, Any]:
    """Give everything that a store says after a migration, files and catalogue."""
    with playhead.open(store) as opened:
        report = runicorn.migrate(source, opened)
        assert (report.imported + report.present, report.differing, report.refused) == (1, [], [])
        return {
            "files": tree(store / "demo"),
            "runs": opened.sql("SELECT * FROM experiments").to_pylist(),
            "points": opened.sql("SELECT * FROM metrics ORDER BY ts_ns, metric_name").to_pylist(),
            "media": opened.sql("SELECT ts_ns, step, key, path FROM media").to_pylist(),
            "left": [*(store / ".incoming").iterdir(), *(store / ".recording").glob("*.json")],
        }


def changes_of_a_migration(source: Path, store: Path) -> list[testing.Operation]:
    return testing.operations_of(lambda: migrate(source, store))


def test_killed_at_any_change_of_the_disk_the_next_one_makes_it_good(
    source: Path, empty_store: Path, tmp_path: Path
) -> None:
    expected = migrate_and_ask(source, shutil.copytree(empty_store, tmp_path / "whole"))
    assert expected["left"] == []
    changes = changes_of_a_migration(source, shutil.copytree(empty_store, tmp_path / "counted"))
    assert len(changes) > 20
    for n in range(len(changes)):
        store = shutil.copytree(empty_store, tmp_path / f"store{n}")
        crash = testing.killed_at(n, lambda _, store=store: migrate(source, store))  # type: ignore[misc]
        assert crash.killed
        assert migrate_and_ask(source, store) == expected, f"killed at change {n}, {changes[n]}"


def fail_at(n: int, lasting: bool, source: Path, store: Path) -> None:
    """Migrate with a disk that fails; run it in a process of its own, since only its end frees what it held."""
    with playhead.open(store) as opened, testing.failing_at(n, errno.ENOSPC, lasting=lasting):
        try:
            runicorn.migrate(source, opened)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise


@pytest.mark.parametrize("lasting", [False, True])
def test_whatever_change_of_the_disk_fails_the_next_one_makes_it_good(
    lasting: bool, source: Path, empty_store: Path, tmp_path: Path
) -> None:
    expected = migrate_and_ask(source, shutil.copytree(empty_store, tmp_path / "whole"))
    changes = changes_of_a_migration(source, shutil.copytree(empty_store, tmp_path / "counted"))
    for n in range(len(changes)):
        store = shutil.copytree(empty_store, tmp_path / f"store{n}")
        child = multiprocessing.get_context("fork").Process(target=fail_at, args=(n, lasting, source, store))
        child.start()
        child.join()
        assert child.exitcode == 0
        assert migrate_and_ask(source, store) == expected, f"failed at change {n}, {changes[n]}"


def test_all_event_files_of_a_run_that_was_moved_are_indexed_by_the_next_open(
    source: Path, empty_store: Path, tmp_path: Path
) -> None:
    run = source / "demo" / "expA" / "runs" / RUN
    shutil.copy(run / "events.jsonl", run / "events-3.jsonl")
    changes = changes_of_a_migration(source, shutil.copytree(empty_store, tmp_path / "counted"))
    moved = next(n for n, change in enumerate(changes) if change.name == "rename" and change.path.endswith(RUN))
    store = shutil.copytree(empty_store, tmp_path / "store")
    assert testing.killed_at(moved + 1, lambda _: migrate(source, store)).killed
    with playhead.open(store) as opened:
        assert opened.runs[RUN].points == 22


def test_a_run_that_was_moved_but_not_indexed_is_found_by_the_next_open(
    source: Path, empty_store: Path, tmp_path: Path
) -> None:
    changes = changes_of_a_migration(source, shutil.copytree(empty_store, tmp_path / "counted"))
    moved = next(n for n, change in enumerate(changes) if change.name == "rename" and change.path.endswith(RUN))
    store = shutil.copytree(empty_store, tmp_path / "store")
    assert testing.killed_at(moved + 1, lambda _: migrate(source, store)).killed
    assert os.listdir(store / "demo" / "expA" / "runs") == [RUN]
    with playhead.open(store) as opened:
        assert opened.runs[RUN].points == 11
