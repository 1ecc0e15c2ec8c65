"""`playhead purge`."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import DELETED, FIRST
from tests.cli.invoking import answer, in_terminal, invoke, start


def is_there(path: Path, run_id: str) -> bool:
    return any(path.rglob(run_id))


def test_removes_what_was_deleted_and_nothing_else(path: Path) -> None:
    assert answer("purge", "--yes", store=path) == {"purged": [DELETED]}
    assert not is_there(path, DELETED)
    assert is_there(path, FIRST)
    assert len(answer("ls", store=path)) == 3


def test_says_how_many_are_gone(path: Path) -> None:
    assert invoke("purge", "--yes", store=path).stdout == "Removed 1 run for good.\n"
    assert invoke("purge", "--yes", store=path).stdout == "Nothing to remove.\n"
    assert answer("purge", store=path) == {"purged": []}


def test_keeps_what_was_deleted_lately(path: Path) -> None:
    assert invoke("purge", "--older-than", "1", "--yes", store=path).stdout == "Nothing to remove.\n"
    assert is_there(path, DELETED)


def test_refuses_without_a_terminal_to_ask_in(path: Path) -> None:
    done = start("purge", store=path)
    assert done.returncode == 2
    assert "--yes" in done.stderr
    assert is_there(path, DELETED)


def test_asks_in_a_terminal_and_takes_no_for_an_answer(path: Path) -> None:
    code, shown = in_terminal("purge", store=path, keys=b"n\n")
    assert code == 1
    assert DELETED in shown
    assert "Remove 1 run for good? [y/N]" in shown
    assert is_there(path, DELETED)


def test_asks_in_a_terminal_and_takes_yes_for_an_answer(path: Path) -> None:
    code, shown = in_terminal("purge", store=path, keys=b"y\n")
    assert code == 0
    assert "Removed 1 run for good." in shown
    assert not is_there(path, DELETED)
