"""`playhead verify`, `repair`, `gc`, `du`, `compact` and `optimize`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.conftest import FIRST, SECOND
from tests.cli.invoking import answer, in_terminal, invoke


def break_events(path: Path) -> Path:
    file = path / "pong" / "dqn" / "runs" / FIRST / "events.jsonl"
    data = file.read_bytes()
    file.write_bytes(data.replace(b'"return":7.001', b'"return":8.001', 1))
    assert file.read_bytes() != data
    return file


def test_verify_says_that_all_is_well(path: Path) -> None:
    assert "all is well. Bytes were not read" in invoke("verify", store=path).stdout
    assert "all is well." in invoke("verify", "--full", store=path).stdout


def test_verify_names_file_expectation_and_command(path: Path) -> None:
    broken = break_events(path)
    assert answer("verify", store=path)["findings"] == []
    said = answer("verify", "--full", store=path, expect=1)
    assert said["checked"] > 3
    (finding,) = said["findings"]
    assert (finding["lane"], finding["path"]) == ("runs", str(broken))
    assert "as checksums.json says" in finding["expected"]
    assert f"remove {broken.with_name('checksums.json')}" in finding["mend"]


def test_verify_names_what_the_catalogue_has_otherwise(path: Path) -> None:
    break_events(path).with_name("checksums.json").unlink()
    said = answer("verify", "--full", store=path, expect=1)
    assert {finding["lane"] for finding in said["findings"]} == {"catalogue"}
    assert any("8.001" in finding["expected"] and "7.001" in finding["found"] for finding in said["findings"])
    shown = invoke("verify", "--full", store=path, expect=1).stdout
    assert "playhead.db" in shown
    assert f"Only if the file is right, run: playhead rebuild --store {path}" in shown


def test_verify_in_parts(path: Path) -> None:
    first = answer("verify", "--subset", "1/2", store=path)["checked"]
    second = answer("verify", "--subset", "1/2", store=path)["checked"]
    assert first + second == answer("verify", store=path)["checked"]
    assert "1/30" in invoke("verify", "--subset", "half", store=path, expect=1).stderr


def test_verify_of_nothing(tmp_path: Path) -> None:
    assert "is not a Playhead store" in invoke("verify", store=tmp_path, expect=1).stderr


def test_repair_mends_and_says_so(path: Path) -> None:
    status = path / "pong" / "dqn" / "runs" / SECOND / "status.json"
    status.write_text("{")
    told = answer("repair", "--dry-run", store=path)["deeds"]
    assert [deed["done"] for deed in told] == ["would: run facts"]
    assert status.read_text() == "{"
    assert "mended, 0 left to do" in invoke("repair", store=path).stdout
    assert answer("verify", "--full", store=path)["findings"] == []
    assert answer("repair", store=path)["deeds"] == []


def test_repair_ends_with_1_where_something_is_left(path: Path) -> None:
    (path / "pong" / "dqn" / "runs" / FIRST / "summary.json").write_text("{")
    (deed,) = answer("repair", store=path, expect=1)["deeds"]
    assert "by hand" in deed["left"]


def test_gc_tells_and_removes(path: Path) -> None:
    left = path / ".x.999999999-0badf00d.tmp"
    left.write_bytes(b"12345")
    assert answer("gc", store=path)["garbage"] == []
    os.utime(left, (0, 0))
    assert "Would remove 1 thing, 5 B." in invoke("gc", "--dry-run", store=path).stdout
    assert left.exists()
    assert answer("gc", store=path)["bytes"] == 5
    assert not left.exists()


def test_du_adds_up(path: Path) -> None:
    said = answer("du", store=path)
    assert said["total"] == sum(said["lanes"].values())
    assert FIRST in said["runs"]
    shown = invoke("du", "-n", "1", store=path).stdout
    assert "lanes" in shown
    assert "and 3 more" in shown


def test_optimize_says_what_it_does(path: Path) -> None:
    assert [step["name"] for step in answer("optimize", "--dry-run", store=path)["steps"]] == ["analyze"]
    assert "statistics" in invoke("optimize", store=path).stdout
    assert invoke("optimize", store=path).stdout == "Nothing would make it quicker.\n"


@pytest.mark.parametrize("command", ["gc", "compact", "optimize"])
def test_a_store_that_is_not_there_is_not_made(tmp_path: Path, command: str) -> None:
    assert "there is no store" in invoke(command, store=tmp_path / "none", expect=1).stderr
    assert not (tmp_path / "none").exists()


def test_findings_in_a_terminal(path: Path) -> None:
    break_events(path)
    code, shown = in_terminal("verify", "--full", store=path)
    assert code == 1
    assert "damage" in shown
