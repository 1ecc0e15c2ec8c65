"""Trackio with its monitors off, a project a run; the safest way sets SQLite's `synchronous` to `FULL`."""

# The folder comes by TRACKIO_DIR, which Trackio reads when it is imported.
# ruff: noqa: ARG001

import os
from collections.abc import Mapping
from pathlib import Path

from benchmarks.peers.adapter import Session
from benchmarks.peers.keepers import contract
from benchmarks.peers.keepers.contract import Answer, key

PROJECTS = ("a", "b")


def start(folder: Path, name: str, *, safest: bool) -> Session:
    if safest:
        os.environ["TRACKIO_SQLITE_SYNCHRONOUS"] = "FULL"
    import trackio

    trackio.init(name, name="run", config=contract.config(name), auto_log_gpu=False, auto_log_cpu=False, embed=False)
    return Session(trackio.log, trackio.finish)


def read(folder: Path) -> Answer:
    from trackio.sqlite_storage import SQLiteStorage

    found: Answer = {}
    names = [name for name in PROJECTS if SQLiteStorage.get_project_db_path(name).exists()]
    if not names:
        raise FileNotFoundError("there is no project")
    for name in names:
        for entry in SQLiteStorage.get_logs(name, "run"):
            found |= {key(name, what, entry["step"]): entry[what] for what in ("loss", "score") if what in entry}
        config = SQLiteStorage.get_run_config(name, "run") or {}
        found |= {key(name, "config", what): config[what] for what in contract.config(name) if what in config}
    return found


def data(folder: Path) -> list[Path]:
    return [path for name in PROJECTS for path in sorted(folder.glob(f"{name}*.db"))]


def kinds(folder: Path) -> Mapping[str, list[Path]]:
    return {"project database": data(folder)}
