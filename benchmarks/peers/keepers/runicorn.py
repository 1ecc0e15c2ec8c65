"""Runicorn: read as its viewer reads, from the events of each run."""

# ruff: noqa: ARG001

import json
from collections.abc import Mapping
from pathlib import Path

from benchmarks.peers.adapter import Session
from benchmarks.peers.keepers import contract
from benchmarks.peers.keepers.contract import Answer, key


def start(folder: Path, name: str, *, safest: bool) -> Session:
    import runicorn

    run = runicorn.init(path="trial", storage=str(folder), run_id=f"{name}")
    run.log_config(args=contract.config(name))
    return Session(run.log, run.finish)


def read(folder: Path) -> Answer:
    from runicorn.viewer.utils.incremental_cache import IncrementalMetricsCache

    found: Answer = {}
    for run in _runs(folder):
        _, rows = IncrementalMetricsCache().get_or_update(run / "events.jsonl")
        for row in rows:
            found |= {key(run.name, what, row["global_step"]): row[what] for what in ("loss", "score") if what in row}
        config = json.loads((run / "assets.json").read_text())["config"].get("args", {})
        found |= {key(run.name, "config", what): given for what, given in config.items()}
    return found


def _runs(folder: Path) -> list[Path]:
    return sorted(path.parent for path in folder.glob("runs/trial/*/meta.json"))


def data(folder: Path) -> list[Path]:
    return [path for found in kinds(folder).values() for path in found]


def kinds(folder: Path) -> Mapping[str, list[Path]]:
    return {file: [run / file for run in _runs(folder)] for file in ("events.jsonl", "assets.json")}
