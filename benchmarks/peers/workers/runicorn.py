"""Runicorn: an events file and a SQLite database, written together."""

import json
from pathlib import Path

import runicorn
from runicorn.storage.backends import SQLiteStorageBackend
from runicorn.storage.models import QueryParams

from benchmarks.peers.adapter import PARAMETERS, PROJECT, Listing, Session
from benchmarks.peers.cloning import RunTable, clone_runs, template_count


def _begin(folder: Path) -> runicorn.Run:
    run = runicorn.init(path=PROJECT, storage=str(folder))
    run.log_config(args=dict(PARAMETERS))
    return run


def start(folder: Path) -> Session:
    run = _begin(folder)
    return Session(run.log, run.finish)


def surviving_steps(folder: Path) -> list[int]:
    steps = []
    for path in folder.glob(f"runs/{PROJECT}/*/events.jsonl"):
        for line in path.read_text().splitlines():
            try:
                steps.append(json.loads(line)["data"]["global_step"])
            except json.JSONDecodeError:
                break  # a line that was being written when the process died; nothing can follow it
    return steps


def fill(folder: Path, runs: int) -> None:
    for number in range(template_count(runs)):
        run = _begin(folder)
        run.log({f"metric_{k}": number + 0.1 * k for k in range(10)}, step=0)
        run.finish()
    tables = [
        RunTable("experiments", "id", jittered=("created_at",)),
        RunTable("metrics", "experiment_id", generated=("id",), jittered=("metric_value",)),
        RunTable("run_assets", "run_id"),
    ]
    clone_runs(folder / "runicorn.db", tables, runs)


def listing(folder: Path) -> Listing:
    backend = SQLiteStorageBackend(folder)
    return Listing(
        first=lambda count: len(backend.list_experiments(QueryParams(limit=count))),
        everything=lambda: len(backend.list_experiments(QueryParams(limit=1_000_000))),
        with_parameters=None,
    )
