"""Run one measurement of one peer: ``python -m benchmarks.peers.worker PEER WORKLOAD FOLDER SIZE SECONDS``.

The answer is one JSON object on the standard output that the process was started with; whatever the peer prints goes to
the standard error instead. ``kill`` answers with a line per acknowledged step and never ends by itself.
"""

import json
import os
import sys
from pathlib import Path

from benchmarks.peers import workloads
from benchmarks.peers.adapter import load


def main() -> None:
    answer = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    peer, workload, folder_name, size, seconds = sys.argv[1:]
    adapter, folder = load(peer), Path(folder_name)
    figures: workloads.Figures = {}
    match workload:
        case "call":
            figures = workloads.measure_calls(adapter, folder, int(size), float(seconds))
        case "million":
            figures = workloads.measure_million(adapter, folder, int(size), float(seconds))
        case "fill":
            adapter.fill(folder, int(size))
        case "list":
            figures = workloads.measure_listing(adapter, folder, int(size))
        case "finish":
            workloads.log_and_finish(adapter, folder, int(size))
        case "kill":
            workloads.log_until_killed(adapter, folder, lambda line: os.write(answer, line))
        case "survivors":
            figures = workloads.find_survivors(adapter, folder)
        case _:
            sys.exit(f"no workload {workload!r}")
    os.write(answer, json.dumps(figures).encode())


if __name__ == "__main__":
    main()
