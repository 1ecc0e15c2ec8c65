"""Train a small network, be killed half way, go on, and then look at any step of the training.

A network of 2-24-1 learns to tell two spirals apart, by Adam on small batches. The trace keeps the weights of few steps
and the gradient of each, so that every state comes back to the last bit, without the data or the network.

    python examples/fit.py --store demo-store
    playhead trace info last/fit --store demo-store
    cd examples; playhead trace verify last/fit --step fit:adam --store ../demo-store
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

import playhead

State = dict[str, Any]
Weights = dict[str, np.ndarray]

RATE = 0.03
HIDDEN, BATCH = 24, 32


def adam(state: State, gradient: Weights) -> State:
    """Make the next state of one and its gradient: all that replay ever calls."""
    t = state["t"] + 1
    found: State = {"t": t, "weights": {}, "first": {}, "second": {}}
    for name, slope in gradient.items():
        first = 0.9 * state["first"][name] + 0.1 * slope
        second = 0.999 * state["second"][name] + 0.001 * slope * slope
        move = RATE * (first / (1 - 0.9**t)) / (np.sqrt(second / (1 - 0.999**t)) + 1e-8)
        found["weights"][name] = state["weights"][name] - move
        found["first"][name], found["second"][name] = first, second
    return found


def spirals() -> tuple[np.ndarray, np.ndarray]:
    """Make 400 points on two spirals, and which each is on."""
    turn = np.linspace(0.5, 5.5, 200)
    one = np.column_stack([turn * np.cos(turn), turn * np.sin(turn)]) / 5
    noise = np.random.default_rng(0).normal(scale=0.02, size=(400, 2))
    return np.concatenate([one, -one]) + noise, np.repeat([0.0, 1.0], 200)


def begin() -> State:
    """Give the first state."""
    draw = np.random.default_rng(1).normal
    weights = {"w1": draw(size=(2, HIDDEN)) * 2, "b1": np.zeros(HIDDEN), "w2": draw(size=HIDDEN) / 5, "b2": np.zeros(1)}
    zeros = {name: np.zeros_like(value) for name, value in weights.items()}
    return {"t": 0, "weights": weights, "first": zeros, "second": {name: value.copy() for name, value in zeros.items()}}


def loss_and_gradient(weights: Weights, points: np.ndarray, labels: np.ndarray) -> tuple[float, Weights]:
    """Give the cross-entropy of some points, and its gradient."""
    hidden = np.tanh(points @ weights["w1"] + weights["b1"])
    logits = hidden @ weights["w2"] + weights["b2"]
    loss = float(np.mean(np.logaddexp(0, logits) - labels * logits))
    wrong = (1 / (1 + np.exp(-logits)) - labels) / len(labels)
    back = np.outer(wrong, weights["w2"]) * (1 - hidden**2)
    slopes = {"w1": points.T @ back, "b1": back.sum(axis=0), "w2": hidden.T @ wrong, "b2": wrong.sum(keepdims=True)}
    return loss, slopes


def train(store: playhead.Store, run_id: str, steps: int) -> None:
    """Train, or go on where the last training ended."""
    points, labels = spirals()
    with store.run("spirals", "adam", run_id=run_id, resume=True, config={"lr": RATE}, environment=False) as run:
        state = begin()
        if "fit" in run.traces:
            before = run.traces.open("fit", step=adam)
            state = adam(before.seek(len(before) - 1), before.input(len(before) - 1))
        with run.trace("fit", adam, bucket=64, parameters={"learning_rate": RATE}) as trace:
            for step in range(len(trace), steps):
                batch = np.random.default_rng(step).integers(0, len(points), BATCH)
                error, _ = loss_and_gradient(state["weights"], points, labels)
                _, gradient = loss_and_gradient(state["weights"], points[batch], labels[batch])
                trace.append(state, error=error, input=gradient)
                state = adam(state, gradient)
                if step % 100 == 0:
                    run.log({"loss": error}, step=step)
                    trace.flush()
                    print(step, flush=True)


def train_and_kill(options: argparse.Namespace) -> None:
    """Train in another process, and kill it half way."""
    command = [sys.executable, __file__, "--store", options.store, "--run", options.run, "--steps", str(options.steps)]
    with subprocess.Popen([*command, "--child"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if int(line) >= options.steps // 2:
                process.kill()
                break


def look(run: playhead.Run, picture: Path) -> None:
    """Look at what was recorded: any step, the best, the whole curve."""
    trace = run.traces.open("fit", step=adam)
    size, whole = run.traces.path("fit").stat().st_size, len(trace) * _bytes(trace.seek(0))
    print(f"{trace}: {size / 1e6:.1f} MB; all states as they are would be {whole / 1e6:.1f} MB")
    step = len(trace) * 2 // 3
    weights = trace.seek(step)["weights"]
    print(f"step {step}: |w1| = {np.abs(weights['w1']).sum():.6f}, after {trace.calls} calls of adam")
    report = trace.verify()
    print(report)
    assert report.is_good
    points, labels = spirals()
    assert trace.best is not None
    best, _ = loss_and_gradient(trace.seek(trace.best)["weights"], points, labels)
    assert best == trace.errors[trace.best]  # the very weights, so the very loss
    print(f"best: loss {best:.5f} at step {trace.best}")
    try:
        from playhead import plots

        plots.plot_trace(trace, picture, title=f"{run.id}/fit")
        print(f"wrote {picture}")
    except playhead.MissingExtra as missing:
        print(missing)


def _bytes(tree: Any) -> int:
    return sum(map(_bytes, tree.values())) if isinstance(tree, dict) else getattr(tree, "nbytes", 8)


def main() -> None:
    """Train, be killed, go on, look."""
    parser = argparse.ArgumentParser(description="Record a training as a trace, and seek in it.")
    parser.add_argument("--store", default="demo-store")
    parser.add_argument("--run", default="spirals")
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--picture", type=Path, default=Path("fit.png"))
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.child:
        train_and_kill(options)
    with playhead.open(options.store) as store:
        if not options.child and options.run in store.runs:
            run = store.runs[options.run]
            print(f"killed: the run is {run.status}, its trace has {len(run.traces['fit'])} steps")
        train(store, options.run, options.steps)
        if not options.child:
            look(store.runs[options.run], options.picture)


if __name__ == "__main__":
    main()
