"""Two programs on the same work in turns, each in its own Python, and their figures side by side.

A worker is a module that prints one JSON object of figures. Both sides run several times in turns, and the best round
of each figure counts, since what disturbs one only adds to it.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers.drive import REPOSITORY, WorkerError
from benchmarks.peers.environments import python_for
from benchmarks.peers.registry import Peer

Figures = dict[str, float]
ROUNDS = 3


@dataclass(frozen=True)
class Row:
    """A line of the table; where more is better, `is_rate`."""

    key: str
    title: str
    unit: str
    is_rate: bool = False
    is_bar: bool = True


@dataclass(frozen=True)
class Side:
    """A program, and the Python that runs it."""

    name: str
    title: str
    python: Path
    variables: Mapping[str, str]

    def ask(self, module: str, *arguments: object) -> Figures:
        """Run a worker and give its figures.

        Raises:
            WorkerError: It failed; the text is the last thing it said.
        """
        result = subprocess.run(
            [str(self.python), "-m", module, self.name, *map(str, arguments)],
            env={**os.environ, "PYTHONPATH": str(REPOSITORY), **self.variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if result.returncode:
            raise WorkerError((result.stderr.strip().splitlines() or ["it ended without a word"])[-1])
        figures: Figures = json.loads(result.stdout.strip().splitlines()[-1])
        return figures


def sides(peer: Peer, peers_folder: Path, variables: Mapping[str, str] | None = None) -> tuple[Side, Side]:
    """Give Playhead in this Python, and a peer in its own.

    Raises:
        InstallError: The peer could not be installed.
    """
    theirs = Side(peer.name, peer.title, python_for(peer, peers_folder), variables or {})
    return Side("playhead", "Playhead", Path(sys.executable), {}), theirs


def in_turns(
    both: tuple[Side, Side], work: Callable[[Side, int], Figures], rows: Sequence[Row], rounds: int = ROUNDS
) -> tuple[Figures, Figures]:
    """Do the work on both sides in turns, and give the best of each figure."""
    found: tuple[list[Figures], list[Figures]] = ([], [])
    for number in range(rounds):
        for side, results in zip(both, found, strict=True):
            results.append(work(side, number))
    ours, theirs = ({row.key: _best(row, results) for row in rows} for results in found)
    return ours, theirs


def _best(row: Row, results: Sequence[Figures]) -> float:
    return (max if row.is_rate else min)(figures[row.key] for figures in results)


def print_table(title: str, rows: Sequence[Row], both: tuple[Side, Side], found: tuple[Figures, Figures]) -> None:
    """Print the figures; the last field says how many times ahead Playhead is."""
    ours, theirs = found
    print(f"\n{title}\n  {'':<58}{both[0].title:>12}{both[1].title:>12}{'ahead by':>12}")
    for row in rows:
        mine, other = ours[row.key], theirs[row.key]
        ahead = mine / other if row.is_rate else other / mine
        verdict = "   BEHIND" if row.is_bar and ahead < 1 else ""
        print(f"  {f'{row.title}, {row.unit}':<58}{mine:>12,.2f}{other:>12,.2f}{ahead:>10.2f} ×{verdict}", flush=True)
