"""The `where` language, run against a real catalogue."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import playhead
from playhead.catalog import fields, query, where
from playhead.errors import BadQuery

_MIXED = [True, None, 1e-5, 2.0, [3, 4], {"3": 3}]
_WORDS = ['it"s', "back\\slash", "two\nlines", "a,b", "é"]


@pytest.fixture
def runs(store: playhead.Store) -> playhead.runs.Runs:
    given_runs = {
        "a": ({"lr": 1e-4, "opt": {"name": "adam"}, "layers": [64, 32], "bn": True, "seed": 1}, ["base", "x"], 0.5),
        "b": (
            {"lr": 1e-2, "opt": {"name": "sgd"}, "layers": [64], "bn": False, "seed": 2, "mixed": _MIXED},
            ["base"],
            0.9,
        ),
        "c": ({"lr": "auto", "opt": None, "it's": "quoted", "words": _WORDS, "bracket": "[1,2"}, [], math.nan),
    }
    for name, (config, tags, acc) in given_runs.items():
        with store.run(f"proj_{name}", name, config=config, tags=tags, environment=False) as run:
            run.set_primary_metric("acc")
            run.log({"acc": acc, "train/loss": 1 - acc})
            run.summary(note=f"note {name}")
    with store.run("proj_a", "d", environment=False) as run:
        pass
    store.runs[-1].note("50% done")
    return store.runs


CASES = {
    "name = 'a'": "a",
    "name == 'a'": "a",
    "'a' = name": "a",
    'name = "a"': "a",
    "name != 'a'": "bcd",
    "name <> 'a'": "bcd",
    "name in ('a', 'c')": "ac",
    "name not in ('a', 'c')": "bd",
    "name like 'A%'": "a",
    "name not like 'a%'": "bcd",
    "project = 'proj_a' and name = 'd'": "d",
    "name = 'a' or name = 'b' and name = 'c'": "a",
    "(name = 'a' or name = 'b') and name = 'b'": "b",
    "not name = 'a'": "bcd",
    "NOT (name = 'a' OR name = 'b')": "cd",
    "config.lr < 1e-3": "a",
    "config.lr <= 0.0001": "a",
    "1e-3 < config.lr": "b",
    "config.lr = 'auto'": "c",
    "config.lr != 1e-4": "b",
    "config.opt.name = 'adam'": "a",
    "config.opt.name like '%d%'": "ab",
    "config.bn = true": "a",
    "config.bn = false": "b",
    "config.seed in (1, 2, 3)": "ab",
    "config.lr is null": "d",
    "config.lr is not null": "abc",
    "config.opt is null": "abcd",
    "64 in config.layers": "ab",
    "6 in config.layers": "",
    "64.0 in config.layers": "ab",
    "'64' in config.layers": "",
    "true in config.mixed": "b",
    "false in config.mixed": "",
    "null in config.mixed": "b",
    "1e-5 in config.mixed": "b",
    "2 in config.mixed": "b",
    "3 in config.mixed": "",
    "'it\"s' in config.words": "c",
    "'back\\slash' in config.words": "c",
    "'two\nlines' in config.words": "c",
    "'a,b' in config.words": "c",
    "'a' in config.words": "",
    "'a,b\",\"é' in config.words": "",
    "'é' in config.words": "c",
    "1 in config.bracket": "",
    "best > true": "",
    "best < true": "ab",
    "not tags like true": "abcd",
    "config.`it's` = 'quoted'": "c",
    "config.missing = 1": "",
    "not config.missing = 1": "abcd",
    "summary.note = 'note a'": "a",
    "'base' in tags": "ab",
    "'base' in tags and not 'x' in tags": "b",
    "tags = 'x'": "a",
    "tags is null": "cd",
    "best > 0.6": "b",
    "best >= 0.5 and best < 0.6": "a",
    "best is null": "cd",
    "not best > 0.6": "acd",
    "best_metric = 'acc'": "abc",
    "metric.acc > 0.6": "b",
    "metric.`train/loss` > 0.2": "a",
    "max.acc >= 0.5": "ab",
    "metric.acc is null": "d",
    "points > 1": "abc",
    "status = 'finished'": "abcd",
    "status in ('failed')": "",
    "created_at > '2020-01-01'": "abcd",
    "created_at < '2020-01-01 10:00'": "",
    "created_at > 0 and duration >= 0": "abcd",
    "notes like '50%'": "d",
    "hostname is not null": "abcd",
    "name = 'x''; DROP TABLE runs; --'": "",
    "-1 < best": "ab",
    "best > -.5e1": "ab",
}


@pytest.mark.parametrize(("text", "names"), CASES.items())
def test_conditions_choose_the_right_runs(runs: playhead.runs.Runs, text: str, names: str) -> None:
    assert "".join(run.name for run in runs(where=text)) == names
    assert len(runs(where=text)) == len(names)


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("name", "expected a comparison", 4),
        ("name =", "expected a number or a 'text'", 6),
        ("name = a", "put text in quotes", 7),
        ("name = 'a' status = 'b'", "expected 'and', 'or' or the end", 11),
        ("(name = 'a'", r"expected '\)'", 11),
        ("name in 'a'", "expected a list", 8),
        ("name in ('a'", r"expected ',' or '\)'", 12),
        ("nme = 'a'", "no field 'nme'.*there is: ", 0),
        ("name = 'a' and ; 1", "cannot read ';'", 15),
        ("1 = 2", "expected a name", 4),
        ("name is 3", "expected 'null'", 8),
        ("name not 3", "expected 'in' or 'like'", 9),
        ("", "expected a number", 0),
        ("name = 'a", "cannot read", 7),
        ("name < null", "write: is null", 0),
        ("null >= config.lr", "write: is null", 8),
        ("name like null", "write: is null", 0),
    ],
)
def test_an_error_points_at_the_character(runs: playhead.runs.Runs, text: str, message: str, column: int) -> None:
    with pytest.raises(BadQuery, match=message) as caught:
        runs(where=text or " ")
    *_, shown, caret = str(caught.value).split("\n")
    if text:
        assert shown == f"  {text}"
        assert caret.index("^") - 2 == column


@pytest.mark.parametrize(
    "text",
    [
        "metric.acc = 'x'", "'a' in name", "3 in tags", "tags > 'x'", "created_at > 'yesterday'",
        "(" * 200 + "name = 'a'" + ")" * 200, "not " * 500 + "name = 'a'",
    ],
)  # fmt: skip
def test_conditions_without_sense_are_refused(runs: playhead.runs.Runs, text: str) -> None:
    with pytest.raises(BadQuery):
        runs(where=text)


def test_a_refusal_of_the_field_points_at_its_name(runs: playhead.runs.Runs) -> None:
    with pytest.raises(BadQuery, match="is not a time") as caught:
        runs(where="name = 'a' and created_at > 'yesterday'")
    assert str(caught.value).split("\n")[-1].index("^") - 2 == 15


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=40))
def test_any_text_gives_a_condition_or_a_clear_error(text: str) -> None:
    try:
        where.parse(text, fields.Resolver())
    except BadQuery as error:
        assert "^" in str(error)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.sampled_from(["name", "config.a", "=", "<", "in", "(", ")", "'x'", "1", "and", "or", "not", ","]),
        max_size=12,
    )
)
def test_any_sequence_of_words_gives_a_condition_or_a_clear_error(words: list[str]) -> None:
    try:
        where.parse(" ".join(words), fields.Resolver())
    except BadQuery as error:
        assert "^" in str(error)


def test_values_are_bound_and_never_part_of_the_sql() -> None:
    condition = where.parse("name = 'robert''); DROP' and config.lr < 3", fields.Resolver())
    assert "DROP" not in str(condition)
    assert "DROP" in str(condition.compile().params.values())


@pytest.mark.parametrize(("text", "names"), CASES.items())
def test_conditions_that_many_runs_fit_are_asked_otherwise_with_the_same_answer(
    runs: playhead.runs.Runs, text: str, names: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fields.Resolver, "LIMIT", 1)
    query._probes.cache_clear()
    assert "".join(run.name for run in runs(where=text)) == names
    query._probes.cache_clear()


def test_a_metric_of_several_stages_has_one_last_one_smallest_and_one_largest_value(store: playhead.Store) -> None:
    for name, train, evaluated in (("a", [0.1, 0.5], [0.6]), ("b", [0.5], [0.4]), ("c", [math.nan], [0.3])):
        with store.run("p", name, environment=False) as run:
            for stage, values in (("train", train), ("eval", evaluated)):
                for value in values:
                    run.log({"loss": value}, stage=stage)
    cases = {
        "metric.loss > 0.5": "a", "metric.loss = 0.5": "", "metric.loss < 0.5": "bc", "metric.loss != 0.6": "bc",
        "min.loss < 0.35": "ac", "min.loss > 0.35": "b", "min.loss = 0.6": "", "min.loss = 0.1": "a",
        "max.loss > 0.45": "ab", "max.loss < 0.55": "bc", "max.loss = 0.4": "", "not max.loss < 0.55": "a",
    }  # fmt: skip
    for text, expected in cases.items():
        assert "".join(run.name for run in store.runs(where=text)) == expected, text
    orders = {"metric.loss": "cba", "-metric.loss": "abc", "min.loss": "acb", "-max.loss": "abc"}
    for order, expected in orders.items():
        assert "".join(run.name for run in store.runs(order=order)) == expected, order
