"""`playhead ls`."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import playhead
from tests.cli.conftest import BROKEN, DELETED, FIRST, SECOND
from tests.cli.invoking import answer, in_terminal, invoke


def ids(*arguments: str, store: Path) -> list[str]:
    return [run["id"] for run in answer("ls", *arguments, store=store)]


def test_lists_the_newest_first(made: Path) -> None:
    lines = invoke("ls", store=made).stdout.splitlines()
    assert lines[0].split() == ["id", "run", "status", "created", "duration", "best", "tags"]
    assert [line.split()[0] for line in lines[1:]] == [BROKEN, SECOND, FIRST]
    assert re.search(
        r"pong/dqn +finished +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d +\d.*s +return 99.* +baseline, paper$", lines[3]
    )


def test_columns_are_aligned(made: Path) -> None:
    lines = invoke("ls", store=made).stdout.splitlines()
    assert {line.index("pong/dqn") for line in lines if "pong/dqn" in line} == {lines[0].index("run")}


def test_json_has_stable_keys(made: Path) -> None:
    newest = answer("ls", store=made)[0]
    assert list(newest) == [
        "id", "project", "name", "status", "died", "exit_reason", "created_at", "ended_at", "duration",
        "primary_metric", "best", "best_step", "points", "tags", "deleted_at", "path", "holds",
    ]  # fmt: skip
    assert newest["status"] == "failed"
    assert newest["exit_reason"] == "ValueError: the loss diverged\nat once"
    assert Path(newest["path"]).is_dir()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["pong"], [SECOND, FIRST]),
        (["--status", "failed"], [BROKEN]),
        (["--tag", "paper"], [FIRST]),
        (["--tag", "paper", "--tag", "baseline"], [FIRST]),
        (["--tag", "nothing"], []),
        (["--where", "config.lr < 5e-4"], [SECOND]),
        (["--where", "config.net.act = 'relu' and not 'paper' in tags"], [SECOND]),
        (["--order", "created_at"], [FIRST, SECOND, BROKEN]),
        (["pong", "--order", "best"], [FIRST, SECOND]),
        (["--limit", "1"], [BROKEN]),
        (["--limit", "0"], [BROKEN, SECOND, FIRST]),
        (["--deleted"], [DELETED]),
    ],
)
def test_narrows_and_sorts(made: Path, arguments: list[str], expected: list[str]) -> None:
    assert ids(*arguments, store=made) == expected


def test_tells_how_many_more_there_are(made: Path) -> None:
    assert "2 more runs; --limit 0" in invoke("ls", "--limit", "1", store=made).stderr
    assert invoke("ls", "--limit", "3", store=made).stderr == ""


def test_shows_the_columns_that_are_asked_for(made: Path) -> None:
    wanted = "name,config.lr,config.net.layers,metric.loss,min.return,max.return,summary.wins,environment.python"
    table = invoke("ls", "pong", "--columns", wanted, "--order", "created_at", store=made).stdout.splitlines()
    assert table[0].split() == ["id", *wanted.split(",")]
    first = table[1].split()
    assert first[:4] == [FIRST, "dqn", "0.001", "[64,64]"]
    assert first[5:8] == ["55.5", "55.5", "12"]
    assert first[8] == sys.version.split()[0]


def test_a_run_without_a_value_has_an_empty_cell(made: Path) -> None:
    found = {run["id"]: run for run in answer("ls", "--columns", "config.lr,metric.loss", store=made)}
    assert found[BROKEN]["config.lr"] is None
    assert found[BROKEN]["metric.loss"] == "NaN"
    assert found[FIRST]["config.lr"] == 1e-3


def test_every_field_is_a_column(made: Path) -> None:
    names = (
        "project,name,status,exit_reason,created_at,ended_at,deleted_at,duration,best,best_step,best_metric,points,"
        "tags,notes"
    )
    table = invoke("ls", "--columns", names, store=made).stdout
    assert "return" in table
    assert r"first\ntry" in table
    assert r"the loss diverged\nat once" in table


def test_an_unknown_column_lists_what_there_is(made: Path) -> None:
    error = invoke("ls", "--columns", "colour", store=made, expect=1).stderr
    assert error.startswith("playhead: no column 'colour'; there is: id, project")
    assert "config.NAME" in error


def test_a_wrong_condition_is_pointed_at(made: Path) -> None:
    error = invoke("ls", "--where", "config.lr << 3", store=made, expect=1).stderr
    message, text, caret = error.splitlines()
    assert message.startswith("playhead: expected")
    assert text[caret.index("^")] == "<"


def test_an_empty_store_says_how_to_record(empty: Path, tmp_path: Path) -> None:
    result = invoke("ls", store=empty)
    assert result.stdout == ""
    assert "No runs in" in result.stderr
    script = result.stderr.partition("\n\n")[2]
    subprocess.run([sys.executable, "-c", "if True:\n" + script], check=True, cwd=tmp_path)
    assert len(ids(store=empty)) == 1


def test_an_empty_store_is_an_empty_list(empty: Path) -> None:
    assert answer("ls", store=empty) == []


def test_says_why_nothing_is_listed(made: Path, empty: Path) -> None:
    assert "No run fits, of 3 runs" in invoke("ls", "--tag", "nothing", store=made).stderr
    assert "recycle bin" in invoke("ls", "--deleted", store=empty).stderr
    error = invoke("ls", "pang", store=made, expect=1).stderr
    assert error == "playhead: no project 'pang'; there is: cartpole, pong\n"


def test_a_run_whose_process_is_gone_is_shown_as_died(empty: Path) -> None:
    script = (
        "import os, playhead\n"
        f"run = playhead.open({str(empty)!r}).run('p', 'killed', run_id='dead', environment=False)\n"
        "os._exit(1)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=False)
    assert re.search(r"dead +p/killed +died", invoke("ls", store=empty).stdout)
    assert "its process is gone" in invoke("show", "dead", store=empty).stdout
    found = answer("ls", store=empty)[0]
    assert (found["status"], found["died"]) == ("running", True)


def test_a_run_that_is_being_recorded_is_running(empty: Path) -> None:
    with playhead.open(empty) as store, store.run("p", "now", environment=False):
        assert re.search(r"p/now +running", invoke("ls", store=empty).stdout)
        assert re.search(r"now +running", invoke("ls", "--columns", "name,status", store=empty).stdout)
        assert answer("ls", store=empty)[0]["died"] is False


def test_a_run_without_its_files_does_not_hide_the_others(path: Path) -> None:
    shutil.rmtree(next(path.rglob(FIRST)))
    answer("ls", store=path)  # a copy notices at its first open what it does not hold
    assert {SECOND, BROKEN} <= {run["id"] for run in answer("ls", store=path)}


def test_a_narrow_terminal_keeps_ids_whole_and_leaves_columns_out(made: Path) -> None:
    _, wide = in_terminal("ls", store=made, columns=140)
    _, narrow = in_terminal("ls", store=made, columns=70)
    assert "duration" in wide
    assert "duration" not in narrow
    for run_id in (FIRST, SECOND, BROKEN):
        assert run_id in narrow
    plain = re.sub(r"\x1b\[[0-9;]*m", "", narrow)
    assert max(map(len, plain.splitlines())) <= 70


def test_a_terminal_shows_how_long_ago(made: Path) -> None:
    _, shown = in_terminal("ls", store=made, columns=140)
    assert re.search(r"just now|min ago", shown)


def test_long_and_hostile_texts_stay_on_one_line(empty: Path) -> None:
    with playhead.open(empty) as store:
        with store.run("日本語", "名前", config={"evil": "\x1b[2J\nred"}, run_id="wide", environment=False):
            pass
        with store.run("p", "n", run_id="thin", environment=False):
            pass
    header, thin, wide = invoke("ls", "--columns", "project,config.evil,name", store=empty).stdout.splitlines()
    assert r"\x1b[2J\nred" in wide
    assert header.index("config.evil") == wide.index(r"\x1b") + 3  # three characters that take two places each
    assert thin.startswith("thin  p")


def test_json_is_strict(made: Path) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    shown = invoke("ls", "--columns", "metric.loss,config.limit", "--json", store=made).stdout
    values = {run["id"]: run for run in json.loads(shown, parse_constant=refuse)}
    assert values[BROKEN]["metric.loss"] == "NaN"
    assert values[FIRST]["config.limit"] == "Infinity"


def test_an_unknown_order_says_what_there_is(made: Path) -> None:
    failed = invoke("ls", "--order=-zz", store=made, expect=1)
    assert "playhead: cannot sort by 'zz': no field 'zz'; there is: id, project" in failed.stderr
