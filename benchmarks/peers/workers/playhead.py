"""Playhead, as a training script uses it."""

from pathlib import Path

import playhead
from benchmarks.peers.adapter import PARAMETERS, PROJECT, Listing, Session


def start(folder: Path) -> Session:
    store = playhead.open(folder)
    run = store.run(PROJECT, "run", config=dict(PARAMETERS))
    run.__enter__()

    def finish() -> None:
        run.__exit__(None, None, None)
        store.close()

    return Session(run.log, finish)


def surviving_steps(folder: Path) -> list[int]:
    with playhead.open(folder) as store:
        return [int(step) for run in store.runs for step in run["loss"].steps]


def fill(folder: Path, runs: int) -> None:
    with playhead.open(folder) as store:
        for number in range(runs):
            with store.run(PROJECT, "run", config=dict(PARAMETERS), environment=False) as run:
                run.log({f"metric_{k}": number + 0.1 * k for k in range(10)}, step=0)


def listing(folder: Path) -> Listing:
    store = playhead.open(folder, mode="r")
    return Listing(
        first=lambda count: len([(run.id, run.status) for run in store.runs(limit=count)]),
        everything=lambda: len([(run.id, run.status) for run in store.runs]),
        with_parameters=lambda: len([run.config for run in store.runs]),
    )
