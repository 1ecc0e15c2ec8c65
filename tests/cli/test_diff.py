"""`playhead diff`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import playhead
from tests.cli.conftest import BROKEN, FIRST, SECOND
from tests.cli.invoking import answer, in_terminal, invoke


def test_shows_what_differs_side_by_side(made: Path) -> None:
    shown = invoke("diff", FIRST, SECOND, store=made).stdout
    assert shown.splitlines()[0].split() == [FIRST, SECOND]
    assert re.search(r"^Config\n  lr +0.001 +0.0001$", shown, re.MULTILINE)
    assert re.search(r"^  best return +99.001 +99.0001$", shown, re.MULTILINE)
    assert "net.act" not in shown
    assert "packages" not in shown


def test_all_shows_what_is_equal_too(made: Path) -> None:
    shown = invoke("diff", FIRST, SECOND, "--all", store=made).stdout
    assert re.search(r"^  net.act +relu +relu$", shown, re.MULTILINE)
    assert re.search(r"^  packages.numpy +\S+ +\S+$", shown, re.MULTILINE)


def test_what_one_run_lacks_is_a_dash(made: Path) -> None:
    shown = invoke("diff", FIRST, BROKEN, store=made).stdout
    assert re.search(r"^  lr +0.001 +–$", shown, re.MULTILINE)
    found = answer("diff", FIRST, BROKEN, store=made)
    assert found["sections"]["config"]["lr"] == {"left": 1e-3}
    assert found["sections"]["metrics"]["last loss"]["right"] == "NaN"


def test_json_names_the_runs_and_only_differences(made: Path) -> None:
    found = answer("diff", FIRST, SECOND, store=made)
    assert (found["left"], found["right"]) == (FIRST, SECOND)
    assert found["sections"]["config"] == {"lr": {"left": 1e-3, "right": 1e-4}}
    assert set(found["sections"]) == {"config", "metrics"}


def test_a_run_does_not_differ_from_itself_even_with_nan(made: Path) -> None:
    assert "do not differ" in invoke("diff", BROKEN, "last", store=made).stdout
    assert answer("diff", BROKEN, BROKEN, store=made)["sections"] == {}


def test_environments_are_compared(path: Path) -> None:
    file = next(path.rglob(SECOND)) / "environment.json"
    content = json.loads(file.read_text())
    content["packages"]["numpy"] = "0.1"
    content["git"] = {"commit": "abc", "diff": "x\n" * 500, "dirty": True}
    file.write_text(json.dumps(content))
    shown = invoke("diff", FIRST, SECOND, store=path).stdout
    assert re.search(r"^  packages.numpy +\S+ +0.1$", shown, re.MULTILINE)
    assert re.search(r"^  git.diff +.*500 lines$", shown, re.MULTILINE)


def test_long_values_are_cut_in_the_text_and_whole_in_json(empty: Path) -> None:
    with playhead.open(empty) as store:
        for run_id, letter in (("a", "x"), ("b", "y")):
            with store.run("p", "n", config={"long": letter * 500}, run_id=run_id, environment=False):
                pass
    assert max(map(len, invoke("diff", "a", "b", store=empty).stdout.splitlines())) < 150
    assert answer("diff", "a", "b", store=empty)["sections"]["config"]["long"]["right"] == "y" * 500


def test_an_unknown_run_is_an_error(made: Path) -> None:
    assert "no run 'nonsense'" in invoke("diff", FIRST, "nonsense", store=made, expect=1).stderr


def test_fits_into_a_terminal(made: Path) -> None:
    code, shown = in_terminal("diff", FIRST, SECOND, "--all", store=made, columns=80)
    assert code == 0
    assert max(map(len, re.sub(r"\x1b\[[0-9;]*m", "", shown).splitlines())) <= 80
