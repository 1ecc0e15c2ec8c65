"""Playhead's training tables beside other ways to random batches of small rows.

Run: python -m benchmarks.peers.tables [--rows 20000000] [--batches 256 4096 65536] [--only torchrl]

cpprb, TorchRL's memmap storage, Hugging Face datasets in NumPy format, and Lance, in one environment under ``.peers/``
into which what Playhead needs is installed as well. Each is measured in a process of its own beside Playhead, batch for
batch in turns, on rows of 32 bytes with the columns of 2048. What is compared is the median wall time of a batch.
"""

import argparse
import os
import shutil
import tempfile
from pathlib import Path

from benchmarks.measure import report
from benchmarks.peers.beside import Side
from benchmarks.peers.drive import REPOSITORY, WorkerError
from benchmarks.peers.environments import InstallError, python_for
from benchmarks.peers.registry import Peer
from benchmarks.replay_measure import at_least
from benchmarks.tables_data import add_rows, some_steps
from playhead.lanes.rows import memory

OURS = (
    "SQLAlchemy==2.1.8",
    "click==8.5.1",
    "h5py==3.16.0",
    "numpy==2.4.6",
    "orjson==3.13.0",
    "pillow==13.0.0",
    "rich==15.0.0",
    "xxhash==4.1.0",
    "zstandard==0.25.0",
)
THEIRS = ("torch==2.13.0", "torchrl==0.14.1", "cpprb==11.0.0", "datasets==5.2.0", "pylance==14.0.2")
PEER = Peer("tables", "cpprb, TorchRL, datasets and Lance", (*THEIRS, *OURS))
WORKER = "benchmarks.peers.tables_worker"
ROWS, BATCH = 20_000_000, 4_096
BARS = {"torchrl": 10.0, "cpprb": 4.0, "datasets": 100.0, "lance": 100.0}
TITLES = {
    "torchrl": "TorchRL 0.14.1, memmap storage",
    "cpprb": "cpprb 11.0.0",
    "datasets": "datasets 5.2.0, NumPy format",
    "lance": "Lance 14.0.2, take",
}


def main() -> None:
    """Print how many times faster than each a batch is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--batches", type=int, nargs="+", default=[256, BATCH, 65_536])
    parser.add_argument("--only", nargs="+", choices=tuple(BARS), default=tuple(BARS))
    parser.add_argument(
        "--environments", type=Path, default=REPOSITORY / ".peers", help="where the peers are installed"
    )
    options = parser.parse_args()
    options.environments.mkdir(exist_ok=True)
    free, load = memory.available() / 1e9, os.getloadavg()[0]
    print(f"Random batches of {options.rows:,} rows of 32 bytes; {free:.1f} GB of memory free, load {load:.1f}")
    try:
        python = python_for(PEER, options.environments)
    except InstallError as error:
        print(f"{PEER.title} could not be installed: {error}")
        return
    with tempfile.TemporaryDirectory(prefix=".scratch-tables-", dir=options.environments) as name:
        folder = Path(name) / "table"
        add_rows(folder, options.rows, some_steps())
        for peer in options.only:
            print(f"\n{TITLES[peer]}")
            for batch in options.batches:
                compare(peer, python, folder, batch)


def compare(peer: str, python: Path, folder: Path, batch: int) -> None:
    """Measure one peer and print its figures; only the batch that the bar is for has to reach it."""
    scratch = folder.parent / "scratch"
    scratch.mkdir()
    paths = {"PYTHONPATH": f"{REPOSITORY}:{REPOSITORY / 'src'}", "HOME": str(scratch)}
    offline = {"HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HOME": str(scratch)}
    try:
        found = Side(peer, TITLES[peer], python, {**paths, **offline}).ask(WORKER, folder, batch, scratch)
    except WorkerError as error:
        print(f"  could not be measured: {error}")
        return
    finally:
        shutil.rmtree(scratch)
    report(f"{batch:,} rows, Playhead", found["ours_wall"], "µs")
    report("  CPU", found["ours_cpu"], "µs")
    report(f"{batch:,} rows, theirs", found["theirs_wall"], "µs")
    report("  CPU", found["theirs_cpu"], "µs")
    ahead = found["theirs_wall"] / found["ours_wall"]
    if batch == BATCH:
        at_least("  faster", ahead, "×", BARS[peer])
    else:
        report("  faster", ahead, "×")


if __name__ == "__main__":
    main()
