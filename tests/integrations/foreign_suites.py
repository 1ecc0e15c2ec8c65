"""Suites of tests that other programs have, run on this library with its names under theirs.

Run: python -m tests.integrations.foreign_suites [--positronic CLONE] [--mosaic CLONE] [OPTIONS OF PYTEST]

A clone is a folder with the git repository of the program. Its tests are read from a fixed commit, and written to a
folder that is removed afterwards.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"


@dataclass(frozen=True)
class Suite:
    """Tests of another program.

    Attributes:
        name: The program.
        published: Where its repository is.
        revision: The commit whose tests these are.
        tests: Their files.
        names: Modules that they import, each with what stands for it here.
        passing: How many of how many pass.
        differing: The tests that fail here, each with the reason.
    """

    name: str
    published: str
    revision: str
    tests: Sequence[str]
    names: Mapping[str, str]
    passing: tuple[int, int]
    differing: Mapping[str, str]


POSITRONIC = Suite(
    "positronic",
    "https://github.com/Positronic-Robotics/positronic",
    "3882c55f08a63c952e3aecdf5375b06feb7c9b31",
    [
        f"positronic/dataset/tests/{name}.py"
        for name in (
            *("__init__", "test_chunked_writing", "test_episode"),
            *("test_local_dataset", "test_signal", "test_video"),
        )
    ],
    {
        "positronic/__init__": "",
        "positronic/dataset/__init__": "",
        "positronic/dataset/core": "from playhead import Dataset, Episode, EpisodeWriter, Signal, SignalWriter",
        "positronic/dataset/episode": "from playhead import DiskEpisode, DiskEpisodeWriter",
        "positronic/dataset/local_dataset": "from playhead import LocalDataset, LocalDatasetWriter",
        "positronic/dataset/vector": "from playhead import SimpleSignal, SimpleSignalWriter",
        "positronic/dataset/video": "from playhead import VideoSignal, VideoSignalWriter",
    },
    (158, 159),
    {"test_episode_meta_written_and_exposed": "wants its own class named as the writer; ours names itself"},
)
MOSAIC = Suite(
    "mosaic",
    "https://github.com/Abdulhamid97Mousa/mosaic",
    "8dc806e",
    ["gym_gui/tests/test_replay_store.py"],
    {
        "gym_gui/__init__": "",
        "gym_gui/tests/__init__": "",
        "gym_gui/replay": "from playhead import FrameRef, FrameResolver, ReplayReader, ReplayWriter, make_frame_ref",
    },
    (28, 28),
    {},
)


def run(suite: Suite, clone: Path, options: Sequence[str]) -> bool:
    """Run a suite, print what failed and how many passed, and return whether that is what is known."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        _write(suite, clone, folder / "suite")
        report = folder / "report.xml"
        subprocess.run(
            [sys.executable, "-m", "pytest", "-q", f"--junitxml={report}", "--rootdir=.", *options, "."],
            cwd=folder / "suite",
            env={**os.environ, "PYTHONPATH": os.pathsep.join([".", str(SOURCE)])},
            check=False,
        )
        cases = list(ET.parse(report).iter("testcase"))
    failed = {str(case.get("name")) for case in cases for kind in ("failure", "error") if case.find(kind) is not None}
    for name in sorted(failed):
        print(f"{suite.name}: {name}: {suite.differing.get(name, 'NOT KNOWN TO DIFFER')}")
    print(f"{suite.name}: {len(cases) - len(failed)} of {len(cases)} pass")
    return (len(cases) - len(failed), len(cases)) == suite.passing and failed == suite.differing.keys()


def _write(suite: Suite, clone: Path, folder: Path) -> None:
    for name, content in suite.names.items():
        path = folder / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content + "\n")
    for name in suite.tests:
        command = ["git", "-C", str(clone), "show", f"{suite.revision}:{name}"]
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(subprocess.run(command, capture_output=True, check=True).stdout)


def main() -> int:
    """Run the suites whose clones are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    suites = (POSITRONIC, MOSAIC)
    for suite in suites:
        parser.add_argument(f"--{suite.name}", metavar="CLONE", type=Path, help=f"a clone of {suite.published}")
    known, options = parser.parse_known_args()
    chosen = [(suite, clone) for suite in suites if (clone := getattr(known, suite.name)) is not None]
    if not chosen:
        parser.error("name at least one clone")
    as_known = [run(suite, clone, options) for suite, clone in chosen]
    return 0 if all(as_known) else 1


if __name__ == "__main__":
    sys.exit(main())
