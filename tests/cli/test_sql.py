"""`playhead sql`."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from tests.cli.conftest import BROKEN, FIRST, SECOND
from tests.cli.invoking import answer, in_terminal, invoke

BY_NAME = "SELECT id FROM runs WHERE name = :name AND best_metric_value > :best ORDER BY id"


def test_prints_an_aligned_table(made: Path) -> None:
    table = invoke("sql", "SELECT name, metric_count AS n, notes FROM runs ORDER BY id LIMIT 3", store=made).stdout
    assert table.splitlines() == [
        "name    n  notes",
        r"dqn   201  first\ntry",
        r"dqn   201  first\ntry",
        "ppo     1",
    ]


def test_times_keep_their_digits(made: Path) -> None:
    assert "1767225600.25" in invoke("sql", "SELECT 1767225600.25 AS t", store=made).stdout


def test_json_is_a_list_of_objects(made: Path) -> None:
    found = answer("sql", "SELECT id, exit_reason FROM runs ORDER BY id LIMIT 1", store=made)
    assert found == [{"id": FIRST, "exit_reason": None}]


def test_json_keeps_columns_of_one_name_apart(made: Path) -> None:
    assert answer("sql", "SELECT 1 AS a, 2 AS a, 3 AS b", store=made) == [{"a": 1, "a_2": 2, "b": 3}]


def test_csv_can_be_read_back(made: Path) -> None:
    text = invoke("sql", "SELECT id, notes FROM runs ORDER BY id LIMIT 1", "--csv", store=made).stdout
    assert list(csv.reader(io.StringIO(text))) == [["id", "notes"], [FIRST, "first\ntry"]]


def test_no_rows(made: Path) -> None:
    query = "SELECT id, name FROM runs WHERE id = 'x'"
    assert invoke("sql", query, store=made).stdout == "id  name\n"
    assert answer("sql", query, store=made) == []
    assert invoke("sql", query, "--csv", store=made).stdout == "id,name\n"


def test_parameters_in_order(made: Path) -> None:
    query = "SELECT id FROM runs WHERE name = ? AND created_at > ? ORDER BY id"
    assert answer("sql", query, "--param", "ppo", "--param", "1.5", store=made)[0]["id"] == BROKEN


def test_parameters_by_name(made: Path) -> None:
    found = answer("sql", BY_NAME, "--param", "name=dqn", "--param", "best=1", store=made)
    assert [row["id"] for row in found] == [FIRST, SECOND]


def test_a_parameter_is_a_number_if_it_reads_as_one_and_is_not_quoted(made: Path) -> None:
    query = "SELECT typeof(?) AS a, typeof(?) AS b, typeof(?) AS c, typeof(?) AS d, ? AS e"
    values = [piece for value in ("1", "1.5", "x", "'1'", "a=b") for piece in ("--param", value)]
    assert answer("sql", query, *values, store=made) == [
        {"a": "integer", "b": "real", "c": "text", "d": "text", "e": "a=b"}
    ]


@pytest.mark.parametrize("run_id", ["20260101_100000_123456", "20260101_100000_12e456"])
def test_the_id_of_a_run_is_text_also_where_it_has_only_digits(made: Path, run_id: str) -> None:
    assert answer("sql", "SELECT ? AS id", "--param", run_id, store=made) == [{"id": run_id}]


@pytest.mark.parametrize(
    ("given", "why"), [("9223372036854775808", "larger than SQLite's"), ("\udcff", "is not UTF-8")]
)
def test_a_value_that_sqlite_does_not_hold_is_refused(made: Path, given: str, why: str) -> None:
    assert why in invoke("sql", "SELECT ?", "--param", given, store=made, expect=1).stderr


@pytest.mark.parametrize("seconds", ["inf", "nan"])
def test_a_time_without_end_is_no_limit(made: Path, seconds: str) -> None:
    assert answer("sql", "SELECT 1 AS a", "--timeout", seconds, store=made) == [{"a": 1}]


def test_a_name_that_the_query_does_not_have_is_refused(made: Path) -> None:
    assert "no :nmae" in invoke("sql", BY_NAME, "--param", "nmae=dqn", store=made, expect=2).stderr
    assert answer("sql", "SELECT ? AS a", "--param", "nmae=dqn", store=made) == [{"a": "nmae=dqn"}]


def test_named_and_unnamed_parameters_do_not_mix(made: Path) -> None:
    assert "NAME=VALUE" in invoke("sql", BY_NAME, "--param", "name=dqn", "--param", "1", store=made, expect=2).stderr


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("DELETE FROM runs", "only reading is allowed"),
        ("ATTACH 'x' AS y", "only reading is allowed"),
        ("SELECT nonsense FROM runs", "no such column: nonsense"),
        ("SELEC 1", "syntax error"),
    ],
)
def test_what_is_wrong_or_writes_is_refused(path: Path, query: str, why: str) -> None:
    error = invoke("sql", query, store=path, expect=1).stderr
    assert error.startswith("playhead: ")
    assert why in error
    assert len(answer("ls", store=path)) == 3


def test_a_query_is_stopped_after_its_time(made: Path) -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
    assert "ran longer than 0.2 s" in invoke("sql", endless, "--timeout", "0.2", store=made, expect=1).stderr


def test_a_bare_carriage_return_stays_within_its_field(made: Path) -> None:
    text = invoke("sql", "SELECT 'a' || char(13) || 'b' AS x, char(13) AS y", "--csv", store=made).stdout
    assert list(csv.reader(io.StringIO(text, newline=""))) == [["x", "y"], ["a\rb", "\r"]]


def test_csv_and_json_exclude_each_other(made: Path) -> None:
    error = invoke("sql", "SELECT 1", "--csv", "--json", store=made, expect=2).stderr
    assert "exclude each other" in error


def test_a_table_in_a_terminal(made: Path) -> None:
    code, shown = in_terminal("sql", "SELECT id FROM runs", store=made)
    assert code == 0
    assert FIRST in shown
