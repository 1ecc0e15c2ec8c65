"""JSON that any parser reads."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead import strictjson

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
