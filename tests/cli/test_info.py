"""`playhead info`."""

from __future__ import annotations

import platform
import sqlite3
from pathlib import Path

import playhead
from playhead.cli import info
from tests.cli.invoking import answer, invoke


def test_tells_versions_and_the_store(made: Path) -> None:
    found = answer("info", store=made)
    assert found["playhead"] == playhead.__version__
    assert found["python"] == platform.python_version()
    assert found["sqlite"] == sqlite3.sqlite_version
    assert found["dependencies"]["click"]
    assert {"system", "pandas"} <= set(found["extras"])
    assert found["store"]["path"] == str(made)
    assert (found["store"]["runs"], found["store"]["deleted_runs"], found["store"]["points"]) == (3, 1, 403)
    assert found["store"]["bytes"] > 10_000


def test_the_text_has_it_too(made: Path) -> None:
    shown = invoke("info", store=made).stdout
    for text in (
        f"Playhead {playhead.__version__}",
        "sqlalchemy",
        "Extras",
        str(made),
        "3, and 1 deleted",
        "write-ahead",
    ):
        assert text in shown


def test_works_without_a_store(tmp_path: Path) -> None:
    result = invoke("info", "--store", tmp_path / "nowhere")
    assert "Playhead" in result.stdout
    assert "there is no store at" in result.stderr
    assert answer("info", "--store", tmp_path / "nowhere")["store"] is None


def test_a_store_that_cannot_be_read_fails_after_the_versions(path: Path) -> None:
    (path / "playhead.db").write_bytes(b"ruined" * 1000)
    result = invoke("info", store=path, expect=1)
    assert "sqlite" in result.stdout
    assert "playhead rebuild" in result.stderr


def test_a_missing_extra_comes_with_the_command_that_installs_it() -> None:
    assert info._extra("gym", {"gymnasium": None}) == "gymnasium missing: pip install 'playhead[gym]'"
    assert info._extra("x", {"a": "1", "b": None}) == "a 1; b missing: pip install 'playhead[x]'"
    assert info._extra("x", {"a": "1", "b": "2"}) == "a 1, b 2"


def test_a_damaged_event_file_is_told(path: Path) -> None:
    events = next(path.glob("pong/*/runs/*/events.jsonl"))
    events.write_bytes(events.read_bytes() + b"nonsense\n")
    invoke("rebuild", store=path)
    assert "1 line of event files could not be read" in invoke("info", store=path).stdout
