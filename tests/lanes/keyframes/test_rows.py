"""Values that are unpacked together: the same as one by one, to the last bit, or not at all."""

from __future__ import annotations

import random
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead.lanes.keyframes import rows, tree
from playhead.lanes.keyframes.blocks import Block
from playhead.lanes.keyframes.stored import StoredContents
from playhead.trace import TraceWriter
from tests.lanes.keyframes.test_tree import assert_identical, states


def table(records: list[bytes]) -> np.ndarray[Any, Any]:
    return np.frombuffer(b"".join(records), np.uint8).reshape(len(records), -1)


def varied(value: Any, draws: random.Random) -> Any:
    """Give another value of the same form, whose packed bytes are as many."""
    if isinstance(value, dict):
        return {key: varied(item, draws) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(varied(item, draws) for item in value)
    if type(value) is float:
        return struct.unpack("<d", draws.randbytes(8))[0]
    if type(value) is int:
        size = (value.bit_length() >> 3) + 1
        return int.from_bytes(
            draws.randbytes(size - 1) + value.to_bytes(size, "little", signed=True)[-1:], "little", signed=True
        )
    if isinstance(value, np.ndarray) and value.dtype.kind in "iufcSV":
        other = np.frombuffer(draws.randbytes(value.nbytes), value.dtype).reshape(value.shape, order="F")
        return other.copy("F" if value.flags.f_contiguous else "C")
    return value


@settings(deadline=None, max_examples=300)
@given(states, st.integers(1, 5), st.randoms(use_true_random=False), st.integers(0, 5), st.integers(0, 5))
def test_all_together_are_what_each_is(state: Any, count: int, draws: random.Random, a: int, b: int) -> None:
    records = [tree.pack(varied(state, draws)) for _ in range(count)]
    if len({*map(len, records)}) > 1:
        return
    column = rows.Forms().column_of(table(records))
    if column is not None:
        start, stop = sorted((min(a, count), min(b, count)))
        for found, record in zip(column(start, stop), records[start:stop], strict=True):
            assert_identical(found, tree.unpack(record))
            assert tree.pack(found) == record


FORMS = [
    7,
    -(1 << 62),
    0.5,
    np.float32(3),
    np.arange(120.0),
    np.ones((2, 3, 4), np.float32),
    np.asfortranarray(np.ones((3, 5))),
    {"w": np.ones(3), "b": 1.5, "n": 3, "name": "x", "flag": True, "none": None},
    [np.ones(2), (1, 2.0), {"a": [np.int8(1)]}],
    (3, {4: np.ones((1, 1), ">u2")}),
]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: str(form)[:30])
def test_values_of_one_form_are_read_together(form: Any) -> None:
    draws = random.Random(1)
    records = [tree.pack(varied(form, draws)) for _ in range(20)]
    column = rows.Forms().column_of(table(records))
    assert column is not None
    assert [tree.pack(found) for found in column(3, 17)] == records[3:17]
    assert [tree.pack(found) for found in column(0, 20)] == records


def test_a_form_that_is_remembered_is_taken_for_no_other() -> None:
    draws, forms = random.Random(2), rows.Forms()
    for form in [*FORMS, *FORMS[::-1], np.arange(120), np.arange(120.0), np.ones((2, 60)), np.ones((60, 2))]:
        records = [tree.pack(varied(form, draws)) for _ in range(3)]
        column = forms.column_of(table(records))
        assert column is not None
        assert [tree.pack(found) for found in column(0, 3)] == records


def test_what_is_given_out_is_nobody_elses() -> None:
    given = [{"w": np.full(4, float(n)), "more": [np.zeros((2, 2), order="F")]} for n in range(6)]
    column = rows.Forms().column_of(table([*map(tree.pack, given)]))
    assert column is not None
    for found in column(0, 6):
        found["w"][:] = np.nan
        found["more"][0][:] = np.nan
        found["more"].append(1)
    for found, due in zip(column(0, 6), given, strict=True):
        assert_identical(found, due)


@pytest.mark.parametrize(
    "values",
    [
        [1.5, 7, 8],
        [np.ones(3), np.ones(3, np.int64)],
        [np.ones((2, 3)), np.ones((3, 2))],
        [np.ones((2, 2)), np.asfortranarray(np.ones((2, 2)))],
        [{"a": 1}, {"b": 1}],
        [[1, 2.0], [2.0, 1]],
        [(1,), [1]],
        ["a", "b"],
        [True, False],
        [10**30, 10**30 + 1],
        [np.ones(()), np.zeros(())],
        [np.void(b"ab"), np.void(b"cd")],
    ],
    ids=str,
)
def test_other_values_come_out_one_by_one(values: list[Any]) -> None:
    records = [*map(tree.pack, values)]
    if len({*map(len, records)}) == 1:
        assert rows.Forms().column_of(table(records)) is None
    block = Block(0, np.arange(len(values)), np.zeros(len(values)), records)
    for found, due in zip(Block.unpack(block.pack(), "x").inputs.values(0, len(values)), values, strict=True):  # type: ignore[attr-defined]
        assert_identical(found, due)


@settings(deadline=None, max_examples=300)
@given(
    st.sampled_from(FORMS), st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 255)), min_size=1, max_size=4)
)
def test_damaged_values_are_never_taken_for_others(form: Any, changes: list[tuple[int, int]]) -> None:
    whole = bytearray(tree.pack(form) * 3)
    for at, byte in changes:
        whole[at % len(whole)] = byte
    records = [bytes(part) for part in table([bytes(whole)]).reshape(3, -1)]
    column = rows.Forms().column_of(table(records))
    if column is not None:
        assert [tree.pack(found) for found in column(0, 3)] == [tree.pack(tree.unpack(one)) for one in records]


@pytest.mark.parametrize("missing", [[], [39], [0], [17], [38, 39], range(40)])
def test_inputs_that_were_not_given(tmp_path: Path, missing: Any) -> None:
    """At the end, where a history stops, and elsewhere."""
    due = [None if n in missing else np.arange(5) + n for n in range(40)]
    with TraceWriter(tmp_path / "x.trace") as writer:
        for n in range(40):
            writer.append(n, input=due[n])
    contents = StoredContents(tmp_path / "x.trace")
    for start, stop in ((0, 40), (10, 30), (36, 40), (39, 40), (17, 18)):
        for found, expected in zip(contents.inputs(start, stop), due[start:stop], strict=True):
            assert_identical(found, expected)
