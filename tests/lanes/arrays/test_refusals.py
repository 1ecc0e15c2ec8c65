"""What cannot be recorded is refused at once with a reason, nothing of it is recorded, and recording goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from playhead.errors import BadName, Closed, PlayheadError, WrongShape, WrongType
from playhead.lanes.arrays.config import ReplayConfig
from playhead.lanes.arrays.reel import Reel
from playhead.lanes.arrays.writer import ReelWriter
from tests.lanes.arrays.reels import FOR_EVER, Recording, assert_same, patterned, reel_in


def sample(number: int) -> dict[str, Any]:
    return {
        "frames": patterned(number, (4, 3), np.uint8),
        "observations": patterned(number, (5,), np.float32),
        "actions": np.array(number, np.int32),
        "texts": np.array(b"abc", "S3"),
        "small": np.array([number], np.int8),
        "flags": np.array(number % 2 == 0),
    }


def assert_refused(
    recording: Recording, error: type[Exception], do: Callable[[], object], match: str | None = None
) -> None:
    """See that a call raises, and that the recording is as it was: in the journal, and sealed."""
    row = recording.writer.row
    with pytest.raises(error, match=match):
        do()
    assert recording.writer.row == row
    recording.step(sample(row), reward=row)
    recording.flush()
    recording.assert_whole()


WRONG: dict[str, tuple[type[Exception], dict[str, Any]]] = {
    "a larger frame": (WrongShape, {"frames": np.zeros((4, 4), np.uint8)}),
    "a frame of more dimensions": (WrongShape, {"frames": np.zeros((4, 3, 1), np.uint8)}),
    "a scalar for a vector": (WrongShape, {"observations": np.float32(1)}),
    "a vector for a scalar": (WrongShape, {"actions": np.zeros(1, np.int32)}),
    "a wider type": (WrongType, {"observations": np.zeros(5, np.float64)}),
    "another kind of type": (WrongType, {"frames": np.zeros((4, 3), np.int8)}),
    "a float for a whole number": (WrongType, {"actions": 1.5}),
    "a complex number for a float": (WrongType, {"observations": np.zeros(5, np.complex64)}),
    "a text": (WrongType, {"actions": "left"}),
    "an object": (WrongType, {"actions": object()}),
    "None": (WrongType, {"actions": None}),
    "a date": (WrongType, {"actions": np.datetime64("2026-01-01")}),
    "a ragged list": (PlayheadError, {"observations": [[1.0], [1.0, 2.0]]}),
    "longer bytes": (WrongType, {"texts": np.array(b"abcd")}),
    "a number that does not fit": (WrongType, {"actions": 1 << 40}),
    "a new array of objects": (WrongType, {"new": np.array([object()])}),
    "a new array of texts": (WrongType, {"new": np.array(["a"])}),
    "a new array of dates": (WrongType, {"new": np.array(["2026-01-01"], "M8[D]")}),
    "a new array of records": (WrongType, {"new": np.zeros(2, [("a", "i4")])}),
    "a name with a slash": (BadName, {"a/b": np.zeros(2)}),
    "a name that is taken": (BadName, {"rewards": np.zeros(2)}),
    "an empty name": (BadName, {"": np.zeros(2)}),
    "a name that is no text": (BadName, {7: np.zeros(2)}),  # type: ignore[dict-item]
    # Were bugs from here on: each was recorded as another value than was given.
    "longer bytes, not as an array": (WrongType, {"texts": b"abcd"}),
    "a list of numbers that do not fit": (WrongType, {"small": [300]}),
    "a number for a flag": (WrongType, {"flags": 2}),
    "a number for bytes": (WrongType, {"texts": 7}),
}


@pytest.mark.parametrize("what", WRONG)
@pytest.mark.parametrize("first", [True, False], ids=["first in the step", "last in the step"])
def test_an_array_that_differs_from_those_before(tmp_path: Path, what: str, first: bool) -> None:
    error, wrong = WRONG[what]
    recording = Recording(reel_in(tmp_path))
    for number in range(6):
        recording.step(sample(number), reward=number)
    arrays = {**wrong, **{n: v for n, v in sample(6).items() if n not in wrong}} if first else {**sample(6), **wrong}
    assert_refused(recording, error, lambda: recording.writer.step(arrays, 0.0, False, False))
    recording.close()
    recording.assert_whole()


def test_the_reason_says_what_was_expected(tmp_path: Path) -> None:
    recording = Recording(reel_in(tmp_path))
    recording.step(sample(0))
    with pytest.raises(WrongShape, match=r"frames has the shape \[5, 3\] where those before have \[4, 3\]"):
        recording.writer.step({"frames": np.zeros((5, 3), np.uint8)}, 0, False, False)
    with pytest.raises(WrongType, match=r"frames has the type float64 where those before have uint8"):
        recording.writer.step({"frames": np.zeros((4, 3))}, 0, False, False)


def test_a_shape_is_kept_through_closing_and_going_on(tmp_path: Path) -> None:
    recording = Recording(reel_in(tmp_path))
    recording.step(sample(0))
    wrong = {"frames": np.zeros((9, 9), np.uint8)}
    recording.close()
    recording.resume()
    assert_refused(recording, WrongShape, lambda: recording.writer.step(wrong, 0, False, False))
    recording.crash_and_resume()
    assert_refused(recording, WrongShape, lambda: recording.writer.step(wrong, 0, False, False))
    recording.close()
    recording.assert_whole()


@pytest.mark.parametrize("axis", ["finals", "prefixes"])
def test_a_final_observation_of_another_shape(tmp_path: Path, axis: str) -> None:
    recording = Recording(reel_in(tmp_path))
    right, wrong = {"observations": patterned(1, (5,), "f4")}, {"observations": np.zeros(6, "f4")}
    for number in range(2):
        recording.begin(prefixes=right)
        recording.step(sample(number), reward=number)
        recording.end("terminated", right)
    recording.begin(prefixes=right)
    recording.step(sample(2), reward=2)
    if axis == "finals":
        assert_refused(recording, WrongShape, lambda: recording.writer.end("terminated", wrong))
        assert recording.writer.is_open
    else:
        recording.end("terminated", right)
        assert_refused(recording, WrongShape, lambda: recording.writer.begin(prefixes=wrong))
    recording.end("truncated", right)
    recording.close()
    recording.assert_whole()


def test_a_group_too_many(tmp_path: Path) -> None:
    recording = Recording(reel_in(tmp_path))
    recording.step({**sample(0), **{f"x{number}": np.zeros(2) for number in range(10)}})
    wrong = {"one.more": np.zeros(2)}
    assert_refused(recording, WrongType, lambda: recording.writer.step(wrong, 0, False, False), "16 groups")


def test_the_parts_of_a_group_come_together(tmp_path: Path) -> None:
    """A step says which groups it has: where a part of one were missing, nobody could tell."""
    recording = Recording(reel_in(tmp_path))
    both = {"x.a": np.zeros(2), "x.b": np.ones(3)}
    recording.step({**sample(0), **both})
    more = {**both, "x.c": np.zeros(1)}
    for wrong in ({"x.a": np.zeros(2)}, {"x.b": np.ones(3)}, more, {"x": np.zeros(2)}):
        given = {**sample(1), **wrong}
        assert_refused(recording, WrongShape, lambda given=given: recording.writer.step(given, 0, False, False), "x")
    recording.step({**sample(1), **both})
    recording.close()
    recording.assert_whole()


# Were bugs: each of these is taken at once, and then every flush and the close fail for ever, with all steps since the last.
POISON: dict[str, dict[str, Any]] = {
    "an info that is text": {"info": '{"a": 1}'},
    "no info": {"info": None},
    "an info that is a dict": {"info": {"a": 1}},
    "a time past 64 bits": {"ts_ns": 1 << 70},
    "a step past 64 bits": {"step": 1 << 70},
    "a step that is a text": {"step": "7"},
    "an agent that is no text": {"agent": b"\xff"},
}


@pytest.mark.parametrize("what", POISON)
def test_a_step_that_cannot_be_written_is_refused_when_it_is_given(tmp_path: Path, what: str) -> None:
    recording = Recording(reel_in(tmp_path))
    recording.step(sample(0), reward=0)
    assert_refused(recording, PlayheadError, lambda: recording.writer.step(sample(1), 0, False, False, **POISON[what]))
    recording.close()
    recording.assert_whole()


@pytest.mark.parametrize("facts", [{"a": {1, 2}}, {"a": b"x"}], ids=repr)
@pytest.mark.parametrize("where", ["begin", "end", "writer"])
def test_facts_that_are_not_json_are_refused_when_they_are_given(
    tmp_path: Path, facts: dict[str, Any], where: str
) -> None:
    """Was a bug: they are taken, and then nothing can be written any more."""
    files = reel_in(tmp_path)
    if where == "writer":
        with pytest.raises(PlayheadError):
            ReelWriter(files, ReplayConfig(interval=FOR_EVER), facts=facts)
    recording = Recording(files)
    recording.begin()
    recording.step(sample(0), reward=0)
    if where == "end":
        assert_refused(recording, PlayheadError, lambda: recording.writer.end("error", facts=facts))
    elif where == "begin":
        recording.end("error")
        assert_refused(recording, PlayheadError, lambda: recording.writer.begin(facts))
    recording.close()
    recording.assert_whole()


def test_whole_numbers_of_every_type_of_numpy_keep_their_value(tmp_path: Path) -> None:
    """Was a bug: a NumPy whole number is taken for one of Python, and uint64 is refused."""
    writer = ReelWriter(files := reel_in(tmp_path), ReplayConfig(interval=FOR_EVER))
    given = {"a": np.uint64((1 << 64) - 1), "b": np.int64(-(1 << 63)), "c": np.uint32(1 << 31), "d": np.int8(-5)}
    writer.step(given, 0, False, False)
    writer.close()
    for name, value in given.items():
        assert int(Reel(files).read(name, 0, 1)[0]) == int(value), name


def test_a_number_that_float32_cannot_hold(tmp_path: Path) -> None:
    """Was a bug: it becomes infinite, with a warning of NumPy."""
    recording = Recording(reel_in(tmp_path))
    recording.step({**sample(0), "x": np.zeros((), np.float32)})
    assert_refused(recording, WrongType, lambda: recording.writer.step({"x": 1e300}, 0, False, False))


# -- after the end ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["close", "abandon"])
def test_a_writer_that_has_ended_takes_nothing(tmp_path: Path, how: str) -> None:
    recording = Recording(reel_in(tmp_path))
    recording.step(sample(0))
    recording.flush()
    writer = recording.writer
    getattr(writer, how)()
    for call in (lambda: writer.step(sample(1), 0, False, False), writer.begin):
        with pytest.raises(Closed, match="takes no more steps"):
            call()
    writer.close()  # twice is fine
    assert_same(Reel(recording.files).read("frames", 0, 1)[0], sample(0)["frames"])


@pytest.mark.parametrize(
    "options",
    [
        {"codec": "jpeg"}, {"level": 0}, {"level": 20}, {"codec": "gzip", "level": 10}, {"level": 1.5}, {"chunk": 0},
        {"queue": 0}, {"segment_bytes": 0}, {"interval": 0}, {"interval": -1}, {"sync": 0},
        {"interval": float("inf")}, {"interval": 2e10}, {"interval": float("nan")}, {"interval": "1"}, {"interval": None},
        {"sync": float("inf")}, {"sync": float("nan")}, {"sync": "1"},
    ],
    ids=str,
)  # fmt: skip
def test_a_config_that_cannot_be(options: dict[str, Any]) -> None:
    with pytest.raises(WrongType):
        ReplayConfig(**options)
