"""States as bytes and back, to the last bit, and what other bytes do."""

from __future__ import annotations

import itertools
import random
import struct
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from playhead.errors import Damaged, WrongType
from playhead.lanes.keyframes import rows, tree

texts = st.text(st.characters()) | st.text(st.sampled_from("\ud800\udfff\0aä💡"))
dtypes = (
    hnp.boolean_dtypes()
    | hnp.integer_dtypes(endianness="?")
    | hnp.floating_dtypes(endianness="?")
    | hnp.complex_number_dtypes(endianness="?")
    | hnp.byte_string_dtypes()
    | hnp.unicode_string_dtypes(endianness="?")
    | hnp.datetime64_dtypes(endianness="?")
    | hnp.timedelta64_dtypes(endianness="?")
    | st.just(np.dtype("V5"))
)


@st.composite
def arrays(draw: st.DrawFn) -> np.ndarray[Any, Any]:
    """Draw an array of any bits in any memory order."""
    dtype = draw(dtypes)
    shape = tuple(draw(st.lists(st.integers(0, 4), max_size=4)))
    size = int(np.prod(shape)) * dtype.itemsize
    data = draw(st.binary(min_size=size, max_size=size))
    if dtype.kind == "U":
        data = b"\0" * size  # most bits are no characters
    elif dtype.kind == "b":
        data = bytes(byte & 1 for byte in data)
    array = np.frombuffer(data, dtype).reshape(shape).copy()
    if dtype.kind == "U":
        array[...] = draw(st.text(st.characters(codec="utf-8"), max_size=3))
    array = draw(st.sampled_from([array, np.asfortranarray(array), array[..., ::-1] if shape else array, array.T]))
    array = array.transpose(draw(st.permutations(range(array.ndim))))
    return draw(st.sampled_from([array, array[::2] if shape else array]))


leaves = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(10**400), 10**400)
    | st.floats()
    | st.complex_numbers()
    | texts
    | st.binary()
    | arrays()
    | st.sampled_from([np.float32(-0.0), np.int8(-1), np.uint64(2**64 - 1), np.bool_(True), np.datetime64(1, "ns")])
)
states = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(texts | st.integers(), inner, max_size=4)
    ),
    max_leaves=12,
)


def assert_identical(found: Any, due: Any) -> None:
    """See that two states are the same: types, order, bits, memory order."""
    assert type(found) is type(due)
    if isinstance(due, dict):
        assert [*found] == [*due]
        assert [*map(type, found)] == [*map(type, due)]
        for key in due:
            assert_identical(found[key], due[key])
    elif isinstance(due, (list, tuple)):
        assert len(found) == len(due)
        for one, other in zip(found, due, strict=True):
            assert_identical(one, other)
    elif isinstance(due, (np.ndarray, np.generic)):
        assert (found.dtype, found.shape, found.tobytes()) == (due.dtype, due.shape, due.tobytes())
        if isinstance(due, np.ndarray):
            assert found.flags.writeable
            assert_order(found, due)
    elif isinstance(due, float):
        assert struct.pack("<d", found) == struct.pack("<d", due)
    elif isinstance(due, complex):
        assert struct.pack("<dd", found.real, found.imag) == struct.pack("<dd", due.real, due.imag)
    else:
        assert found == due


def assert_order(found: np.ndarray[Any, Any], due: np.ndarray[Any, Any]) -> None:
    """See that the axes of an array lie in memory as those of a copy that NumPy makes."""
    kept = due.copy("K")
    long = [axis for axis in range(due.ndim) if due.shape[axis] > 1 and due.size]
    assert [found.strides[axis] for axis in long] == [kept.strides[axis] for axis in long]


@pytest.mark.parametrize("axes", list(itertools.permutations(range(3))))
def test_sums_over_permuted_axes_come_out_the_same(axes: tuple[int, ...]) -> None:
    array = np.random.default_rng(1).standard_normal((7, 5, 300)).astype("f4").transpose(axes)
    for found in (tree.unpack(tree.pack(array)), tree.look(tree.pack(array))):
        assert_order(found, array)
        assert found.tobytes() == array.tobytes()
    assert tree.unpack(tree.pack(array)).sum().tobytes() == array.sum().tobytes()
    table = np.frombuffer(tree.pack(array) * 3, np.uint8).reshape(3, -1)
    column = rows.Forms().column_of(table)
    assert column is not None
    for found in column(0, 3):
        assert_order(found, array)
        assert found.tobytes() == array.tobytes()


@pytest.mark.parametrize("axes", [b"\0\1\1", b"\0\1\3", b"\2\2\2"])
def test_axes_that_no_array_has_are_damage(axes: bytes) -> None:
    packed = tree.pack(np.zeros((2, 3, 4)).transpose(1, 0, 2))
    assert packed.count(b"\1\0\2") == 1
    with pytest.raises(Damaged):
        tree.unpack(packed.replace(b"\1\0\2", axes))


@settings(deadline=None, max_examples=300)
@given(states)
def test_every_state_comes_back_as_it_was(state: Any) -> None:
    packed = tree.pack(state)
    found = tree.unpack(packed)
    assert_identical(found, state)
    assert tree.pack(found) == packed


@pytest.mark.parametrize(
    "bits", [0x7FF8000000000001, 0xFFF8000000000000, 0x7FF00000DEADBEEF, 0x8000000000000000, 0x0000000000000001]
)
def test_the_bits_of_a_float_are_kept(bits: int) -> None:
    """Payloads of NaN, quiet and signalling, the sign of zero, and numbers below the normal ones."""
    data = struct.pack("<Q", bits)
    array = np.frombuffer(data, "<f8")
    state = {"array": array, "scalar": array[0]}
    found = tree.unpack(tree.pack(state))
    assert found["array"].tobytes() == found["scalar"].tobytes() == data
    number = struct.unpack("<d", data)[0]
    assert struct.pack("<d", tree.unpack(tree.pack(number))) == struct.pack("<d", number)


