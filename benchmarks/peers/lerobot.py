"""Playhead beside LeRobot 0.4.4: the stall at the end of an episode, and windows for training.

Run: python -m benchmarks.peers.lerobot [--rounds 2]

Two cameras of 240×320 and two 14-vectors, 200 ticks an episode, recorded at three times the rate of the cameras; items
are two frames of each camera as floats and sixteen actions, in random order. LeRobot records H.264 with its other
defaults: a keyframe every other frame, a constant rate factor of 30. Its default codec is left out, since SVT-AV1 takes
real-time priority where root runs it. `streaming` is its `streaming_encoding=True`, which drops frames where the
encoder is slow. Playhead records with its defaults: a keyframe every 30 frames, a constant rate factor of 18.
"""

import argparse
import re
import sys
import tempfile
from pathlib import Path

from benchmarks.peers.beside import Figures, Row, Side, in_turns, print_table, sides
from benchmarks.peers.drive import REPOSITORY, WorkerError
from benchmarks.peers.environments import InstallError, python_for
from benchmarks.peers.registry import Peer

PEER = Peer("lerobot", "LeRobot", ("lerobot==0.4.4",))
WORKER = "benchmarks.peers.lerobot_worker"
EPISODES, FEW = 20, 3

RECORD = (
    Row("stall_ms", "the stall at the end of an episode, median", "ms"),
    Row("worst_stall_ms", "  the worst", "ms", is_bar=False),
    Row("cpu_s", "all of recording it, CPU of all processes", "s"),
    Row("add_us", "adding a tick, median CPU of the caller", "µs", is_bar=False),
    Row("mb", "its files", "MB", is_bar=False),
)
WINDOWS = (
    Row("windows_s", "items at random, wall", "1/s", is_rate=True),
    Row("windows_cpu_s", "items at random, CPU", "1/s", is_rate=True),
    Row("open_ms", "opening the dataset", "ms", is_bar=False),
)


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument(
        "--environments", type=Path, default=REPOSITORY / ".peers", help="where the peers are installed"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix=".scratch-lerobot-", dir=options.environments) as scratch:
        print("Playhead beside LeRobot 0.4.4")
        try:
            python_for(PEER, options.environments)
            variables = {"HF_HUB_OFFLINE": "1", "HF_HOME": scratch, "LD_LIBRARY_PATH": ffmpeg(options.environments)}
            compare(sides(PEER, options.environments, variables), Path(scratch), options.rounds)
        except (InstallError, WorkerError) as error:
            sys.exit(f"LeRobot could not be measured: {error}")


def ffmpeg(peers_folder: Path) -> str:
    """Give the folders of an FFmpeg that torchcodec can load: the one inside LeRobot's PyAV, under its plain names."""
    inside = next((peers_folder / PEER.name).glob("lib/python*/site-packages/av.libs"), None)
    if inside is None:
        return ""
    links = peers_folder / PEER.name / "ffmpeg"
    links.mkdir(exist_ok=True)
    for library in inside.iterdir():
        name = re.fullmatch(r"(lib(?:av|sw)\w+)-\w+(\.so\.\d+)[\d.]*", library.name)
        link = links / "".join(name.groups()) if name else None
        if link is not None and not link.is_symlink():
            link.symlink_to(library)
    return f"{links}:{inside}"


def compare(both: tuple[Side, Side], scratch: Path, rounds: int) -> None:
    """Run each workload on both sides in turns."""
    ours, theirs = both
    streaming = Side("lerobot_streaming", "streaming", theirs.python, theirs.variables)

    def record(side: Side, number: int, count: int = EPISODES) -> Figures:
        return side.ask(WORKER, "record", scratch / f"{side.name}-{count}-{number}", count)

    def windows(side: Side, _number: int) -> Figures:
        figures = side.ask(WORKER, "windows", scratch / f"{side.name}-{EPISODES}-0", EPISODES)
        if side is streaming and not figures["is_torchcodec"]:
            print("  torchcodec cannot be loaded, so LeRobot decodes with PyAV")
        return figures

    found = in_turns(both, lambda side, number: record(side, number, FEW), RECORD, 1)
    print_table("Recording, encoded when the episode ends", RECORD, both, found)
    found = in_turns((ours, streaming), record, RECORD, rounds)
    print_table("Recording, encoded meanwhile", RECORD, (ours, streaming), found)
    found = in_turns((ours, streaming), windows, WINDOWS, rounds)
    print_table("Items for training", WINDOWS, (ours, streaming), found)


if __name__ == "__main__":
    main()
