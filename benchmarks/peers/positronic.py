"""Playhead beside Positronic 0.4.1: recording, opening, access by time, windows.

Run: python -m benchmarks.peers.positronic [--rounds 3]

Both use their defaults. Positronic encodes with x264's preset `medium` at a constant rate factor of 23, Playhead with
`veryfast` at 18, without B-frames: so windows are read from the files of either by both.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks.peers.beside import ROUNDS, Figures, Row, Side, in_turns, print_table, sides
from benchmarks.peers.drive import REPOSITORY, WorkerError
from benchmarks.peers.environments import InstallError
from benchmarks.peers.registry import Peer

PEER = Peer("positronic", "Positronic", ("positronic==0.4.1",))
WORKER = "benchmarks.peers.positronic_worker"

APPEND = (
    Row("scalar_us", "append a float, CPU of the caller", "µs"),
    Row("vector_us", "append a 14-vector", "µs"),
    Row("frame_us", "append a frame of 640×480", "µs"),
    Row("frame_wall_us", "  wall", "µs", is_bar=False),
)
RECORD = (
    Row("stall_ms", "closing an episode of 10 s: the stall", "ms"),
    Row("stall_cpu_ms", "  CPU of it", "ms"),
    Row("record_cpu_s", "all of recording it, CPU", "s"),
    Row("mb", "its files", "MB", is_bar=False),
)
OPENING = (
    Row("list_ms", "listing 2,000 episodes", "ms"),
    Row("open_us", "opening one, its keys and identity", "µs"),
    Row("first_us", "opening one and a sample by time", "µs"),
    Row("first_frame_ms", "opening one and a frame by time", "ms"),
)
ACCESS = (
    Row("time_us", "signal.time[t], CPU", "µs"),
    Row("window_us", "signal.time[a:b], CPU", "µs"),
    Row("many_us", "signal.time[1,000 times] and its values, CPU", "µs"),
)
WINDOWS = (
    Row("windows_s", "windows of 8 frames and 16 vectors, wall", "1/s", is_rate=True),
    Row("windows_cpu_s", "windows of 8 frames and 16 vectors, CPU", "1/s", is_rate=True),
)


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument(
        "--environments", type=Path, default=REPOSITORY / ".peers", help="where the peers are installed"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix=".scratch-positronic-", dir=options.environments) as scratch:
        print("Playhead beside Positronic 0.4.1")
        try:
            compare(sides(PEER, options.environments), Path(scratch), options.rounds)
        except (InstallError, WorkerError) as error:
            sys.exit(f"Positronic could not be measured: {error}")


def compare(both: tuple[Side, Side], scratch: Path, rounds: int) -> None:
    """Run each workload on both sides in turns."""
    for workload, title, rows in (
        ("append", "Appending", APPEND),
        ("record", "Five signals at 200 Hz and a camera of 640×480 at 30 Hz", RECORD),
        ("access", "Access by time, among 200,000 floats that are loaded", ACCESS),
    ):

        def work(side: Side, number: int, workload: str = workload) -> Figures:
            return side.ask(WORKER, workload, scratch / f"{workload}-{side.name}-{number}")

        print_table(title, rows, both, in_turns(both, work, rows, rounds))
    for written_by in both:
        folder = scratch / f"record-{written_by.name}-0"
        found = in_turns(both, lambda side, _n, folder=folder: side.ask(WORKER, "windows", folder), WINDOWS, rounds)
        print_table(f"Windows at random, from files of {written_by.title}", WINDOWS, both, found)

    def opening(side: Side, _number: int) -> Figures:
        return side.ask(WORKER, "opening", scratch / f"record-{side.name}-0")

    print_table("Opening, each its own files", OPENING, both, in_turns(both, opening, OPENING, rounds))


if __name__ == "__main__":
    main()
