"""Trackio with its monitors off."""

# The folder comes by TRACKIO_DIR, which Trackio reads when it is imported.
# ruff: noqa: ARG001

from pathlib import Path

import trackio
from trackio.sqlite_storage import SQLiteStorage

from benchmarks.peers.adapter import PARAMETERS, PROJECT, Listing, Session
from benchmarks.peers.cloning import RunTable, clone_runs, template_count


def _begin(name: str) -> None:
    trackio.init(PROJECT, name=name, config=dict(PARAMETERS), auto_log_gpu=False, auto_log_cpu=False, embed=False)


def start(folder: Path) -> Session:
    _begin("run")
    return Session(trackio.log, trackio.finish)


def surviving_steps(folder: Path) -> list[int]:
    database = SQLiteStorage.get_project_db_path(PROJECT)
    if not database.exists():
        return []
    return [entry["step"] for entry in SQLiteStorage.get_logs(PROJECT, "run")]


def fill(folder: Path, runs: int) -> None:
    for number in range(template_count(runs)):
        _begin(f"template-{number}")
        trackio.log({f"metric_{k}": number + 0.1 * k for k in range(10)}, step=0)
        trackio.finish()
    tables = [
        RunTable("metrics", "run_id", renamed=("run_name", "log_id"), generated=("id",)),
        RunTable("configs", "run_id", renamed=("run_name",), generated=("id",)),
    ]
    clone_runs(SQLiteStorage.get_project_db_path(PROJECT), tables, runs)


def listing(folder: Path) -> Listing:
    api = trackio.Api()

    def with_parameters() -> int:
        configs = SQLiteStorage.get_all_run_configs(PROJECT)
        return len([configs[run.id] for run in api.runs(PROJECT)])

    return Listing(
        first=lambda count: len(list(api.runs(PROJECT))[:count]),
        everything=lambda: len(list(api.runs(PROJECT))),
        with_parameters=with_parameters,
    )
