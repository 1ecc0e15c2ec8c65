"""Spaces: described as JSON, taken apart into arrays and put together again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead import strictjson
from playhead.errors import NotFound, WrongType
from playhead.integrations.gymnasium.cells import Cells
from playhead.integrations.gymnasium.spaces import describe, leaves, restore
from playhead.lanes.arrays.kind import check_name
from tests.integrations.test_gymnasium_envs import same

KEYS = st.text(st.characters(codec="utf-8"), max_size=12)
SHAPES = st.lists(st.integers(0, 3), max_size=3).map(tuple)

boxes = st.builds(
    lambda shape, dtype: spaces.Box(0, 1 if dtype == "uint8" else 100, shape, dtype),
    SHAPES,
    st.sampled_from(["float16", "float32", "float64", "uint8", "int8", "int64"]),
)
discretes = st.builds(lambda n, start: spaces.Discrete(n, start=start), st.integers(1, 1 << 40), st.integers(-9, 9))
multis = st.lists(st.integers(1, 9), min_size=1, max_size=4).map(spaces.MultiDiscrete)
binaries = st.integers(1, 5).map(spaces.MultiBinary)
texts = st.builds(
    lambda most, least, charset: spaces.Text(most, min_length=least, charset=charset),
    st.integers(2, 6),
    st.integers(0, 2),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=6),
)
any_space = st.recursive(
    boxes | discretes | multis | binaries | texts,
    lambda inner: (
        st.dictionaries(KEYS, inner, max_size=4).map(spaces.Dict)
        | st.lists(inner, max_size=3).map(tuple).map(spaces.Tuple)
    ),
    max_leaves=8,
)


@given(any_space, st.integers(0, 1 << 30))
@settings(max_examples=150, deadline=None)
def test_any_value_of_any_space_comes_back(space: Any, seed: int) -> None:
    description = strictjson.decode(strictjson.encode(strictjson.plain(describe(space))))
    cells = Cells(space, describe(space))
    space.seed(seed)
    for _ in range(3):
        value = space.sample()
        stored: dict[str, Any] = {}
        cells.keep(value, stored)
        assert sorted(stored) == sorted(cells.names)
        found = restore(description, stored)
        assert same(found, value)
        assert found in space
        parts = {name.partition(".")[2]: array for name, array in stored.items()}
        if not isinstance(space, (spaces.Dict, spaces.Tuple)):
            parts = next(iter(stored.values()), None)
        assert same(restore(description, parts), value)


@given(any_space)
@settings(max_examples=100, deadline=None)
def test_no_two_parts_share_a_name_and_each_can_be_one(space: Any) -> None:
    names = [leaf["array"] for leaf in leaves(describe(space, "actions")) if leaf["array"] is not None]
    assert len(set(names)) == len(names)
    for name in names:
        assert check_name(name).partition(".")[0] == "actions"


def test_names_read_as_they_should() -> None:
    space = spaces.Dict({"camera": spaces.Discrete(2), "arm": spaces.Tuple((spaces.Dict(x=spaces.Discrete(2)),))})
    assert {leaf["array"] for leaf in leaves(describe(space))} == {"observations.camera", "observations.arm.0.x"}
    assert describe(spaces.Discrete(3), "actions")["array"] == "actions"
    long = describe(spaces.Dict({"x" * 300: spaces.Discrete(2), "x" * 301: spaces.Discrete(2)}))
    names = [leaf["array"] for leaf in leaves(long)]
    assert len(set(names)) == 2
    assert max(map(len, names)) <= 128


def test_a_description_says_what_a_space_allows() -> None:
    box = spaces.Box(np.array([0, -np.inf], np.float32), np.array([1, np.inf], np.float32))
    assert describe(box) == {
        "type": "Box",
        "shape": [2],
        "dtype": "float32",
        "low": [0.0, "-Infinity"],
        "high": [1.0, "Infinity"],
        "array": "observations",
    }
    image = describe(spaces.Box(0, 255, (210, 160, 3), np.uint8))
    assert (image["low"], image["high"]) == (0, 255)
    low = np.arange(10_000, dtype=np.float32)
    assert describe(spaces.Box(low, low + 1))["low"] == {"from": 0.0, "to": 9999.0}
    text = describe(spaces.Text(3, min_length=1, charset="ba"))
    assert (text["min_length"], text["max_length"], text["charset"]) == (1, 3, "ab")
    assert describe(spaces.MultiDiscrete([2, 3], start=[1, 0]))["start"] == [1, 0]


def test_an_array_that_is_missing_is_named() -> None:
    description = describe(spaces.Dict(a=spaces.Discrete(2), b=spaces.Discrete(2)))
    with pytest.raises(NotFound, match=r"observations\.b"):
        restore(description, {"observations.a": 1})


def test_a_key_that_is_no_text_is_refused() -> None:
    with pytest.raises(WrongType, match="keys of a Dict"):
        describe(spaces.Dict([(1, spaces.Discrete(2))]))  # type: ignore[list-item]


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64, np.int16])
def test_large_arrays_are_kept_whatever_their_order(dtype: Any) -> None:
    space = spaces.Box(0, 100, (60, 70, 3), dtype)
    cells = Cells(space, describe(space))
    values = np.random.default_rng(0).integers(0, 100, (70, 60, 3)).astype(dtype)
    for value in (np.ascontiguousarray(values.transpose(1, 0, 2)), values.transpose(1, 0, 2)):
        kept: dict[str, Any] = {}
        cells.keep(value, kept)
        assert np.array_equal(kept["observations"], value)
        assert not np.shares_memory(kept["observations"], value)
