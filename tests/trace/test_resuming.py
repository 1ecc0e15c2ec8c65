"""Going on from any step, in a trace of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from playhead.errors import BadKey, Exists, OutOfRange, WrongType
from playhead.lanes.keyframes import retention, tiers
from playhead.lanes.keyframes.contents import MemoryContents
from playhead.trace import Trace
from tests.trace.made import append, assert_holds, assert_state, history, record, update


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    path = tmp_path_factory.mktemp("traces") / "fit.trace"
    return Trace.open(record(path, 500, bucket=10, parameters={"lr": 0.05}), update)


@pytest.mark.parametrize("name", ["y.trace", "y.json", "y.json.gz"])
@pytest.mark.parametrize("at", [0, 1, 19, 20, 333, 498, 499])
def test_the_history_goes_on_as_it_did(trace: Trace, tmp_path: Path, at: int, name: str) -> None:
    with trace.resume(tmp_path / name, at=at) as writer:
        assert len(writer) == at + 1
        append(writer, 600, start=at + 1)
    found = Trace.open(tmp_path / name, update)
    assert_holds(found, 600)
    assert found.keyframes.tolist() == [step for step in range(600) if tiers.is_keyframe(step, 10)]
    assert found.parameters == {"lr": 0.05}
    assert found.facts["step"] == trace.facts["step"]
    assert found.verify().is_good
    assert_holds(trace, 500, at=[499])
    found.close()


def test_another_way_from_a_step(trace: Trace, tmp_path: Path) -> None:
    gradient = np.full(8, 0.5)
    state = update(trace.seek(100), gradient)
    with trace.resume(tmp_path / "y.trace", at=100, input=gradient, bucket=4, parameters={"lr": 0.1}) as writer:
        for _ in range(50):
            writer.append(state, error=0.0, input=gradient)
            state = update(state, gradient)
    found = Trace.open(tmp_path / "y.trace", update)
    assert_state(found.seek(100), list(history(101))[100][0])
    assert found.seek(101)["w"].tolist() == update(trace.seek(100), gradient)["w"].tolist()
    assert len(found) == 151
    assert found.verify().is_good
    assert found.parameters == {"lr": 0.1}
    assert found.facts["retention"] == {"strategy": "tiered", "bucket": 4}
    assert trace.input(100).tobytes() != gradient.tobytes()


def test_best_steps_behind_it_are_forgotten(trace: Trace, tmp_path: Path) -> None:
    for at in (0, 7, 200):
        path = tmp_path / f"{at}.trace"
        trace.resume(path, at=at).close()
        found = Trace.open(path, update)
        assert found.marks == trace.marks.between(0, at + 1)
        assert len(found) == at + 1


def test_what_cannot_be_leaves_nothing(trace: Trace, tmp_path: Path) -> None:
    path = tmp_path / "y.trace"
    given: list[tuple[Any, dict[str, Any]]] = [
        (OutOfRange, {"at": 500}),
        (OutOfRange, {"at": -1}),
        (BadKey, {"at": 1.5}),
        (WrongType, {"at": 5, "bucket": 0}),
        (WrongType, {"at": 5, "bucket": 1, "retention": retention.Dense()}),
        (WrongType, {"at": 5, "input": object()}),
    ]
    for error, options in given:
        with pytest.raises(error):
            trace.resume(path, **options)
        assert list(tmp_path.iterdir()) == []
    path.write_bytes(b"something")
    with pytest.raises(Exists, match="pass another name"):
        trace.resume(path, at=5)
    assert path.read_bytes() == b"something"


def test_aborting_leaves_the_steps_up_to_it(trace: Trace, tmp_path: Path) -> None:
    writer = trace.resume(tmp_path / "y.trace", at=50)
    append(writer, 70, start=51)
    writer.abort()
    assert_holds(Trace.open(tmp_path / "y.trace", update), 51)


def test_from_memory_and_without_a_function(tmp_path: Path, trace: Trace) -> None:
    bare = Trace.open(trace._source)  # type: ignore[arg-type]
    with bare.resume(tmp_path / "y.trace", at=77, retention=retention.Aged(5)) as writer:
        append(writer, 90, start=78)
    assert_holds(Trace.open(tmp_path / "y.trace", update), 90)
    states = {step: bare.contents.packed(step) for step in (0, 20)}
    memory = Trace(MemoryContents({}, range(1000, 1030), bare.errors[:30], states, bare.contents.packed_inputs(0, 30)))
    memory.resume(tmp_path / "z.trace", at=29).close()
    assert_holds(Trace.open(tmp_path / "z.trace", update), 30)
