"""A run of two episodes whose frames say which step they are of, and a program that seems to run."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import playhead
from playhead.export.film.figures import Figure
from playhead.lanes.arrays.config import ReplayConfig
from playhead.window.deck import Shot

LENGTHS = (5, 3)
SECOND = 1_000_000_000


def frame(episode: int, step: int) -> np.ndarray:
    picture = np.zeros((20, 16, 3), np.uint8)
    picture[..., 0] = 40 * step + 10
    picture[..., 1] = 100 * episode
    picture[0, 0] = 255
    return picture


def record(path: Path) -> str:
    with playhead.open(path) as store, store.run("p", "n") as run:
        reel = run.new_reel(facts={"env_id": "Made-v0"}, config=ReplayConfig())
        at = 10 * SECOND
        for episode, length in enumerate(LENGTHS):
            at += SECOND
            reel.begin({"seed": episode}, ts_ns=at)
            for step in range(length):
                at += SECOND // 10
                reel.step({"frames": frame(episode, step), "actions": step}, 1.0, step == length - 1, False, ts_ns=at)
            reel.end("terminated", ts_ns=at)
        return run.id


class Now:
    """A program that publishes the same moment until it dies."""

    def __init__(self) -> None:
        self.alive = True

    def newest(self) -> Shot | None:
        return Shot(np.full((20, 16, 3), 200, np.uint8), [Figure("step", "12")], "Made-v0 · live")

    def is_alive(self) -> bool:
        return self.alive
