"""What a module in ``keepers/`` offers, and what is recorded in the trial of safety.

Every value follows from the name of its run and its step, and is exact in 32 bits: whatever comes back can be judged.
"""

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, cast

from benchmarks.peers.adapter import Session

#: Everything that was read, by `"{run} {what} {step}"`.
Answer = dict[str, float]

EPISODE = 50  # steps, where a program records episodes


class Keeper(Protocol):
    """A program that keeps what is recorded; ``check`` is absent where it has no check of its own."""

    def start(self, folder: Path, name: str, *, safest: bool) -> Session:
        """Begin a run; with ``safest``, by the program's safest documented settings."""

    def read(self, folder: Path) -> Answer:
        """Read everything back, as its users do."""

    def data(self, folder: Path) -> list[Path]:
        """Find the files from which that comes."""

    def kinds(self, folder: Path) -> Mapping[str, list[Path]]:
        """Find files of one kind, of the runs `a` and `b`, that somebody may mistake for each other."""

    def check(self, folder: Path) -> list[str]:
        """Let the program check its files; each text is something it found."""


def load(name: str) -> Keeper:
    """Import a keeper, and with it the program."""
    return cast(Keeper, importlib.import_module(f"benchmarks.peers.keepers.{name}"))


def key(name: str, what: str, step: int | str) -> str:
    return f"{name} {what} {step}"


def value(name: str, what: str, step: int) -> float:
    return (step * 7919 + sum(map(ord, name + what)) * 104_729) % 65_536 / 65_536


def values(name: str, step: int) -> dict[str, float]:
    return {what: value(name, what, step) for what in ("loss", "score")}


def config(name: str) -> dict[str, float]:
    return {what: value(name, what, 1) for what in ("lr", "gamma", "seed")}
