"""Seeking: the right state at any step, for few calls, whatever the step function does."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import random
import threading
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead.errors import BadKey, NotFound, OutOfRange, WrongType
from playhead.lanes.keyframes import retention, tiers, tree
from playhead.lanes.keyframes.contents import MemoryContents
from playhead.trace import Trace
from tests.trace.made import State, assert_holds, assert_state, history, record, update, update_in_place

STEPS, BUCKET = 3000, 20


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(tmp_path_factory.mktemp("traces") / "fit.trace", STEPS, bucket=BUCKET)


@pytest.fixture(scope="module")
def states() -> list[State]:
    return [state for state, _, _ in history(STEPS)]


@pytest.mark.parametrize("step", [update, update_in_place])
def test_every_step_comes_out_as_it_was(path: Path, step: Any) -> None:
    with contextlib.nullcontext() if step is update else pytest.warns(RuntimeWarning, match="its name"):
        trace = Trace.open(path, step)
    rng = random.Random(1)
    assert_holds(trace, STEPS, at=rng.sample(range(STEPS), 200))
    assert_holds(trace, STEPS, at=range(STEPS))
    assert_holds(trace, STEPS, at=range(STEPS - 1, STEPS - 500, -1))


def test_a_seek_costs_at_most_its_resolution(path: Path, states: list[State]) -> None:
    for cache in (0, 1000, 64 << 20):
        trace = Trace.open(path, update, cache_bytes=cache)
        for step in random.Random(2).choices(range(STEPS), k=500):
            before = trace.calls
            assert_state(trace.seek(step), states[step])
            assert trace.calls - before <= tiers.resolution(tiers.tier(step, BUCKET)) - 1


@pytest.mark.parametrize(("start", "stop"), [(1500, 2500), (1999, 2999), (0, 1000), (600, 1600)])
def test_scrubbing_backwards_costs_little_more_than_forwards(path: Path, start: int, stop: int) -> None:
    forwards = Trace.open(path, update)
    for step in range(start, stop):
        forwards.seek(step)
    backwards = Trace.open(path, update)
    for step in reversed(range(start, stop)):
        backwards.seek(step)
    once = Trace.open(path, update)
    assert len(once[start:stop].values) == stop - start
    assert once.calls <= forwards.calls <= stop - start + tiers.resolution(tiers.tier(start, BUCKET)) - 1
    assert backwards.calls <= 2.5 * once.calls


def test_scrubbing_a_long_span_without_keyframes(tmp_path: Path) -> None:
    """A thousand steps back from the end of a span of a thousand."""
    path = record(tmp_path / "x.trace", 1001, retention=retention.BestSpaced(1, 100_000))
    trace = Trace.open(path, update)
    for step in reversed(range(1001)):
        trace.seek(step)
    assert trace.calls <= 2500
    for step in random.Random(3).choices(range(1001), k=300):
        trace.seek(step)
    assert trace.calls <= 2500 + 300 * 40


def test_the_cache_keeps_to_its_size(path: Path) -> None:
    trace = Trace.open(path, update, cache_bytes=10_000)
    for step in random.Random(4).choices(range(STEPS), k=300):
        trace.seek(step)
        seeker = trace._seeker
        assert seeker._size == sum(map(len, seeker._cache.values())) <= 10_000
        assert seeker._known == sorted(seeker._cache)


@settings(deadline=None, max_examples=50)
@given(
    st.integers(1, 60),
    st.sampled_from([retention.Tiered(2), retention.BestOnly(), retention.Dense(), retention.BestSpaced(2, 9)]),
    st.lists(st.tuples(st.integers(0, 59), st.integers(0, 59)), max_size=12),
    st.sampled_from([0, 300, 1 << 20]),
)
def test_any_order_of_seeks_and_ranges(
    steps: int, way: retention.Retention, asked: list[tuple[int, int]], cache: int
) -> None:
    due = list(history(steps))
    errors = [error for _, error, _ in due]
    best = [min(errors[: n + 1]) == errors[n] for n in range(steps)]
    again = retention.from_json(way.to_json())
    kept = {n: tree.pack(due[n][0]) for n in range(steps) if again.keeps(n, is_best=best[n])}
    inputs = [tree.pack(gradient) for _, _, gradient in due]
    trace = Trace(MemoryContents({}, range(steps), errors, kept, inputs), update, cache_bytes=cache)
    for a, b in asked:
        start, stop = min(a, steps - 1), min(b, steps)
        assert_state(trace.seek(start), due[start][0])
        found = trace[start:stop].values
        assert len(found) == max(0, stop - start)
        for place, state in enumerate(found):
            assert_state(state, due[start + place][0])
        picked = [min(b, steps - 1), start, start]
        for step, state in zip(picked, trace[picked].values, strict=True):
            assert_state(state, due[step][0])


def test_what_is_sought_is_the_callers_own(path: Path, states: list[State]) -> None:
    trace = Trace.open(path, update)
    for step in (0, 10, 2999, 2998, 2998, 2999):
        found = trace.seek(step)
        assert_state(found, states[step])
        found["w"][:] = 0
        found["n"] = None
    for state in trace[2990:2999].values:
        state["w"][:] = 0
    assert_state(trace.seek(2995), states[2995])


@pytest.mark.parametrize("step", [STEPS, STEPS + 10**20, -1, -STEPS])
def test_steps_that_are_not_there(path: Path, step: int) -> None:
    trace = Trace.open(path, update)
    for ask in (trace.seek, trace.input):
        with pytest.raises(OutOfRange, match=f"no step {step}: the trace has {STEPS}"):
            ask(step)
    assert trace.calls == 0
    for wrong in (1.5, "1", None, True):
        with pytest.raises(BadKey):
            trace.seek(wrong)  # type: ignore[arg-type]


def test_without_a_function_keyframes_are_there(path: Path, states: list[State]) -> None:
    trace = Trace.open(path)
    for step in trace.keyframes.tolist():
        assert_state(trace.seek(step), states[step])
    missing = next(step for step in range(STEPS) if step not in set(trace.keyframes.tolist()))
    with pytest.raises(NotFound, match=f"step {missing} is no keyframe.*pass step="):
        trace.seek(missing)
    assert len(trace.errors) == STEPS
    assert trace.best is not None
    assert not trace.can_recompute


def test_a_function_that_raises_is_heard_with_the_step(path: Path) -> None:
    def failing(state: State, gradient: Any) -> State:
        if state["n"] == 2997:
            raise ZeroDivisionError("no")
        return update(state, gradient)

    with pytest.warns(RuntimeWarning, match="not the one"):
        trace = Trace.open(path, failing)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError) as caught:
            trace.seek(2999)
        assert "from step 2997 to 2998" in caught.value.__notes__[0]
    assert trace.seek(2997)["n"] == 2997


def test_a_function_that_returns_nothing_is_told_so(path: Path) -> None:
    def forgetful(state: State, gradient: Any) -> None:
        state["w"] -= gradient

    with pytest.warns(RuntimeWarning):
        trace = Trace.open(path, forgetful)
    with pytest.raises(WrongType, match="gave None at step 2944"):
        trace.seek(2999)


def test_a_function_that_returns_what_no_state_is(path: Path) -> None:
    with pytest.warns(RuntimeWarning):
        trace = Trace.open(path, lambda state, gradient: object())
    with pytest.raises(WrongType, match=r"builtins\.object"):
        trace[2990:2999].values  # noqa: B018


def test_errors_and_marks_need_no_call(path: Path) -> None:
    trace = Trace.open(path, update)
    errors = [error for _, error, _ in history(STEPS)]
    assert trace.errors.tolist() == errors
    assert trace.best == int(np.argmin(errors))
    for step in (1, 50, STEPS):
        assert trace.best_before(step) == int(np.argmin(errors[:step]))
    assert trace.best_before(0) is None
    assert not trace.errors.flags.writeable
    assert trace.calls == 0


def test_threads_share_a_trace(path: Path, states: list[State]) -> None:
    trace = Trace.open(path, update, cache_bytes=20_000)
    wrong: list[object] = []

    def read(seed: int) -> None:
        rng = random.Random(seed)
        try:
            for _ in range(100):
                step = rng.randrange(STEPS - 20)
                assert_state(trace.seek(step), states[step])
                for place, state in enumerate(trace[step : step + 5].values):
                    assert_state(state, states[step + place])
        except BaseException as error:  # noqa: BLE001
            wrong.append(error)

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_it_travels_to_a_spawned_process(path: Path, states: list[State]) -> None:
    trace = Trace.open(path, update)
    trace.seek(2500)
    arrived = ForkingPickler.loads(bytes(ForkingPickler.dumps(trace)))
    assert arrived.calls == 0
    assert_state(arrived.seek(2501), states[2501])
    with pytest.raises(NotFound, match="in memory cannot be sent"):
        ForkingPickler.dumps(Trace(MemoryContents({}, [], [], {})))


def test_a_forked_child_reads_on(path: Path, states: list[State]) -> None:
    trace = Trace.open(path, update)
    trace.seek(2500)

    def read() -> None:
        for step in (2501, 2400, 7):
            assert_state(trace.seek(step), states[step])
        os._exit(7)

    child = multiprocessing.get_context("fork").Process(target=read)
    child.start()
    child.join(30)
    assert child.exitcode == 7
    assert_state(trace.seek(2600), states[2600])


def test_without_inputs_the_function_gets_none() -> None:
    kept = {0: tree.pack(0), 8: tree.pack(80)}
    trace = Trace(MemoryContents({}, range(10), [np.nan] * 10, kept), lambda state, given: (state + 1, given)[0])
    assert [trace.seek(step) for step in (5, 8, 9)] == [5, 80, 81]
    assert trace.input(3) is None
    assert trace.best is None
