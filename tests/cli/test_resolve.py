"""Which run is meant by `last`, an id, or the beginning of one."""

from __future__ import annotations

from pathlib import Path

import pytest

import playhead
from tests.cli.conftest import BROKEN, DELETED, FIRST, SECOND
from tests.cli.invoking import answer, invoke


def meant(text: str, store: Path) -> str:
    return str(answer("show", text, store=store)["id"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (FIRST, FIRST),
        ("20260101_10", FIRST),
        ("20260101_11", SECOND),
        ("20260102", BROKEN),
        ("last", BROKEN),
        ("20260103", DELETED),
    ],
)
def test_finds_a_run(made: Path, text: str, expected: str) -> None:
    assert meant(text, made) == expected


def test_a_beginning_of_several_ids_lists_them(made: Path) -> None:
    error = invoke("show", "20260101", store=made, expect=1).stderr
    assert error == (
        f"playhead: '20260101' is the beginning of more than one id: {SECOND}, {FIRST}. Write more of it\n"
    )


@pytest.mark.parametrize("text", ["2027", "", "%", "2026010_", "' or '1' = '1", "ünï", "~", "20260101_100000_aaaaaaa"])
def test_a_text_that_is_no_beginning_lists_what_there_is(made: Path, text: str) -> None:
    error = invoke("show", text, store=made, expect=1).stderr
    assert error.startswith("playhead: no run ")
    assert FIRST in error
    assert "playhead ls" in error


def test_an_underscore_is_no_wildcard(empty: Path) -> None:
    with playhead.open(empty) as store:
        for run_id in ("a_b", "axb"):
            with store.run("p", "n", run_id=run_id, environment=False):
                pass
    assert meant("a_", empty) == "a_b"


def test_a_whole_id_wins_over_longer_ones_and_over_the_word(empty: Path) -> None:
    with playhead.open(empty) as store:
        for run_id in ("last", "a", "ab"):
            with store.run("p", "n", run_id=run_id, environment=False):
                pass
    assert meant("a", empty) == "a"
    assert meant("last", empty) == "last"


def test_there_is_no_last_run_in_an_empty_store(empty: Path) -> None:
    assert "there is no run at all" in invoke("show", "last", store=empty, expect=1).stderr


def test_a_deleted_run_must_be_restored_before_it_is_changed(path: Path) -> None:
    assert f"playhead restore {DELETED}" in invoke("tag", DELETED, "--add", "x", store=path, expect=1).stderr
    assert f"playhead restore {DELETED}" in invoke("rm", "20260103", store=path, expect=1).stderr
