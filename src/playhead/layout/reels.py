"""The files of what agents play."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playhead.errors import BadName
from playhead.layout.names import WINDOWS_NAMES

_REEL_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}(\.[1-9][0-9]{0,5})?")
_REEL, _JOURNAL = ".h5", ".journal"
WHOLE = "whole"  # the field of an owner that tells the one file of a reel from the first of several


@dataclass(frozen=True, slots=True)
class ReelFiles:
    """The files of one reel: what one environment records in one run.

    Attributes:
        folder: Where reels lie.
        id: `{run_id}`, or `{run_id}.{number}` for all but the first reel of a run.
    """

    folder: Path
    id: str

    @property
    def file(self) -> Path:
        """What is sealed: arrays and rows, or where they lie in parts, a view of all parts."""
        return self.folder / f"{self.id}{_REEL}"

    @property
    def journal(self) -> Path:
        """What is recorded, until it is sealed."""
        return self.folder / f"{self.id}{_JOURNAL}"

    @property
    def parts(self) -> Path:
        """The folder of the parts."""
        return self.folder / self.id

    def part(self, number: int) -> Path:
        """Name a sealed part."""
        return self.parts / f"{number:04}{_REEL}"

    @property
    def episodes(self) -> Path:
        """Which episodes the file of another program has, where that does not say it itself."""
        return self.parts / "episodes.json"

    def next_parts(self) -> list[Path]:
        """Name the parts that exist, and the one that comes next."""
        count = sum(1 for _ in self.parts.glob(f"[0-9]*{_REEL}")) if self.parts.is_dir() else 0
        return [self.part(number) for number in range(count + 1)]

    def owner(self, number: int | None = None, *, whole: bool = False) -> dict[str, Any]:
        """Say whose the files are, as they do themselves.

        Args:
            number: Of a sealed part; None for the view of all parts, and for the journal.
            whole: The part is all of the reel, in its one file, and not one of several behind a view.
        """
        said = {"run": run_of_reel(self.id), "reel": self.id}
        return said if number is None else said | {"part": number, WHOLE: whole}

    def exist(self) -> bool:
        """Tell whether anything of the reel is there."""
        return self.file.exists() or self.journal.exists()

    def size(self) -> int:
        """Count the bytes of all of it."""
        within = [path for folder in (self.parts, self.journal) if folder.is_dir() for path in folder.iterdir()]
        return sum(path.stat().st_size for path in [self.file, *within] if path.is_file())


@dataclass(frozen=True, slots=True)
class ReplayFolder:
    """The reels of a store, or of any folder in which some lie."""

    path: Path

    @property
    def index(self) -> Path:
        """Which file holds which reel, for other programs."""
        return self.path / "index.json"

    def reel(self, reel_id: str) -> ReelFiles:
        """Name the files of a reel.

        Raises:
            BadName: The id cannot be one.
        """
        return ReelFiles(self.path, check_reel_id(reel_id))

    def reels(self) -> list[str]:
        """List the ids of all reels, those of one run in the order of their numbers."""
        try:
            names = os.listdir(self.path)
        except FileNotFoundError:
            return []
        stems = {name.removesuffix(end) for name in names for end in (_REEL, _JOURNAL) if name.endswith(end)}
        return sorted((stem for stem in stems if _REEL_ID.fullmatch(stem)), key=_run_and_number)

    def reels_of(self, run_id: str) -> list[str]:
        """List the ids of the reels of a run, in order."""
        return [reel_id for reel_id in self.reels() if _run_and_number(reel_id)[0] == run_id]


def reel_id_of(run_id: str, number: int) -> str:
    """Spell the id of a reel."""
    return run_id if number == 0 else f"{run_id}.{number}"


def run_of_reel(reel_id: str) -> str:
    """Give the run to which a reel belongs."""
    return _run_and_number(reel_id)[0]


def number_of_reel(reel_id: str) -> int:
    """Give the number of a reel within its run."""
    return _run_and_number(reel_id)[1]


def _run_and_number(reel_id: str) -> tuple[str, int]:
    run_id, _, number = reel_id.partition(".")
    return run_id, int(number or 0)


def check_reel_id(reel_id: str) -> str:
    """Check the id of a reel, which is a part of file names and refs.

    Raises:
        BadName: It is neither a run id nor one with a number behind a dot.
    """
    if not isinstance(reel_id, str) or not _REEL_ID.fullmatch(reel_id) or WINDOWS_NAMES.fullmatch(reel_id):
        raise BadName(f"{reel_id!r} cannot name a replay: it is a run id, or one with a number, as in 'run_1.2'")
    return reel_id
