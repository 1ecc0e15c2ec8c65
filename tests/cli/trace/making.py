"""A function that makes states, and a store in which it did."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import playhead

NOT_A_FUNCTION = 3
STEPS = 300


def update(state: dict[str, Any], gradient: Any) -> dict[str, Any]:
    return {"w": state["w"] - 0.1 * gradient, "opt": {"m": 0.9 * state["opt"]["m"] + gradient}, "n": state["n"] + 1}


def other(state: dict[str, Any], gradient: Any) -> dict[str, Any]:
    return {"w": state["w"] - 0.1001 * gradient, "opt": {"m": 0.9 * state["opt"]["m"] + gradient}, "n": state["n"] + 1}


def history(seed: int = 0) -> list[tuple[dict[str, Any], Any]]:
    state: dict[str, Any] = {"w": np.ones((4, 3)), "opt": {"m": np.zeros((4, 3))}, "n": 0}
    draws = np.random.default_rng(seed).normal(size=(STEPS, 4, 3))
    found = []
    for draw in draws:
        gradient = state["w"] * 0.5 + draw * 0.01
        found.append((state, gradient))
        state = update(state, gradient)
    return found


def make_store(path: Path) -> Path:
    """Record two runs: one with one trace, one with two."""
    with playhead.open(path) as store:
        for run_id, names in (("r1", ["fit"]), ("r2", ["fit", "small"])):
            with store.run("p", "gd", run_id=run_id, environment=False) as run:
                for name in names:
                    with run.trace(name, update, bucket=10, parameters={"lr": 0.1}) as trace:
                        for state, gradient in history(seed=int(run_id[1])):
                            trace.append(state, error=float(np.abs(state["w"]).sum()), input=gradient)
    return path
