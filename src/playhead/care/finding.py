"""What a check of a store says."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from playhead.check.finding import DAMAGE, NOTE, WARNING
from playhead.errors import Damaged, Misplaced

# What `repair` can do about a finding.
QUARANTINE = "quarantine"  # move the file or folder aside
EPISODE = "episode"  # move the episode of the file aside
REBUILD = "rebuild"  # make the catalogue anew
INDEX = "index"  # write replay/index.json anew
RUN_FACTS = "run facts"  # write a JSON file of a run as the catalogue knows it
LINEAGE = "lineage"  # write the list of the artifacts that a run made or used as the catalogue knows it
TABLE = "table"  # write the manifest of a table as its database says
VIEW = "view"  # write the file through which other programs see the parts of a reel anew
VERSIONS = "versions"  # write what says which versions of an artifact there are as the versions say
FILES = "files"  # a folder of a version: again, from its manifest and the pool
SIGN = "sign"  # let what was renamed by hand say its new name
BLOB = "blob"  # a content of the pool: out of the way, and again from a copy that is whole

REPAIR = "playhead repair"


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as it should be.

    Attributes:
        severity: `damage`: something recorded cannot be read as it was; `warning`: nothing is lost by it, and something
            should be done; `note`: harmless.
        lane: `runs`, `replay`, `episodes`, `tables`, `artifacts`, `traces`, `catalogue` or
            `portability`.
        path: The file or folder.
        expected: What should be there.
        found: What is.
        mend: The command that mends it, or what a person has to do.
        cure: What `repair` does about it; empty where it cannot do anything.
    """

    severity: str
    lane: str
    path: Path
    expected: str
    found: str
    mend: str = ""
    cure: str = ""

    @property
    def is_harmless(self) -> bool:
        """Whether nothing is lost or wrong by it, and nothing has to be done."""
        return self.severity == NOTE

    def described(self) -> dict[str, Any]:
        """Give it with stable keys, for JSON."""
        return dataclasses.asdict(self) | {"path": str(self.path), "is_harmless": self.is_harmless}

    def __str__(self) -> str:
        mend = f". {self.mend}" if self.mend else ""
        return f"{self.severity}: {self.path}: expected {self.expected}, found {self.found}{mend}"


def of_damage(lane: str, error: Damaged, mend: str = "", cure: str = "") -> Finding:
    """Make a finding of an error; what mends it is what the error says, where nothing better is known.

    Only a person knows where a file that lies under another's name belongs: nothing here moves it or believes it.
    """
    if isinstance(error, Misplaced):
        mend, cure = error.remedy, ""
    return Finding(DAMAGE, lane, Path(error.path), error.expected, error.found, mend or error.remedy, cure)


def of_trouble(lane: str, path: Path, error: OSError) -> Finding:
    """Make a finding of a file that the system does not give."""
    said = f"an error: {error.strerror or error}"
    return Finding(DAMAGE, lane, Path(error.filename or path), "a file that can be read", said, "Look at the disk")


@dataclasses.dataclass(frozen=True, slots=True)
class Thing:
    """Something of a store that can be checked by itself.

    Attributes:
        lane: Its lane.
        name: Its name, such that things sorted by lane and name have an order that lasts.
        check: Looks at it; given whether every byte is wanted.
        path: Where it is; None for something that is the store's.
    """

    lane: str
    name: str
    check: Callable[[bool], Iterable[Finding]]
    path: Path | None = None

    @property
    def place(self) -> str:
        """Where it is in the order of all things."""
        return f"{self.lane}/{self.name}"


__all__ = ["DAMAGE", "NOTE", "WARNING", "Finding", "Thing", "of_damage", "of_trouble"]
