"""Verifying: what comes out otherwise is found, with where and how much."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from playhead.errors import Damaged, NotFound, WrongType
from playhead.lanes.keyframes import tree
from playhead.lanes.keyframes.contents import MemoryContents
from playhead.trace import Trace
from tests.trace.made import State, record, update, update_in_place

STEPS, BUCKET = 1000, 40  # keyframes 8 apart from 320 to 640, then 16

pytestmark = pytest.mark.filterwarnings("ignore:the step function is not the one")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(tmp_path_factory.mktemp("traces") / "fit.trace", STEPS, bucket=BUCKET)


@pytest.mark.parametrize("step", [update, update_in_place])
def test_what_comes_out_again_is_good(path: Path, step: Any) -> None:
    trace = Trace.open(path, step)
    seen: list[int] = []
    report = trace.verify(progress=seen.append)
    last = int(trace.keyframes[-1])
    assert report.is_good
    assert (report.spans, report.calls, report.first) == (len(trace.keyframes) - 1, last, None)
    assert report.unchecked == STEPS - 1 - last
    assert (len(seen), sum(seen)) == (report.spans, last)
    assert f"All {report.spans} spans" in str(report)
    assert "to the last bit" in str(report)


def nudged(at: int, amount: float) -> Any:
    def step(state: State, gradient: Any) -> State:
        made = update(state, gradient)
        if state["n"] == at:
            made["w"][3] += amount
        return made

    return step


def test_a_difference_is_put_between_two_keyframes(path: Path) -> None:
    report = Trace.open(path, nudged(333, 1e-9)).verify()
    assert not report.is_good
    assert report.diverged == 1
    assert report.first is not None
    assert (report.first.keyframe, report.first.shows_at) == (328, 336)
    assert report.first.unstable_at is None
    difference = report.first.difference
    assert difference is not None
    assert difference.worst is not None
    assert (difference.places, difference.worst.path) == (1, "['w'][3]")
    assert difference.absolute == pytest.approx(1e-9, rel=1e-3)
    for said in ("keyframe 328", "step 336", "['w'][3]", "1e-09 apart", "Two runs agree"):
        assert said in str(report)
    assert json.loads(json.dumps(report.to_json()))["first"]["shows_at"] == 336


def test_a_tolerance_allows_for_it(path: Path) -> None:
    trace = Trace.open(path, nudged(333, 1e-9))
    assert trace.verify(tolerance=1e-6).is_good
    assert trace.verify(tolerance=(0.0, 1e-8)).is_good
    report = trace.verify(tolerance=(0.0, 1e-10))
    assert report.diverged == 1
    assert "within 0 relative + 1e-10 absolute" in str(report)
    for wrong in (-1, float("nan"), float("inf"), "1", (1, 2, 3), (1,)):
        with pytest.raises(WrongType, match="a tolerance is"):
            trace.verify(tolerance=wrong)  # type: ignore[arg-type]


def test_the_first_and_the_largest_are_named(path: Path) -> None:
    def step(state: State, gradient: Any) -> State:
        made = update(state, gradient)
        made["w"][1] += {100: 1e-9, 500: 1e-3, 700: 1e-6}.get(state["n"], 0)
        return made

    report = Trace.open(path, step).verify()
    assert report.diverged == 3
    assert report.first is not None
    assert report.worst is not None
    assert (report.first.keyframe, report.worst.keyframe) == (100, 496)
    assert "Largest: recomputed from keyframe 496" in str(report)


def test_a_function_that_is_not_deterministic_is_told_apart(path: Path) -> None:
    draws = itertools.count()

    def step(state: State, gradient: Any) -> State:
        made = update(state, gradient)
        if state["n"] == 341:
            made["w"][0] += next(draws) + 1
        return made

    report = Trace.open(path, step).verify()
    assert report.first is not None
    assert (report.first.keyframe, report.first.shows_at, report.first.unstable_at) == (336, 344, 342)
    assert "not deterministic: two runs differ from step 342 on" in str(report)


def test_a_function_that_raises_is_a_finding(path: Path) -> None:
    def step(state: State, gradient: Any) -> State:
        if state["n"] == 341:
            raise RuntimeError("boom")
        return update(state, gradient)

    report = Trace.open(path, step).verify()
    assert report.diverged == 1
    assert report.first is not None
    assert (report.first.keyframe, report.first.shows_at) == (336, 342)
    assert "making step 342 raised RuntimeError: boom" in str(report)


def test_a_function_that_gives_no_state_is_a_finding(path: Path) -> None:
    report = Trace.open(path, lambda state, gradient: object()).verify()
    assert report.diverged == report.spans
    assert "builtins.object" in str(report)


def test_the_order_of_keys_is_no_difference(path: Path) -> None:
    def step(state: State, gradient: Any) -> State:
        return dict(reversed(update(state, gradient).items()))

    assert Trace.open(path, step).verify().is_good


def test_a_lost_key_is_larger_than_any_number(path: Path) -> None:
    def step(state: State, gradient: Any) -> State:
        made = update(state, gradient)
        if made["n"] == 336:
            return {"w": made["w"] + 1e300}
        return made

    report = Trace.open(path, step).verify()
    assert report.first is not None
    assert report.first.difference is not None
    assert report.first.difference.worst is not None
    assert report.first.difference.worst.path == "['n']"


def test_without_a_function_it_cannot_be_verified(path: Path) -> None:
    with pytest.raises(NotFound, match="needs the function"):
        Trace.open(path).verify()


def test_nothing_to_compare_is_said() -> None:
    for steps, kept in ((0, {}), (5, {0: tree.pack(0)})):
        trace = Trace(MemoryContents({}, range(steps), [np.nan] * steps, kept), lambda state, _: state)
        report = trace.verify()
        assert report.is_good
        assert "no two keyframes" in str(report)


def test_damage_is_damage_and_no_divergence(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "x.trace"
    data = bytearray(path.read_bytes())
    data[200] ^= 1
    copy.write_bytes(data)
    with pytest.raises(Damaged, match="the state of step"):
        Trace.open(copy, update).verify()
