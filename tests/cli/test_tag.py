"""`playhead tag`."""

from __future__ import annotations

from pathlib import Path

import playhead
from tests.cli.conftest import BROKEN, FIRST, SECOND
from tests.cli.invoking import answer, invoke


def test_adds_and_removes_tags_of_several_runs(path: Path) -> None:
    shown = invoke("tag", FIRST, SECOND, "--add", "good", "--add", "fast", "--remove", "paper", store=path).stdout
    assert "baseline, fast, good" in shown
    with playhead.open(path, "r") as store:
        assert store.runs[FIRST].tags == ["baseline", "fast", "good"]
        assert store.runs[SECOND].tags == ["fast", "good"]
        assert store.runs[BROKEN].tags == []


def test_sets_and_clears_the_notes(path: Path) -> None:
    [changed] = answer("tag", "last", "--note", "look\nhere", store=path)
    assert changed == {"id": BROKEN, "tags": [], "notes": "look\nhere"}
    assert answer("tag", "last", "--note", "", store=path)[0]["notes"] == ""


def test_without_a_change_shows_what_there_is(made: Path) -> None:
    assert answer("tag", FIRST, store=made) == [{"id": FIRST, "tags": ["baseline", "paper"], "notes": "first\ntry"}]


def test_one_unknown_run_changes_none(path: Path) -> None:
    invoke("tag", FIRST, "nonsense", "--add", "good", store=path, expect=1)
    assert answer("tag", FIRST, store=path)[0]["tags"] == ["baseline", "paper"]


def test_a_bad_tag_is_refused_with_the_reason(path: Path) -> None:
    assert "must not be empty" in invoke("tag", FIRST, "--add", " ", store=path, expect=1).stderr


def test_a_run_named_twice_is_one(path: Path) -> None:
    assert len(answer("tag", FIRST, FIRST[:12], "--add", "good", store=path)) == 1
