"""Measure Playhead and its peers side by side: ``python -m benchmarks.peers``."""

import argparse
import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

from benchmarks.peers.drive import REPOSITORY, Sizes, WorkerError, run_workload
from benchmarks.peers.environments import InstallError, python_for
from benchmarks.peers.registry import BASELINE, PEERS, Peer
from benchmarks.peers.report import TABLES, render

QUICK = Sizes(calls=2_000, call_seconds=2, kills=1, kill_seconds=1, points=20_000, million_seconds=3, runs=200)
WITHOUT_LISTING = {
    "tensorboard": "runs are folders, there is no list",
    "wandb": "runs can be listed only on a server",
}

AllResults = dict[str, dict[str, dict[str, Any]]]


def main() -> None:
    options = _options()
    peers = [peer for peer in PEERS if peer.name in {BASELINE, *options.only}]
    sizes = QUICK if options.quick else Sizes(kills=options.kills, runs=options.runs, points=options.points)
    machine = {"cpus": os.cpu_count(), "python": platform.python_version(), "load_before": os.getloadavg()[0]}
    pythons = {peer.name: _python_or_error(peer, options.environments) for peer in peers}
    results: AllResults = {}
    for workload in options.workloads:
        results[workload] = {
            peer.name: _measure(workload, peer, pythons[peer.name], options.environments, sizes) for peer in peers
        }
        print(render(workload, results[workload]), flush=True)
    machine["load_after"] = os.getloadavg()[0]
    print(", ".join(f"{key.replace('_', ' ')} {value}" for key, value in machine.items()))
    if options.json:
        options.json.write_text(json.dumps({"machine": machine, "results": results}, indent=2) + "\n")


def _python_or_error(peer: Peer, folder: Path) -> Path | InstallError:
    try:
        return python_for(peer, folder)
    except InstallError as error:
        print(f"{peer.title} could not be installed: {error}", file=sys.stderr)
        return error


def _measure(workload: str, peer: Peer, python: Path | InstallError, folder: Path, sizes: Sizes) -> dict[str, Any]:
    if isinstance(python, InstallError):
        return {"error": f"not installed: {python}"}
    if workload == "list" and peer.name in WITHOUT_LISTING:
        return {"absent": WITHOUT_LISTING[peer.name]}
    try:
        return run_workload(workload, peer, python, folder, sizes)
    except WorkerError as error:
        return {"error": str(error)}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    names = [peer.name for peer in PEERS if peer.name != BASELINE]
    add = parser.add_argument
    add("--only", type=_names_among(names), default=names, help=f"peers beside Playhead, of {','.join(names)}")
    add("--workloads", type=_names_among(list(TABLES)), default=list(TABLES), help=f"of {','.join(TABLES)}")
    add("--kills", type=int, default=Sizes.kills, help="kills a peer")
    add("--runs", type=int, default=Sizes.runs, help="runs to list")
    add("--points", type=int, default=Sizes.points, help="points of the workload `million`")
    add("--quick", action="store_true", help="tiny sizes: shows that it works, measures nothing")
    add("--json", type=Path, metavar="FILE", help="also write the figures here")
    add("--environments", type=Path, default=REPOSITORY / ".peers", help="where the peers are installed")
    return parser.parse_args()


def _names_among(known: list[str]) -> Any:
    def parse(text: str) -> list[str]:
        names = text.split(",")
        unknown = sorted(set(names) - set(known))
        if unknown:
            raise argparse.ArgumentTypeError(f"{', '.join(unknown)} not among {', '.join(known)}")
        return names

    return parse


if __name__ == "__main__":
    main()
