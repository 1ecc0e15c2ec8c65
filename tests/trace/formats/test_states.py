"""Every state comes back from JSON as it was, to the last bit; what is no state is refused."""

from __future__ import annotations

import itertools
import json
import math
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps

from playhead import strictjson
from playhead.lanes.keyframes import tree
from playhead.trace.formats import states

NAN = struct.unpack("<d", bytes.fromhex("0100000000000cfc")[::-1])[0]
TEXTS = st.text(st.characters(), max_size=6)  # lone surrogates too
DTYPES = st.one_of(
    nps.boolean_dtypes(),
    nps.integer_dtypes(endianness="?"),
    nps.unsigned_integer_dtypes(endianness="?"),
    nps.floating_dtypes(endianness="?"),
    nps.complex_number_dtypes(),
    nps.datetime64_dtypes(),
    nps.byte_string_dtypes(min_len=1, max_len=5),
    nps.unicode_string_dtypes(min_len=1, max_len=5),
)
ARRAYS = DTYPES.flatmap(
    lambda dtype: nps.arrays(dtype, nps.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3))
)
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(1 << 200), 1 << 200),
    st.floats(),
    st.binary(min_size=8, max_size=8).map(lambda data: struct.unpack("<d", data)[0]),
    st.complex_numbers(),
    TEXTS,
    st.sampled_from(["NaN", "Infinity", "$array"]),
    st.binary(max_size=8),
    ARRAYS,
    ARRAYS.map(np.asfortranarray),
    st.sampled_from(
        [np.float32(0.1), np.float64(math.nan), np.int8(-3), np.True_, np.uint64(2**64 - 1), np.float16(-0.0)]
    ),
    st.sampled_from(
        [np.datetime64("2026-01-01", "ns"), np.timedelta64(5, "s"), np.complex64(1 - 0j), np.longdouble("0.1")]
    ),
)
KEYS = st.one_of(TEXTS, st.integers(), st.sampled_from(["$array", "$", "state"]))
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(KEYS, inner, max_size=4),
    ),
    max_leaves=12,
)


def through_json(value: Any) -> Any:
    return states.from_json(strictjson.decode(strictjson.encode(states.to_json(value))))


@pytest.mark.parametrize("axes", list(itertools.permutations(range(3))))
@pytest.mark.parametrize("hole", [0.0, math.nan])
def test_axes_lie_in_memory_as_they_did(axes: tuple[int, ...], hole: float) -> None:
    array = np.random.default_rng(1).standard_normal((4, 5, 60)).astype("f4").transpose(axes)
    array[0, 0, 0] = hole  # a NaN is not exact as a number
    found = through_json(array)
    assert found.strides == array.strides
    assert found.tobytes() == array.tobytes()
    assert found.sum().tobytes() == array.sum().tobytes()


@pytest.mark.parametrize("order", [[0, 1], [0, 1, 1], [0, 1, 3], [0, 1, 2.0], [True, 0, 2], [[], 0, 1]])
def test_axes_that_no_array_has_are_refused(order: list[Any]) -> None:
    said = states.to_json(np.zeros((2, 3, 4)).transpose(1, 0, 2))
    assert said["$array"]["order"] == [1, 0, 2]
    said["$array"]["order"] = order
    with pytest.raises(states.Unreadable):
        states.from_json(said)


@settings(max_examples=400, deadline=None)
@given(TREES)
@example({"$array": {"dtype": "<f8"}})
@example({"a": {1: 2, "1": 3}, "b": [(), {}, [], ((),)]})
@example([NAN, -NAN, -0.0, 2.0**1023, 5e-324, 1e16, 1.0, 1])
@example({"b": 1, "a": 2})
@example([2**64 - 1, 2**64, -(2**63), -(2**63) - 1])
@example(np.array([[1.0, NAN], [-0.0, math.inf]], order="F"))
@example(np.frombuffer(b"\x00\x01\x02", np.bool_))
@example(np.zeros((0, 3)))
def test_a_state_comes_back_to_the_last_bit(value: Any) -> None:
    packed = tree.pack(tree.unpack(tree.pack(value)))
    assert tree.pack(through_json(tree.unpack(packed))) == packed


@given(TREES)
@settings(max_examples=100, deadline=None)
def test_what_is_plain_is_what_any_parser_gives_back(value: Any) -> None:
    value = tree.unpack(tree.pack(value))
    if states.is_plain(value):
        assert tree.pack(json.loads(json.dumps(value))) == tree.pack(value)
        assert tree.pack(strictjson.decode(strictjson.encode(value))) == tree.pack(value)


def test_numbers_are_readable_where_that_is_exact() -> None:
    assert states.to_json(np.array([[1.5, -0.0]])) == {"$array": {"dtype": "<f8", "shape": [1, 2], "data": [1.5, -0.0]}}
    assert states.to_json(np.float32(0.5)) == {"$scalar": {"dtype": "<f4", "data": 0.5}}
    assert states.to_json(math.nan) == {"$float": "NaN"}
    assert states.to_json((1, b"ab")) == {"$tuple": [1, {"$bytes": "YWI="}]}
    assert states.to_json({7: 1}) == {"$dict": [[7, 1]]}


def test_a_state_of_the_deepest_kind_comes_back() -> None:
    state: Any = 0
    for level in range(tree.DEEPEST):
        state = {level: state} if level % 2 else (state,)
    assert tree.pack(through_json(state)) == tree.pack(state)


@pytest.mark.parametrize(
    "value",
    [
        {"$array": 1},
        {"$array": {"dtype": "O", "shape": [1], "data": [1]}},
        {"$array": {"dtype": "<f8,<f8", "shape": [1], "base64": ""}},
        {"$array": {"dtype": "<f8", "shape": [3], "data": [1.0]}},
        {"$array": {"dtype": "<f8", "shape": [1 << 62, 1 << 62], "data": []}},
        {"$array": {"dtype": "<f8", "shape": [-1], "data": [1.0]}},
        {"$array": {"dtype": "<f8", "shape": "x", "data": [1.0]}},
        {"$array": {"dtype": "<f8", "shape": [1], "data": ["1"]}},
        {"$array": {"dtype": "<f8", "shape": [1], "base64": "AAA="}},
        {"$array": {"dtype": "|i1", "shape": [1], "data": [300]}},
        {"$array": {"dtype": "<f4", "shape": [1], "data": [1e300]}},
        {"$array": {"dtype": "<U999999999", "shape": [1], "data": ["a"]}},
        {"$scalar": {"data": 1}},
        {"$float": "0x12"},
        {"$float": []},
        {"$int": 5},
        {"$int": "zz"},
        {"$bytes": "!!"},
        {"$text": 3},
        {"$complex": [1]},
        {"$tuple": {}},
        {"$dict": [[1, 2], [1, 3]]},
        {"$dict": [[[], 2]]},
        {"$dict": [[1]]},
        {"$tuple": [], "other": 1},
        {"$import": "os"},
    ],
)
def test_what_nobody_wrote_is_refused(value: Any) -> None:
    with pytest.raises(states.Unreadable):
        states.from_json({"a": [value]})


def test_nesting_is_bounded() -> None:
    deep: Any = 0
    for _ in range(500):
        deep = [deep]
    with pytest.raises(states.Unreadable, match="levels"):
        states.from_json(deep)
