"""Playhead: metrics of runs."""

from collections.abc import Mapping
from pathlib import Path

import playhead
from benchmarks.peers.adapter import Session
from benchmarks.peers.keepers import contract
from benchmarks.peers.keepers.contract import Answer, key
from playhead.care import verify


def start(folder: Path, name: str, *, safest: bool) -> Session:
    store = playhead.open(folder)
    run = store.run("trial", name, run_id=name, config=contract.config(name))

    def log(values: dict[str, float], *, step: int) -> None:
        run.log(values, step=step)
        if safest:
            run.flush(sync=True)

    def finish() -> None:
        run.finish()
        store.close()

    return Session(log, finish)


def read(folder: Path) -> Answer:
    found: Answer = {}
    with playhead.open(folder) as store:
        for run in store.runs:
            for what in ("loss", "score"):
                if what in run:
                    found |= {
                        key(run.id, what, int(step)): float(at) for step, at in zip(*_points(run, what), strict=True)
                    }
            found |= {key(run.id, "config", name): given for name, given in run.config.items()}
    return found


def _points(run: playhead.Run, what: str) -> tuple[list[int], list[float]]:
    return run[what].steps.tolist(), run[what].values.tolist()


def data(folder: Path) -> list[Path]:
    return [folder / "playhead.db", *(path for found in kinds(folder).values() for path in found)]


def kinds(folder: Path) -> Mapping[str, list[Path]]:
    runs = [folder / "trial" / name / "runs" / name for name in ("a", "b")]
    return {file: [run / file for run in runs] for file in ("events.jsonl", "meta.json", "status.json")}


def check(folder: Path) -> list[str]:
    return [str(finding) for finding in verify(folder, full=True) if not finding.is_harmless]
