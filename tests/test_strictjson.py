"""JSON that any parser reads."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead import strictjson
from playhead.errors import WrongType

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES, st.booleans())
def test_any_value_becomes_strict_json_and_comes_back(value: object, indent: bool) -> None:
    plain = strictjson.plain(value)
    data = strictjson.encode(plain, indent=indent)
    assert json.loads(data, parse_constant=pytest.fail) == plain
    assert strictjson.decode(data) == plain


@given(st.integers(-(10**40), 10**40) | st.integers(-(2**64) - 9, 2**64 + 9), st.booleans())
def test_integers_are_exact_however_long(number: int, indent: bool) -> None:
    for value in (number, [number], {"a": number, "b": [1.5, number]}, [[0.00012345678901234567], number]):
        data = strictjson.encode(value, indent=indent)
        for text in (data, data.decode()):
            found = strictjson.decode(text)
            assert found == value
            assert repr(found) == repr(value)  # no float among them


def test_digits_that_are_no_integer_stay_what_they_are() -> None:
    for value in (1e300, 0.00012345678901234567, -1e-300, 1.5e19, "18446744073709551616", {"9" * 30: "-" * 30}):
        assert repr(strictjson.decode(strictjson.encode(value))) == repr(value)
    assert repr(strictjson.decode("184467440737095516160000.5")) == repr(184467440737095516160000.5)


def test_an_integer_that_nobody_could_read_again_is_refused() -> None:
    with pytest.raises(WrongType, match="4300 digits"):
        strictjson.encode({"a": 10**5000})


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_without_a_word_in_json_come_back(number: float) -> None:
    data = strictjson.encode(strictjson.plain({"deep": [number]}))
    found = strictjson.restore(strictjson.decode(data))["deep"][0]
    assert found == number or (math.isnan(found) and math.isnan(number))


@pytest.mark.parametrize("text", [b'{"a": NaN, "b": -Infinity}', '{"a": NaN, "b": -Infinity}'])
def test_bare_words_of_other_programs_are_understood(text: bytes | str) -> None:
    found = strictjson.decode(text)
    assert math.isnan(found["a"])
    assert found["b"] == -math.inf


@pytest.mark.parametrize("data", [b"{", b"\xff\xfe", b"[" * 100_000, b"9" * 5000 + b"x", b"", b'{"a": }'])
def test_what_is_no_json_is_one_kind_of_error(data: bytes) -> None:
    with pytest.raises(strictjson.JSONDecodeError):
        strictjson.decode(data)


def test_text_that_is_not_unicode_is_escaped() -> None:
    assert strictjson.plain({"\ud800": "a\udfff"}) == {"\\ud800": "a\\udfff"}
    assert strictjson.plain([Path("a\udcff"), Path("b")]) == ["a\\udcff", "b"]


def nested(levels: int) -> object:
    value: object = 1
    for level in range(levels):
        value = {"a": value} if level % 3 == 0 else [value]
    return value


@pytest.mark.parametrize("levels", [1, 253, 254, 255, 300, 320, 321, 600, 1200, 5000])
def test_what_is_nested_too_deep_is_refused(levels: int) -> None:
    """Was a bug: from about 500 levels on, a RecursionError came through."""
    value = nested(levels)
    text = "[" * levels + "[1]," * 400 + "1" + "]" * levels  # wide as well
    long = "[" * levels + str(2**70) + "]" * levels
    if levels <= strictjson.DEEPEST:
        assert strictjson.is_json(value)
        assert strictjson.decode(strictjson.encode(strictjson.plain(value))) == value
        assert repr(strictjson.decode(long)) == long
        assert strictjson.restore(strictjson.decode(strictjson.encode(strictjson.plain(value), indent=True))) == value
    else:
        for refuse in (strictjson.is_json, strictjson.plain):
            with pytest.raises(WrongType, match="nested deeper than 254"):
                refuse(value)
        for data in (text, text.encode(), long, text.replace("1", "NaN")):
            with pytest.raises(strictjson.JSONDecodeError, match=r"nested deeper than 254|maximum recursion depth"):
                strictjson.decode(data)


def test_wide_is_not_deep() -> None:
    value = [[{"[": "[{" * 10}]] * 1000
    assert strictjson.decode(strictjson.encode(value)) == value


def test_a_list_that_holds_itself_is_refused() -> None:
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(WrongType, match="hold themselves"):
        strictjson.plain(endless)


def test_numbers_for_which_python_has_no_type() -> None:
    """Was a bug: a longdouble was turned into itself for ever."""
    wide = [np.longdouble(1), np.ones((2, 1), np.longdouble), np.longdouble("nan"), np.longdouble("-inf")]
    assert strictjson.plain(wide) == [1.0, [[1.0], [1.0]], "NaN", "-Infinity"]
    assert type(strictjson.plain(np.longdouble(1))) is float
    assert strictjson.plain(np.clongdouble(1 + 2j)) == "(1+2j)"
    beyond = np.finfo(np.longdouble).max
    assert strictjson.plain(beyond) == (str(beyond) if beyond > np.finfo(float).max else float(beyond))


def test_nulls_for_other_programs_come_back_as_what_they_were() -> None:
    content = {"loss": math.nan, "a": {"b": [1, math.inf, {"c": -math.inf}]}, "text": "x", "none": None, "word": "NaN"}
    assert repr(strictjson.plain(content, words=False)) == repr(content)
    written = strictjson.with_nulls(strictjson.plain(content, words=False))
    said = json.loads(strictjson.encode(written), parse_constant=pytest.fail)
    assert said.pop("$not_finite") == {
        "NaN": [["loss"]],
        "Infinity": [["a", "b", 1]],
        "-Infinity": [["a", "b", 2, "c"]],
    }
    assert said == {"loss": None, "a": {"b": [1, None, {"c": None}]}, "text": "x", "none": None, "word": "NaN"}
    back = strictjson.without_nulls(strictjson.decode(strictjson.encode(written)))
    assert repr(back) == repr(content)
    assert strictjson.with_nulls({"a": 1, "none": None}) == {"a": 1, "none": None}


@pytest.mark.parametrize("word", strictjson.SPECIAL)
def test_a_text_that_reads_as_a_number_stays_text_beside_nulls(word: str) -> None:
    for content in ({"t": word}, {"t": [{"deep": word}], "n": strictjson.SPECIAL[word]}):
        written = strictjson.with_nulls(strictjson.plain(content, words=False))
        assert "$not_finite" in written
        assert repr(strictjson.without_nulls(strictjson.decode(strictjson.encode(written)))) == repr(content)
    earlier = strictjson.without_nulls({"t": word, "list": [word]})
    assert repr(earlier) == repr({"t": strictjson.SPECIAL[word], "list": [strictjson.SPECIAL[word]]})


@pytest.mark.parametrize(
    "places", [5, {"NaN": 5}, {"NaN": [5]}, {"NaN": [[]]}, {"other": []}, {"NaN": [["a"]], "x": 1}]
)
def test_a_value_of_that_name_is_the_users(places: object) -> None:
    content = {"$not_finite": places, "a": math.nan}
    found = strictjson.without_nulls(strictjson.with_nulls(content))
    assert strictjson.plain(found) == {"$not_finite": places, "a": "NaN"}


def test_of_places_that_are_not_there_nothing_is_made_up() -> None:
    paths = [["a"], ["b"], ["c", 0], ["c", 9], ["c", "x"], ["d", "e"], [0], [True], ["c", True], [[]]]
    content = {"a": 1.5, "c": [None, None], "d": None, "$not_finite": {"NaN": paths}}
    found = strictjson.without_nulls(content)
    assert repr(found) == repr({"a": 1.5, "c": [math.nan, None], "d": None})
