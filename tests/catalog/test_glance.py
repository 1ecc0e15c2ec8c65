"""A quick look at the catalogue."""

from __future__ import annotations

from pathlib import Path

import pytest

import playhead
from playhead.catalog import glance


@pytest.fixture
def database(store: playhead.Store) -> Path:
    for project, run_id in (("b", "b_1"), ("a", "bx1"), ("b", "b_2"), ("a", "c1")):
        with store.run(project, "n", run_id=run_id, environment=False):
            pass
    store.runs["c1"].delete()
    return store.path / "playhead.db"


def test_lists_ids_by_their_beginning_newest_first(database: Path) -> None:
    assert [run.id for run in glance.runs(database, "b_")] == ["b_2", "b_1"]
    assert [run.id for run in glance.runs(database, "")] == ["b_2", "bx1", "b_1"]
    assert glance.runs(database, "bx")[0] == ("bx1", "a", "n", "finished")


def test_lists_the_recycle_bin(database: Path) -> None:
    assert [run.id for run in glance.runs(database, "", deleted=True)] == ["c1"]


def test_lists_at_most_so_many(database: Path) -> None:
    assert len(glance.runs(database, "", most=2)) == 2


def test_lists_projects_once_and_sorted(database: Path) -> None:
    assert glance.projects(database) == ["a", "b"]


def test_a_missing_file_is_as_good_as_empty_and_not_made(tmp_path: Path) -> None:
    assert glance.runs(tmp_path / "playhead.db", "") == []
    assert glance.projects(tmp_path / "playhead.db") == []
    assert list(tmp_path.iterdir()) == []


def test_agrees_with_the_catalogue_while_a_run_is_recorded(store: playhead.Store) -> None:
    with store.run("p", "n", environment=False) as run:
        assert [found.id for found in glance.runs(store.path / "playhead.db", "")] == [run.id]
