"""A child may be forked at any moment: it never waits for what another thread of its parent held, nor does the parent."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).parent / "forking_programs.py"
SHORT = ["modules", "a_write", "an_end", "itself", "locks"]


def run(folder: Path | str, *names: str) -> tuple[dict[str, Any], str]:
    command = [sys.executable, PROGRAM, folder, *names]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=90)
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


@pytest.fixture(scope="module")
def found() -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        yield run(folder, *SHORT)[0]


def test_children_use_sqlite_while_threads_of_the_parent_do(tmp_path: Path) -> None:
    assert run(tmp_path, "queries")[0]["queries"] == [0] * 8


def test_children_record_into_a_run_that_is_recorded_flat_out(tmp_path: Path) -> None:
    assert run(tmp_path, "recorders")[0]["recorders"] == [[0] * 5, 5]


def test_a_child_does_not_wait_for_a_transaction_of_the_parent(found: dict[str, Any]) -> None:
    assert found["a_write"] == 0


def test_a_child_goes_on_with_a_store_that_the_parent_closes(found: dict[str, Any]) -> None:
    left, code, runs = found["an_end"]
    assert "playhead.db-wal" in left
    assert (code, runs) == (0, 22)


def test_a_fork_does_not_wait_for_what_takes_long(tmp_path: Path) -> None:
    found, said = run(tmp_path, "a_long_query")
    assert [code for code, _ in found["a_long_query"]] == [*[0] * 4, 1] * 2
    assert max(took for _, took in found["a_long_query"]) < 1.5
    assert said.count("Forked: ") == 2


def test_a_thread_that_is_at_work_itself_forks(found: dict[str, Any]) -> None:
    codes, took, runs = found["itself"]
    assert (codes, runs) == ([1, 0, 0], 1)
    assert took < 5


def test_a_child_loads_what_the_background_of_the_parent_is_loading(found: dict[str, Any]) -> None:
    assert found["modules"] == 0


def test_children_keep_no_program_from_being_started(tmp_path: Path) -> None:
    assert run(tmp_path, "programs")[0]["programs"] < 0.4


def test_locks_of_the_disk_are_those_of_the_parent(found: dict[str, Any]) -> None:
    assert found["locks"] == [True, False]
