"""`playhead restore`."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import DELETED, FIRST, SECOND
from tests.cli.invoking import answer, invoke


def test_brings_a_run_back_as_it_was(path: Path) -> None:
    before = answer("show", FIRST, store=path)
    invoke("rm", FIRST, store=path)
    assert f"Restored {FIRST} (pong/dqn), finished." in invoke("restore", FIRST[:12], store=path).stdout
    assert answer("show", FIRST, store=path) == before


def test_last_is_the_one_deleted_last(path: Path) -> None:
    invoke("rm", SECOND, store=path)
    invoke("rm", FIRST, store=path)
    assert answer("restore", "last", store=path) == {"restored": [FIRST]}


def test_a_run_outside_the_bin_has_nothing_to_restore(path: Path) -> None:
    assert "not in the recycle bin" in invoke("restore", FIRST, store=path, expect=1).stderr


def test_an_unknown_run_lists_what_is_in_the_bin(path: Path) -> None:
    error = invoke("restore", "nonsense", store=path, expect=1).stderr
    assert error.startswith("playhead: no deleted run 'nonsense'")
    assert DELETED in error
