"""Traces that earlier versions wrote are read, verified and gone on with."""

from __future__ import annotations

import math
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest

import playhead
from playhead import tiers
from playhead.trace import Trace
from tests.golden.make import move

GOLDEN = Path(__file__).parents[1] / "golden"
STEPS = 40


@pytest.fixture(params=sorted(path.parent.name for path in GOLDEN.glob("store-*/traces")))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> playhead.Store:
    return playhead.open(shutil.copytree(GOLDEN / request.param, tmp_path / "store"))


@pytest.fixture(params=["fit", "small"])
def trace(store: playhead.Store, request: pytest.FixtureRequest) -> Trace:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of versions of packages that were others then
        return store.runs["golden"].traces.open(request.param, step=move)


def test_every_state_comes_out(trace: Trace) -> None:
    state = {"w": np.arange(3, dtype=np.float64), "n": 0}
    for step in range(STEPS):
        found, given = trace.seek(step), trace.input(step)
        assert found["n"] == step
        assert found["w"].tobytes() == state["w"].tobytes()
        assert given["by"].tobytes() == np.full(3, step, np.float32).tobytes()
        assert given["sign"] == (-1 if step % 3 else 1)
        state = move(state, given)
    assert trace.verify().is_good


def test_what_was_noted_is_there(trace: Trace) -> None:
    assert trace.timestamps.tolist() == [1000 * step for step in range(STEPS)]
    assert [step for step in range(STEPS) if math.isnan(trace.errors[step])] == [5]
    assert (trace.best, trace.parameters) == (39, {"lr": 0.5})
    assert trace.keyframes.tolist() == [step for step in range(STEPS) if tiers.is_keyframe(step, 4)]
    assert (trace.facts["step"]["module"], trace.facts["step"]["name"]) == ("tests.golden.make", "move")


def test_it_is_gone_on_with(store: playhead.Store) -> None:
    with store.run("p", "my/run", run_id="golden", resume=True) as run, run.trace("fit") as writer:
        assert len(writer) == STEPS
        writer.append({"w": np.zeros(3), "n": STEPS}, error=1.0)
    trace = store.runs["golden"].traces["fit"]
    assert (len(trace), trace.best) == (STEPS + 1, STEPS)
    assert trace.seek(STEPS)["n"] == STEPS
