"""`playhead show`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import playhead
from tests.cli.conftest import BROKEN, DELETED, FIRST
from tests.cli.invoking import answer, in_terminal, invoke, start


def test_shows_everything_of_a_run(made: Path) -> None:
    shown = invoke("show", FIRST, store=made).stdout
    lines = shown.splitlines()
    assert lines[0] == f"{FIRST}  pong/dqn  finished"
    for fact in ("created", "duration", "best", "tags", "notes", "host", "command", "folder"):
        assert re.search(rf"^  {fact} +\S", shown, re.MULTILINE), fact
    assert "return 99.001 at step 99" in shown
    assert "baseline, paper" in shown
    assert r"first\ntry" in shown
    assert str(next(made.rglob(FIRST))) in shown


def test_shows_the_config_as_a_tree(made: Path) -> None:
    shown = invoke("show", FIRST, store=made).stdout
    assert "\nConfig\n  lr     0.001\n  net\n    layers  [64,64]\n    act     relu\n  limit  inf\n" in shown
    assert "\nSummary\n  wins  12\n" in shown


def test_shows_the_metrics_with_a_curve(made: Path) -> None:
    shown = invoke("show", FIRST, store=made).stdout
    assert re.search(r"^  name +stage +points +last +min +max +curve$", shown, re.MULTILINE)
    assert re.search(r"^  loss +100 +0.0070834 +0.0070834 +1 +██▇▆.*▁▁▁$", shown, re.MULTILINE)
    assert re.search(r"^  return +eval +1 +55.5 +55.5 +55.5 +▄$", shown, re.MULTILINE)


def test_metrics_of_several_processes_are_one_line(empty: Path) -> None:
    with playhead.open(empty) as store, store.run("p", "n", environment=False) as run:
        run.log({"loss": 1.0})
        run.log({"loss": 2.0})
        other = store.attach(run.id)
        other.log({"loss": 0.5})
        other.close()
    [metric] = answer("show", "last", store=empty)["metrics"]
    assert (metric["points"], metric["min"], metric["max"], metric["last"]) == (3, 0.5, 2.0, 0.5)


def test_shows_media_and_the_end_of_the_log(made: Path) -> None:
    shown = invoke("show", FIRST, store=made).stdout
    assert re.search(r"^  frame +1 +7 +media/\S+\.png$", shown, re.MULTILINE)
    log = shown.partition("Log (last 10 lines)\n")[2].splitlines()
    assert [line.split(" | ")[1] for line in log] == [f"line {number}" for number in range(20, 30)]


def test_shows_why_a_run_failed(made: Path) -> None:
    shown = invoke("show", BROKEN, store=made).stdout
    assert "failed" in shown.splitlines()[0]
    assert r"ValueError: the loss diverged\nat once" in shown
    assert re.search(r"^  loss +1 +nan", shown, re.MULTILINE)


def test_json_holds_all_of_it(made: Path) -> None:
    found = answer("show", FIRST, store=made)
    assert found["config"] == {"lr": 1e-3, "net": {"layers": [64, 64], "act": "relu"}, "limit": "Infinity"}
    assert found["notes"] == "first\ntry"
    assert found["summary"] == {"wins": 12}
    assert found["environment"]["python"]
    assert {"points", "last", "last_step", "min", "min_step", "max", "max_step", "name", "stage"} == set(
        found["metrics"][0]
    )
    assert found["media"][0]["caption"] == "black"
    assert Path(found["media"][0]["path"]).is_file()
    assert len(found["log"]) == 10
    assert answer("show", BROKEN, store=made)["metrics"][0]["last"] == "NaN"


def test_config_alone(made: Path) -> None:
    assert invoke("show", FIRST, "--config", store=made).stdout.startswith("lr     0.001\n")
    assert answer("show", FIRST, "--config", store=made)["lr"] == 1e-3


def test_logs_alone(made: Path) -> None:
    log = start("show", FIRST, "--logs", store=made).stdout.splitlines()
    assert len(log) == 30
    assert log[0].endswith("| line 0")
    assert answer("show", FIRST, "--logs", store=made)["log"].count("\n") == 30
    assert invoke("show", BROKEN, "--logs", store=made).stdout == ""


HOSTILE = "\x1b]8;;http://example.com\x1b\\click\x1b]8;;\x1b\\ \x1b[31mred\x1b[2J\t日本\u202e end"


def test_logs_neither_paint_a_terminal_nor_move_its_cursor(empty: Path) -> None:
    with playhead.open(empty) as store, store.run("p", "n", run_id="odd", environment=False) as run:
        run.log_text(HOSTILE)
    _, shown = in_terminal("show", "odd", "--logs", store=empty)
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert r"click\x1b]8;;\x1b\ \x1b[31mred\x1b[2J" in shown
    assert "日本" in shown
    assert HOSTILE in start("show", "odd", "--logs", store=empty).stdout  # for another program, as it is


def test_config_and_logs_exclude_each_other(made: Path) -> None:
    error = invoke("show", FIRST, "--config", "--logs", store=made, expect=2).stderr
    assert "--config and --logs exclude each other" in error


def test_a_deleted_run_is_shown_as_such(made: Path) -> None:
    assert "in the recycle bin" in invoke("show", DELETED, store=made).stdout.splitlines()[0]


def test_fits_into_a_terminal(made: Path) -> None:
    code, shown = in_terminal("show", FIRST, store=made, columns=80)
    assert code == 0
    table = re.sub(r"\x1b\[[0-9;]*m", "", shown).partition("Metrics\n")[2].partition("\n\n")[0]
    assert max(map(len, table.splitlines())) <= 80


@pytest.mark.parametrize("text", ["\x1b[31mred", "a\rb"])
def test_no_text_of_a_run_paints_the_terminal(empty: Path, text: str) -> None:
    with playhead.open(empty) as store:
        with store.run("p", "n", config={"text": text, text: 1}, notes=text, environment=False) as run:
            run.log_text(text)
    _, shown = in_terminal("show", "last", store=empty)
    assert text not in shown
    assert repr(text)[1:-1] in shown
