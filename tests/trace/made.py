"""Traces for tests: a small fit whose every state is known, and how it is recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from playhead.trace import Trace, TraceWriter

State = dict[str, Any]
SIZE = 8


def update(state: State, gradient: np.ndarray[Any, Any]) -> State:
    """Go one step against the gradient."""
    return {"n": state["n"] + 1, "w": state["w"] - 0.05 * gradient}


def update_in_place(state: State, gradient: np.ndarray[Any, Any]) -> State:
    """Do the same in the state that was given."""
    state["n"] += 1
    state["w"] -= 0.05 * gradient
    gradient[:] = np.nan  # nobody may need it any more
    return state


def follow(_: Any, given: Any) -> Any:
    """Make the input the next state: any values then are a history."""
    return given


def history(steps: int, seed: int = 0) -> Iterator[tuple[State, float, np.ndarray[Any, Any]]]:
    """Give each state with its error and the gradient that leads to the next."""
    rng = np.random.default_rng(seed)
    state: State = {"n": 0, "w": rng.normal(size=SIZE)}
    for _ in range(steps):
        gradient = state["w"] * 0.1 + rng.normal(size=SIZE) * 0.02
        yield state, float(np.abs(state["w"]).sum()), gradient
        state = update(state, gradient)


def record(path: Path, steps: int, *, seed: int = 0, step: Callable[..., Any] | None = update, **options: Any) -> Path:
    """Record that history, with stamps of its step numbers."""
    with TraceWriter(path, step=step, **options) as writer:
        append(writer, steps, seed=seed)
    return path


def append(writer: TraceWriter, steps: int, *, seed: int = 0, start: int = 0) -> None:
    """Append the steps of that history from one on."""
    for number, (state, error, gradient) in enumerate(history(steps, seed)):
        if number >= start:
            assert writer.append(state, error=error, input=gradient, ts_ns=1000 + number) == number


def assert_holds(trace: Trace, steps: int, *, seed: int = 0, at: Any = None) -> None:
    """See that a trace has that history: times, errors, inputs, and the states of some steps or all."""
    due = list(history(steps, seed))
    assert len(trace) == steps
    assert trace.timestamps.tolist() == list(range(1000, 1000 + steps))
    assert trace.errors.tolist() == [error for _, error, _ in due]
    for step in range(steps) if at is None else at:
        assert_state(trace.seek(step), due[step][0])
        assert trace.input(step).tobytes() == due[step][2].tobytes()


def assert_state(found: Any, due: State) -> None:
    assert found["n"] == due["n"]
    assert found["w"].tobytes() == due["w"].tobytes()
