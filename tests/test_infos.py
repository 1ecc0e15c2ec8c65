"""Infos taken apart together are what they are taken apart one by one, to the last character."""

from __future__ import annotations

import json
import math
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead import infos

numbers = st.integers() | st.integers(-(1 << 65), 1 << 65) | st.floats(allow_nan=False, allow_infinity=False)
values = numbers | st.booleans() | st.none() | st.text(max_size=5) | st.lists(numbers, max_size=2)
names = st.sampled_from(["a", "b", "lives", ',"b":', '"', "\n", "\x0e", "née", "x" * 30])
objects = st.dictionaries(names, values, max_size=4) | st.fixed_dictionaries({"a": numbers, "lives": numbers})
spellings = st.sampled_from([orjson.dumps, lambda info: json.dumps(info).encode()])


def spelled(info: Any, spelling: Any) -> bytes:
    try:
        return bytes(spelling(info))
    except TypeError:  # an integer of more than 64 bits
        return json.dumps(info).encode()


texts = st.builds(spelled, objects | values, spellings) | st.just(b"")


class Keys(dict[tuple[str, ...], int]):
    def __missing__(self, found: tuple[str, ...]) -> int:
        self[found] = len(self)
        return self[found]


def apart(given: list[bytes]) -> list[tuple[tuple[str, ...] | None, str | None]]:
    keys = Keys()
    numbered, packed = infos.taken_apart(given, keys.__getitem__)
    names_of = {key: found for found, key in keys.items()}
    return [(None if key is None else names_of[key], text) for key, text in zip(numbered, packed, strict=True)]


def one_by_one(given: list[bytes]) -> list[tuple[tuple[str, ...] | None, str | None]]:
    return [apart([b"0", text])[1] for text in given]  # behind what has no names, nothing is taken for alike


@given(st.lists(texts, max_size=8))
@settings(max_examples=500)
def test_together_as_one_by_one(given: list[bytes]) -> None:
    assert apart(given) == one_by_one(given)


@given(st.lists(st.fixed_dictionaries({"a": numbers, "b": numbers | st.booleans()}), min_size=1), st.data())
def test_values_come_back(given: list[dict[str, Any]], data: st.DataObject) -> None:
    for info, (found, text) in zip(given, apart([spelled(info, orjson.dumps) for info in given]), strict=True):
        assert text is not None
        back = json.loads(text) if found is None else dict(zip(found, json.loads(text), strict=True))
        assert repr(back) == repr(info)


def test_many_that_are_alike_are_taken_apart_together(monkeypatch: pytest.MonkeyPatch) -> None:
    given = [orjson.dumps({"lives": 3, "frame": -4 * i, "speed": i / 7, "over": i == 9}) for i in range(100)]
    expected = one_by_one(given)
    monkeypatch.setattr(infos, "_packed", lambda _: pytest.fail("one by one"))
    assert apart(given) == expected


@pytest.mark.parametrize(
    "odd",
    [
        b'{"a":1,"b":}',
        b'{"a":01,"b":2}',
        b'{"a":1,"b":2',
        b'{"a":--1,"b":2}',
        b'{"a":tru,"b":2}',
        b"\x0e1\x0f2}",
        b'{"a":1\x0f2}',
        b'{"a":\xff,"b":2}',
    ],
)
def test_what_is_no_json_is_refused_beside_what_is(odd: bytes) -> None:
    with pytest.raises(ValueError):
        apart([b'{"a":1,"b":2}', odd])


def test_names_in_another_order_keep_it() -> None:
    given = [b'{"a":1,"b":2}', b'{"b":1,"a":2}', b"", b'{"a":1,"b":{"a":1}}', b'{"a":1.50,"b":-0}', b'{"a": 1,"b":2}']
    assert [found for found, _ in apart(given)] == [("a", "b"), ("b", "a"), None, ("a", "b"), ("a", "b"), ("a", "b")]
    assert apart(given) == one_by_one(given)
    assert math.copysign(1, json.loads(apart([b'{"a":-0.0}'])[0][1] or "")[0]) == -1
