"""Versions of a model and of the data it was trained on: saved, found again, checked, and traced to each other.

Run: python examples/artifacts.py [--store PATH]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

import playhead


def prepare(store: playhead.Store, folder: Path) -> None:
    """Make points on a noisy line, and save them as a data set."""
    chance = np.random.default_rng(0)
    x = chance.uniform(-1, 1, 1000)
    np.save(folder / "points.npy", np.stack([x, 3 * x + 0.5 + chance.normal(0, 0.1, 1000)]))
    with store.run("line", "prepare") as run:
        print("saved", run.log_artifact("points", folder / "points.npy", type="dataset"))


def train(store: playhead.Store, folder: Path, steps: int) -> None:
    """Fit the line by gradient descent; the version with the smallest error is called best."""
    with store.run("line", "fit", config={"steps": steps}) as run:
        x, y = np.load(run.use_artifact("points:latest").download(folder / "data") / "points.npy")
        weights, least = np.zeros(2), np.inf
        for step in range(1, steps + 1):
            error = weights[0] * x + weights[1] - y
            weights -= 0.3 * np.array([(error * x).mean(), error.mean()])
            loss = float((error**2).mean())
            run.log({"loss": loss}, step=step)
            if step % 10 == 0:
                np.save(folder / "weights.npy", weights)
                aliases = ["best"] if loss < least else []
                least = min(least, loss)
                run.log_artifact("line", folder / "weights.npy", aliases=aliases, metadata={"step": step, "loss": loss})


def main() -> None:
    """Record, then look at what is there."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--store", default="store")
    parser.add_argument("--steps", type=int, default=50)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, playhead.open(given.store) as store:
        folder = Path(scratch)
        prepare(store, folder)
        train(store, folder, given.steps)
        best = store.artifacts["line:best"]
        print(f"best is {best.ref} with a loss of {best.metadata['loss']:.4f}")
        print("its weights:", np.load(best.download(folder / "best") / "weights.npy").round(2))
        print("it comes from:", ", ".join(node.id for node in best.lineage().upstream))
        print("problems found when every byte is read:", best.verify())


if __name__ == "__main__":
    main()
