"""One part of the trial of safety: ``python -m benchmarks.peers.safety_worker PEER[:safest] PART FOLDER SIZE SECONDS``.

Runs in the peer's Python and answers with one JSON object, or with lines: a step whose ``log`` has returned, or ``!``
and an error that it raised.
"""

import itertools
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.peers.keepers import contract
from benchmarks.peers.keepers.contract import Keeper
from benchmarks.peers.safety_damage import flip, swap

INTERVAL_S = 0.002
STEPS = 300
RUNS = ("a", "b")
STOP = "stop"  # a file in the home folder

Say = Callable[[bytes], Any]


def main() -> None:
    answer = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    peer, part, folder_name, size, _seconds = sys.argv[1:]
    name, _, way = peer.partition(":")
    keeper, folder, safest = contract.load(name), Path(folder_name), way == "safest"
    figures: Any = {}
    match part:
        case "kill":
            record(keeper, folder, lambda line: os.write(answer, line), safest=safest)
        case "until-stopped":
            record(keeper, folder, lambda line: os.write(answer, line), safest=safest, stop=Path.home() / STOP)
            return
        case "make":
            make(keeper, folder, safest=safest)
        case "read":
            figures = keeper.read(folder)
        case "flip":
            figures = flip(keeper, folder, int(size))
        case "swap":
            figures = swap(keeper, folder)
        case _:
            sys.exit(f"no part {part!r}")
    os.write(answer, json.dumps(figures).encode())


def make(keeper: Keeper, folder: Path, *, safest: bool) -> None:
    """Record the runs `a` and `b`, end them as one should, and refuse a reader that does not find all of it."""
    for name in RUNS:
        session = keeper.start(folder, name, safest=safest)
        for step in range(STEPS):
            session.log(contract.values(name, step), step=step)
        session.finish()
    answer = keeper.read(folder)
    wanted = {
        contract.key(name, "loss", step): contract.value(name, "loss", step) for name in RUNS for step in range(STEPS)
    }
    missing = sum(answer.get(name) != value for name, value in wanted.items())
    if missing:
        sys.exit(f"the reader does not find {missing} of {len(wanted)} values of runs that ended well")


def record(keeper: Keeper, folder: Path, say: Say, *, safest: bool, stop: Path | None = None) -> None:
    """Record run `a` until killed, or until a file appears; an error of ``log`` is told, and the next step tried."""
    session = keeper.start(folder, RUNS[0], safest=safest)
    for step in itertools.count():
        try:
            session.log(contract.values(RUNS[0], step), step=step)
            say(b"%d\n" % step)
        except Exception as error:
            if stop is None:
                raise
            say(b"!%s\n" % type(error).__name__.encode())
        if stop is not None and stop.exists():
            break
        time.sleep(INTERVAL_S)
    try:
        session.finish()
    except Exception as error:  # noqa: BLE001
        say(b"!%s\n" % type(error).__name__.encode())


if __name__ == "__main__":
    main()
