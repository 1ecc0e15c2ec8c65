"""A store with a few real runs, made once; tests that change it get a copy."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import numpy as np
import pytest

import playhead

FIRST = "20260101_100000_aaaaaa"
SECOND = "20260101_110000_bbbbbb"
BROKEN = "20260102_090000_cccccc"
DELETED = "20260103_080000_dddddd"


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("made") / "store"
    with playhead.open(path) as store:
        _record(store, FIRST, learning_rate=1e-3, tags=["baseline", "paper"])
        _record(store, SECOND, learning_rate=1e-4, tags=[])
        with pytest.raises(ValueError, match="diverged"):
            _record_a_failure(store)
        with store.run("cartpole", "ppo", run_id=DELETED, environment=False):
            pass
        store.runs[DELETED].delete("wrong seed")
    return path


def _record(store: playhead.Store, run_id: str, learning_rate: float, tags: list[str]) -> None:
    config = {"lr": learning_rate, "net": {"layers": [64, 64], "act": "relu"}, "limit": math.inf}
    with store.run("pong", "dqn", config=config, tags=tags, notes="first\ntry", run_id=run_id) as run:
        run.set_primary_metric("return")
        for step in range(100):
            run.log({"loss": math.exp(-step / 20), "return": step + learning_rate}, step=step)
        run.log({"return": 55.5}, stage="eval")
        run.log_image("frame", np.zeros((4, 4, 3), np.uint8), step=7, caption="black")
        for line in range(30):
            run.log_text(f"line {line}")
        run.summary(wins=12)


def _record_a_failure(store: playhead.Store) -> None:
    with store.run("cartpole", "ppo", run_id=BROKEN, environment=False) as run:
        run.log({"loss": math.nan})
        raise ValueError("the loss diverged\nat once")


@pytest.fixture
def path(made: Path, tmp_path: Path) -> Path:
    """A store that may be changed."""
    return Path(shutil.copytree(made, tmp_path / "store"))


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    with playhead.open(tmp_path / "empty") as store:
        return store.path
