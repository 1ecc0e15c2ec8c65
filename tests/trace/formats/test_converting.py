"""convert: between any two forms, with as many keyframes as are wanted."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from playhead.errors import BadName, Exists, NotFound, PlayheadError, WrongType
from playhead.lanes.keyframes import tiers, tree
from playhead.trace import Trace, TraceWriter, formats
from tests.trace.formats import made

EXACT = ["tiered", "tiered-delta", "v2", "trace"]


def fitted(path: Path, count: int = 40, bucket: int = 100) -> list[np.ndarray[Any, Any]]:
    """Record a trace; give its states."""
    state: dict[str, Any] = {"w": np.arange(3.0), "n": 0}
    seen = []
    with TraceWriter(path, step=made.update, bucket=bucket) as writer:
        for step in range(count):
            given = np.cos(np.arange(3.0) + step)
            seen.append(state["w"])
            writer.append(state, error=float(np.abs(state["w"]).sum()), input=given)
            state = made.update(state, given)
    return seen


@pytest.mark.parametrize(("first", "second"), [*itertools.permutations(EXACT, 2)])
def test_forms_that_hold_all_errors_are_one_trace(tmp_path: Path, first: str, second: str) -> None:
    formats.write(tmp_path / "given.json", made.plain())
    source = tmp_path / "given.json"
    for place, form in enumerate((first, second, "tiered")):
        target = tmp_path / (f"{place}.trace" if form == "trace" else f"{place}.json.gz")
        assert formats.convert(source, target, None if form == "trace" else form) == []
        source = target
    made.assert_same(Trace.open(source).contents, made.plain(), with_facts=False)
    assert Trace.open(source).parameters == made.plain().facts["parameters"]


def test_keyframes_are_thinned(tmp_path: Path) -> None:
    seen = fitted(tmp_path / "a.trace")
    formats.convert(tmp_path / "a.trace", tmp_path / "b.trace", bucket=4)
    trace = Trace.open(tmp_path / "b.trace", made.update)
    assert len(trace.keyframes) == tiers.keyframe_count(40, 4) < 40
    assert trace.facts["retention"] == {"strategy": "tiered", "bucket": 4}
    assert all(np.array_equal(trace.seek(step)["w"], due) for step, due in enumerate(seen))
    assert len(Trace.open(tmp_path / "a.trace").keyframes) == 40  # as it was


def test_keyframes_that_are_wanted_are_recomputed_once_each(tmp_path: Path) -> None:
    seen = fitted(tmp_path / "a.json.gz", bucket=1)
    calls = []

    def update(state: Any, given: Any) -> Any:
        calls.append(1)
        return made.update(state, given)

    with pytest.warns(RuntimeWarning, match="not the one"):  # it is another function
        formats.convert(tmp_path / "a.json.gz", tmp_path / "b.json", bucket=100, step=update)
    trace = Trace.open(tmp_path / "b.json")
    assert trace.keyframes.tolist() == list(range(40))
    assert all(np.array_equal(trace.seek(step)["w"], due) for step, due in enumerate(seen))
    assert len(calls) <= 40


def test_keyframes_that_are_wanted_need_the_function(tmp_path: Path) -> None:
    fitted(tmp_path / "a.trace", bucket=1)
    with pytest.raises(NotFound, match="the first is step 3: pass step="):
        formats.convert(tmp_path / "a.trace", tmp_path / "b.trace", bucket=100)
    assert not (tmp_path / "b.trace").exists()


def test_the_last_state_of_a_train_output_is_recomputed(tmp_path: Path) -> None:
    def move(state: list[Any], _: Any) -> list[Any]:
        return made.shapes(int(2 * state[0]["c"]["x"]) + 1)

    formats.write(tmp_path / "a.json", made.plain(11))
    formats.convert(tmp_path / "a.json", tmp_path / "b.json", "train", step=move)
    found = formats.read(tmp_path / "b.json")
    assert found.keyframes.tolist() == [0, 3, 6, 9, 10]
    assert found.packed(10) == tree.pack(made.shapes(10))


def test_what_is_lost_is_said(tmp_path: Path) -> None:
    formats.write(tmp_path / "a.json", made.ours())
    assert formats.convert(tmp_path / "a.json", tmp_path / "b.json", "tiered") == ["12 inputs"]
    assert formats.convert(tmp_path / "a.json", tmp_path / "b.trace") == []
    told = formats.lost(made.ours(), "train")
    assert told[:3] == ["12 inputs", "the times of the steps", "which function made it"]
    assert told[-2:] == ["the parameter learning_rate", "the parameter note"]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"target": "a.trace"}, Exists),
        ({"target": "b.trace", "form": "tiered"}, WrongType),
        ({"target": "b.json", "form": "v9"}, WrongType),
        ({"target": "b.json", "bucket": 0}, WrongType),
        ({"target": "b.json", "form": "v1"}, WrongType),
        ({"target": "b.txt"}, BadName),
        ({"source": "none.trace", "target": "b.json"}, NotFound),
        ({"source": "none.json", "target": "b.json"}, NotFound),
    ],
)
def test_what_cannot_be_converted_leaves_all_as_it_was(
    tmp_path: Path, arguments: dict[str, Any], error: type[PlayheadError]
) -> None:
    fitted(tmp_path / "a.trace")
    before = (tmp_path / "a.trace").read_bytes()
    given = {"source": "a.trace"} | arguments
    with pytest.raises(error):
        formats.convert(**given | {name: tmp_path / given[name] for name in ("source", "target")})
    assert [path.name for path in tmp_path.iterdir()] == ["a.trace"]
    assert (tmp_path / "a.trace").read_bytes() == before


def test_a_target_that_is_being_recorded_is_refused(tmp_path: Path) -> None:
    fitted(tmp_path / "a.trace")
    with TraceWriter(tmp_path / "b.trace") as writer:
        writer.append(1)
        with pytest.raises(Exists, match="already"):
            formats.convert(tmp_path / "a.trace", tmp_path / "b.trace")
    assert len(Trace.open(tmp_path / "b.trace")) == 1
