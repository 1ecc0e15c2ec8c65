"""Minari: steps of an environment, in HDF5; the safest way adds each episode to the data set as it ends."""

# ruff: noqa: ARG001

import os
import warnings
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from benchmarks.peers.adapter import Session
from benchmarks.peers.keepers.contract import Answer, key
from benchmarks.peers.keepers.environment import Environment

warnings.simplefilter("ignore")  # there is no author, and no address


def _use(folder: Path) -> None:
    os.environ["MINARI_DATASETS_PATH"] = str(folder)


def start(folder: Path, name: str, *, safest: bool) -> Session:
    import minari

    _use(folder)
    collector = minari.DataCollector(Environment())
    collector.reset(seed=0)
    kept: list[minari.MinariDataset] = []

    waiting = 0  # steps that are not in the data set; adding none of them is an error of Minari's

    def keep() -> None:
        nonlocal waiting
        if not waiting:
            return
        waiting = 0
        if kept:
            collector.add_to_dataset(kept[0])
        else:
            kept.append(collector.create_dataset(f"trial/{name}-v0"))

    def log(values: dict[str, float], *, step: int) -> None:
        nonlocal waiting
        ended = collector.step(np.array([values["loss"]]))[2]
        waiting += 1
        if ended:
            if safest:
                keep()
            collector.reset(seed=0)

    def finish() -> None:
        keep()
        collector.close()

    return Session(log, finish)


def read(folder: Path) -> Answer:
    import minari

    _use(folder)
    found: Answer = {}
    names = minari.list_local_datasets()
    if not names:
        raise FileNotFoundError("no data set is listed")
    for dataset_id in names:
        name = dataset_id.split("/")[1].removesuffix("-v0")
        rewards = [float(reward) for episode in minari.load_dataset(dataset_id) for reward in episode.rewards]
        found |= {key(name, "loss", step): reward for step, reward in enumerate(rewards)}
    return found


def data(folder: Path) -> list[Path]:
    return [path for found in kinds(folder).values() for path in found]


def kinds(folder: Path) -> Mapping[str, list[Path]]:
    folders = [folder / "trial" / f"{name}-v0" / "data" for name in ("a", "b")]
    return {file: [one / file for one in folders] for file in ("main_data.hdf5", "metadata.json")}