def test_equal_states_have_equal_bytes_and_other_states_have_others() -> None:
    pairs: list[tuple[Any, Any]] = [
        (1, 1.0), (True, 1), (0.0, -0.0), ("1", b"1"), ([1], (1,)), ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (np.zeros(2), np.zeros((2, 1))), (np.float32(1), np.float64(1)), (np.float64(1), 1.0), (np.array(1), np.int64(1)),
        (np.zeros((2, 2)), np.zeros((2, 2), order="F")), (None, False), ({1: 0}, {"1": 0}), ("", None), ([], {}),
    ]  # fmt: skip
    for one, other in pairs:
        assert tree.pack(one) != tree.pack(other)
        assert tree.digest(tree.pack(one)) != tree.digest(tree.pack(other))
        assert tree.pack(one) == tree.pack(one)


def nested(depth: int) -> Any:
    state: Any = 0
    for _ in range(depth):
        state = [state]
    return state


def itself() -> list[Any]:
    loop: list[Any] = []
    loop.append(loop)
    return loop


@pytest.mark.parametrize(
    ("state", "where"),
    [
        ({"a": [1, object()]}, r"state\['a'\]\[1\] is a builtins.object"),
        ({"a": {1.5: 0}}, r"state\['a'\] has the key 1.5"),
        ({True: 0}, "the key True"),
        ({1, 2}, "builtins.set"),
        (np.array([{}, None]), "an array of object"),
        (np.zeros(2, [("x", "f8")]), "which has no bytes of its own"),
        (np.ma.masked_array([1.0]), "numpy.ma"),
        (nested(101), "levels deep"),
        (itself(), "does it contain itself"),
        (lambda: 0, "builtins.function"),
    ],
)
def test_what_has_no_form_is_refused_with_its_place(state: Any, where: str) -> None:
    with pytest.raises(WrongType, match=where):
        tree.pack(state)


def test_the_deepest_state_comes_back() -> None:
    assert tree.unpack(tree.pack(nested(100))) == nested(100)


def test_texts_of_numpy_keep_what_they_end_with() -> None:
    for value in (np.bytes_(b"a\0\0"), np.str_("a\0"), np.str_(""), np.bytes_(b"")):
        try:
            packed = tree.pack(value)
        except WrongType:
            continue
        found = tree.unpack(packed)
        assert (type(found), found) == (type(value), value)


SAMPLE: dict[str, Any] = {
    "w": np.linspace(0, 1, 7).reshape(7, 1),
    "f": np.asfortranarray(np.arange(6, dtype=np.int16).reshape(2, 3)),
    "n": 12345678901234567890,
    "x": [1.5, None, True, "text", b"bytes", (1, 2j), np.float32(2)],
    "when": np.array(["2020-01-01"], "M8[D]"),
    "names": np.array(["a", "bc"]),
    5: {},
}


def test_every_flipped_bit_is_damage_or_another_state() -> None:
    """Never a crash, never more memory than the bytes are worth."""
    packed = tree.pack(SAMPLE)
    tracemalloc.start()
    try:
        for place in range(len(packed)):
            for bit in range(8):
                data = bytearray(packed)
                data[place] ^= 1 << bit
                check_other(bytes(data))
        assert tracemalloc.get_traced_memory()[1] < 20 << 20
    finally:
        tracemalloc.stop()


def check_other(data: bytes) -> None:
    try:
        found = tree.unpack(data)
    except Damaged:
        return
    assert len(tree.pack(found)) <= 2 * len(data)


def test_every_cut_is_damage() -> None:
    packed = tree.pack(SAMPLE)
    for size in range(len(packed)):
        with pytest.raises(Damaged):
            tree.unpack(packed[:size])
    with pytest.raises(Damaged):
        tree.unpack(packed + b"N")


@settings(deadline=None, max_examples=500)
@given(st.binary(max_size=100))
def test_any_bytes_are_damage_or_a_state(data: bytes) -> None:
    check_other(data)


def test_random_edits_are_damage_or_a_state() -> None:
    packed, rng = tree.pack(SAMPLE), random.Random(7)
    for _ in range(5000):
        data = bytearray(packed)
        for _ in range(rng.randint(1, 6)):
            data[rng.randrange(len(data))] = rng.choice((0, 1, 0xFF, 0x61, 0x64, 0x6C, rng.randrange(256)))
        check_other(bytes(data))


@pytest.mark.parametrize(
    "text",
    ["O", "|O", "i4,i4", "(3,)i4", "{}", "V0", "S0", "U0", "", "<f9", "M8[", "a5", "object", "<i4\0", "T", "int"],
)
def test_no_dtype_but_those_of_states_is_read(text: str) -> None:
    name = text.encode()
    head = struct.pack("<cBBB", b"a", 0, len(name), 1) + name + struct.pack("<Q", 1)
    with pytest.raises(Damaged):
        tree.unpack(head + bytes(64))


@pytest.mark.parametrize("letter", b"dlts")
def test_a_length_of_four_billion_takes_no_memory(letter: int) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(Damaged):
            tree.unpack(struct.pack("<BI", letter, 0xFFFFFFFF) + b"N" * 50)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_what_comes_out_is_the_callers_own() -> None:
    packed = tree.pack({"w": np.zeros(3)})
    found = tree.unpack(packed)
    found["w"][:] = 1
    assert (tree.unpack(packed)["w"] == 0).all()
