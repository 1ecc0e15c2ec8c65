"""Playhead: steps of an environment; the safest way flushes after each."""

# ruff: noqa: ARG001

from collections.abc import Mapping
from pathlib import Path

import numpy as np

import playhead
from benchmarks.peers.adapter import Session
from benchmarks.peers.keepers import playhead as metrics
from benchmarks.peers.keepers.contract import Answer, key
from benchmarks.peers.keepers.environment import Environment
from playhead.integrations.gymnasium import Recorder

check = metrics.check


def start(folder: Path, name: str, *, safest: bool) -> Session:
    store = playhead.open(folder)
    run = store.run("trial", name, run_id=name)
    env = Recorder(Environment(), run)
    env.reset(seed=0)

    def log(values: dict[str, float], *, step: int) -> None:
        ended = env.step(np.array([values["loss"]]))[2]
        if safest:
            run.flush()
        if ended:
            env.reset(seed=0)

    def finish() -> None:
        env.close()
        run.finish()
        store.close()

    return Session(log, finish)


def read(folder: Path) -> Answer:
    found: Answer = {}
    with playhead.open(folder) as store:
        for run in store.runs:
            rewards = [float(reward) for episode in run.episodes for reward in episode["reward"].values]
            found |= {key(run.id, "loss", step): reward for step, reward in enumerate(rewards)}
    return found


def data(folder: Path) -> list[Path]:
    return [folder / "playhead.db", *(path for found in kinds(folder).values() for path in found)]


def kinds(folder: Path) -> Mapping[str, list[Path]]:
    return {"HDF5": [folder / "replay" / f"{name}.h5" for name in ("a", "b")]}
