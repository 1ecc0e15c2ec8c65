"""Playhead beside Minari 0.5.4: what recording an environment costs, the bytes, and loading an episode.

Run: python -m benchmarks.peers.minari [--rounds 3] [--steps 1000]

Both record the same steps of Pong, played once before: observations are its frames of 210 × 160 × 3. Minari keeps an
episode in memory and writes it when it ends; a crash loses it. Playhead writes while it records. Neither is given an
author or an environment to describe.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.peers.beside import ROUNDS, Figures, Row, Side, in_turns, print_table, sides
from benchmarks.peers.drive import REPOSITORY, WorkerError
from benchmarks.peers.environments import InstallError
from benchmarks.peers.registry import Peer
from benchmarks.replay_games import play

PEER = Peer("minari", "Minari", ("minari[create,hdf5,arrow]==0.5.4", "pillow==13.0.0"))
WORKER = "benchmarks.peers.minari_worker"
FORMATS = {
    "minari-hdf5-raw": "HDF5 raw",
    "minari-hdf5-jpeg": "HDF5 JPEG",
    "minari-parquet-raw": "Parquet raw",
}

RECORD = (
    Row("step_us", "a step, median CPU of the caller", "µs"),
    Row("last_ms", "the last step of the episode, CPU of the caller", "ms", is_bar=False),
    Row("cpu_us", "all of recording, CPU a step", "µs"),
    Row("wall_us", "all of recording, wall a step", "µs", is_bar=False),
    Row("bytes", "its files, a step", "bytes"),
)
LOAD = (
    Row("load_ms", "loading the episode, CPU", "ms"),
    Row("open_ms", "  with opening the dataset", "ms"),
)


def main() -> None:
    """Print a table for each of Minari's formats."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--steps", type=int, default=1_000)
    parser.add_argument(
        "--environments", type=Path, default=REPOSITORY / ".peers", help="where the peers are installed"
    )
    options = parser.parse_args()
    options.environments.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".scratch-minari-", dir=options.environments) as scratch:
        print(f"Playhead beside Minari 0.5.4, {options.steps:,} steps of Pong")
        steps = Path(scratch) / "pong.npz"
        found = play("Pong", options.steps + 1)
        np.savez(steps, frames=found.frames, actions=found.actions[:-1], rewards=found.rewards[:-1])
        try:
            ours, theirs = sides(PEER, options.environments)
            for name, title in FORMATS.items():
                compare((ours, Side(name, title, theirs.python, {})), steps, Path(scratch), options.rounds)
        except (InstallError, WorkerError) as error:
            sys.exit(f"Minari could not be measured: {error}")


def compare(both: tuple[Side, Side], steps: Path, scratch: Path, rounds: int) -> None:
    """Record and load on both sides in turns, and say whether what came back is what was played."""
    title = both[1].title

    def folder(side: Side, number: int) -> Path:
        return scratch / f"{both[1].name}-{side.name}-{number}"

    def record(side: Side, number: int) -> Figures:
        return side.ask(WORKER, "record", steps, folder(side, number))

    def load(side: Side, number: int) -> Figures:
        return side.ask(WORKER, "load", steps, folder(side, number))

    print_table(f"Recording, {title}", RECORD, both, in_turns(both, record, RECORD, rounds))
    errors = Row("error", "", "")
    found = in_turns(both, load, (*LOAD, errors), rounds)
    print_table(f"Loading, {title}", LOAD, both, found)
    for side, figures in zip(both, found, strict=True):
        print(f"  {side.title} is {_exactness(figures['error'])}")


def _exactness(error: float) -> str:
    return "lossless" if error == 0 else f"not lossless: a value of a pixel differs by up to {error:g} of 255"


if __name__ == "__main__":
    main()
