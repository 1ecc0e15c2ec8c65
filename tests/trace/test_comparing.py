"""What differs between two states, and between two traces."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from playhead.lanes.keyframes import tree
from playhead.lanes.keyframes.contents import MemoryContents
from playhead.trace import Trace, TraceWriter
from playhead.trace.comparing import compare, diff
from tests.lanes.keyframes.test_tree import states
from tests.trace.made import State, history, record, update

pytestmark = pytest.mark.filterwarnings("ignore:the step function is not the one")

NAN = np.frombuffer(b"\1\0\0\0\0\0\xf8\x7f", "<f8")


@settings(deadline=None)
@given(states)
def test_a_state_is_equal_to_itself(state: Any) -> None:
    again = tree.unpack(tree.pack(state))
    for tolerance in (None, 0.0, 1e-3):
        assert compare(state, again, tolerance).is_equal


@settings(deadline=None)
@given(states, states)
def test_any_two_states_can_be_compared(one: Any, other: Any) -> None:
    found = compare(one, other)
    assert found.is_equal == compare(other, one).is_equal
    if tree.pack(one) == tree.pack(other):
        assert found.is_equal
    for tolerance in (None, 1e-3):
        said = compare(one, other, tolerance)
        assert str(said)
        json.dumps(said.to_json(), allow_nan=False)
        assert said.places == 0 or said.worst is not None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (np.ones((2, 3)), np.asfortranarray(np.ones((2, 3)))),
        (np.longdouble(1) / 3, np.longdouble(1) / 3),
        (np.zeros((0, 3)), np.zeros((0, 3))),
        (NAN, NAN.copy()),
    ],
)
def test_equal_to_the_last_bit(one: Any, other: Any) -> None:
    assert compare(one, other).is_equal


@pytest.mark.parametrize(
    ("one", "other", "path"),
    [
        (1, 1.0, ""),
        (0.0, -0.0, ""),
        ([1, 2], (1, 2), ""),
        (np.float32(1), np.float64(1), ""),
        (np.zeros(2), np.zeros(2, "f4"), ""),
        (NAN, np.array([np.nan]), "[0]"),
        ({"a": [1, {"b": True}]}, {"a": [1, {"b": 1}]}, "['a'][1]['b']"),
    ],
)
def test_equal_by_value_alone(one: Any, other: Any, path: str) -> None:
    found = compare(one, other)
    assert (found.places, found.worst and found.worst.path) == (1, path)
    assert compare(one, other, 0.0).is_equal


@pytest.mark.parametrize(
    ("one", "other", "path", "absolute"),
    [
        ({"w": np.array([[1.0, 2.0], [3.0, 4.0]])}, {"w": np.array([[1.0, 2.0], [3.5, 4.25]])}, "['w'][1][0]", 0.5),
        ([10**400, 1], [10**400 + 3, 1], "[0]", 3.0),
        (np.array([1, 200], np.uint8), np.array([3, 100], np.uint8), "[1]", 100.0),
        (np.iinfo(np.int64).min, np.iinfo(np.int64).max, "", 2.0**64),
        (1 + 1j, 1 - 1j, "", 2.0),
        (math.inf, 1.0, "", math.inf),
        (math.nan, 1.0, "", math.inf),
        (True, False, "", None),
        ("a", "b", "", None),
        ({"x": 1}, {}, "['x']", None),
        ([1], [1, 2], "", None),
        (np.zeros(2), np.zeros(3), "", None),
        (np.array(["a", "b"]), np.array(["a", "c"]), "[1]", None),
        (np.array([1, 2], "M8[s]"), np.array([1, 3], "M8[s]"), "[1]", None),
        (None, 0, "", None),
        ([10**5000], "x", "", None),
    ],
)
def test_the_place_and_the_amount(one: Any, other: Any, path: str, absolute: float | None) -> None:
    found = compare(one, other)
    assert found.worst is not None
    assert (found.worst.path, found.worst.absolute) == (path, absolute)
    assert not compare(one, other, 0.0).is_equal


def test_a_tolerance_is_numpys_rule() -> None:
    for a, b in ((1.0, 1.1), (1e-12, 0.0), (100.0, 101.0), (0.0, -0.0), (np.inf, np.inf), (np.nan, np.nan), (5, 6)):
        for relative, absolute in ((0.0, 0.0), (0.01, 0.0), (0.0, 0.01), (0.1, 1e-10)):
            due = bool(np.isclose(a, b, relative, absolute, equal_nan=True))
            for one, other in ((a, b), (np.array([a]), np.array([b])), (np.float64(a), b)):
                if np.shape(one) == np.shape(other):
                    assert compare(one, other, (relative, absolute)).is_equal == due


def test_all_places_are_counted_and_the_largest_are_kept() -> None:
    one = {"a": np.array([1.0, 2.0, 3.0]), "b": [10.0, 20]}
    other = {"a": np.array([1.5, 2.0, 4.0]), "b": [10.0, 23]}
    found = compare(one, other)
    assert (found.places, found.absolute) == (3, 3.0)
    assert found.relative == pytest.approx(1 / 3)
    assert "and 2 more places" in str(found)


# -- traces ------------------------------------------------------------------------------------------------------------


def nudged(state: State, gradient: Any) -> State:
    made = update(state, gradient)
    if state["n"] == 333:
        made["w"][3] += 1e-9
    return made


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("traces")
    record(folder / "a.trace", 1000, bucket=40, parameters={"lr": 0.05, "x": 1})
    record(folder / "same.trace", 1000, bucket=7, parameters={"lr": 0.05, "x": 1})
    record(folder / "short.trace", 900, bucket=40, parameters={"lr": 0.1})
    record(folder / "other.trace", 1000, seed=1, bucket=40)
    return folder


def test_one_history_with_other_keyframes_is_equal(folder: Path) -> None:
    found = Trace.open(folder / "a.trace", update).compare(Trace.open(folder / "same.trace", update))
    assert found.is_equal
    assert (found.states.compared, found.is_recomputed) == (1000, True)
    assert str(found) == "Equal: 1,000 steps.\nCompared 1,000 steps."
    itself = Trace.open(folder / "a.trace", update)
    assert itself.compare(itself).is_equal


def test_lengths_and_parameters_are_compared(folder: Path) -> None:
    found = diff(Trace.open(folder / "a.trace"), Trace.open(folder / "short.trace"))
    assert not found.is_equal
    assert found.lengths == (1000, 900)
    assert found.parameters == {"lr": (0.05, 0.1), "x": (1, None)}
    assert found.states.first is None
    assert found.errors is None
    assert "Lengths: 1,000 and 900 steps." in str(found)
    assert "Parameter lr: 0.05 and 0.1." in repr(found)


def test_the_first_step_is_found_as_far_as_functions_go(folder: Path) -> None:
    """With both functions the very step; with one, the next keyframe of the other; without, the next that both have."""
    wrong = record_with(nudged, folder / "wrong.trace")
    for one, other, step in ((update, nudged, 334), (update, None, 336), (None, None, 336)):
        found = diff(Trace.open(folder / "a.trace", one), Trace.open(wrong, other))
        assert (found.states.first, found.is_recomputed) == (step, other is not None)
        assert found.states.difference is not None
        assert found.states.difference.absolute == pytest.approx(1e-9, rel=1e-3)
        assert diff(Trace.open(folder / "a.trace", one), Trace.open(wrong, other), 1e-6).states.first is None


def record_with(step: Any, path: Path) -> Path:
    """Record a history that another function made of the same gradients."""
    with TraceWriter(path, step=step, bucket=40) as writer:
        state = next(history(1))[0]
        for number, (_, _, gradient) in enumerate(history(1000)):
            writer.append(state, error=float(np.abs(state["w"]).sum()), input=gradient, ts_ns=1000 + number)
            state = step(state, gradient)
    return path


def test_errors_and_marks_are_compared(folder: Path) -> None:
    a, b = Trace.open(folder / "a.trace"), Trace.open(folder / "other.trace")
    found = diff(a, b)
    wrong = np.abs(a.errors - b.errors)
    assert found.errors is not None
    assert (found.errors.count, found.errors.first) == (1000, 0)
    assert (found.errors.largest, found.errors.amount) == (int(np.argmax(wrong)), float(wrong.max()))
    assert found.marks == (sorted({*a.marks} - {*b.marks}), sorted({*b.marks} - {*a.marks}))
    assert found.states.first == 0
    assert json.loads(json.dumps(found.to_json(), allow_nan=False))["errors"]["first"] == 0


def memory(errors: list[float]) -> Trace:
    return Trace(MemoryContents({}, range(len(errors)), errors, {0: tree.pack(0)} if errors else {}))


def test_errors_that_are_none() -> None:
    assert diff(memory([math.nan, 1.0, math.inf]), memory([math.nan, 1.0, math.inf])).is_equal
    found = diff(memory([1.0, math.nan, 2.0]), memory([1.0, 1.0, 2.5])).errors
    assert found is not None
    assert (found.count, found.first, found.largest, found.amount) == (2, 1, 1, math.inf)
    assert diff(memory([1.0, 2.0]), memory([1.0, 2.0 + 1e-12]), 1e-9).is_equal
    assert diff(memory([]), memory([])).is_equal
    assert not diff(memory([]), memory([1.0])).is_equal
