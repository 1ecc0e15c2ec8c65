"""The files of training tables."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from playhead.errors import Damaged
from playhead.layout.names import MARKER, folder_name, name_of_folder

TABLES = "tables"
STEPS = "steps.npy"
_SHARD, _FOREIGN_SHARD = re.compile(r"shards/steps_[0-9]{5,9}\.npy"), re.compile(r"steps-[0-9]{5,6}\.npy")


@dataclass(frozen=True, slots=True)
class TableFolder:
    """The files of one training table.

    Attributes:
        path: The folder.
        final: Where it will be, while it is made elsewhere.
    """

    path: Path
    final: Path | None = None

    @property
    def name(self) -> str | None:
        """The name that it has in a store; None outside of one."""
        here = Path(os.path.abspath(self.final or self.path))
        if here.parent.name != TABLES or not (here.parent.parent / MARKER).is_file():
            return None
        return name_of_folder(here.name)

    def sibling(self, name: str) -> TableFolder:
        """Name the folder of another table of the store."""
        return TableFolder(self.path.parent / folder_name(name))

    @property
    def database(self) -> Path:
        """Where its rows come from, and how many of them count."""
        return self.path / "metadata.db"

    @property
    def manifest(self) -> Path:
        """What people and other programs read about it."""
        return self.path / "manifest.json"

    @property
    def steps(self) -> Path:
        """All of its rows, where they are in one file."""
        return self.path / STEPS

    def shard(self, number: int) -> str:
        """Name one file of rows, where there are several."""
        return f"shards/steps_{number:05}.npy"

    def part(self, name: str) -> Path:
        """Give a file of rows.

        Raises:
            Damaged: The name is none that a table gives.
        """
        if name != STEPS and not _SHARD.fullmatch(name):
            raise Damaged(self.database, "the name of a file of rows", repr(name), "Build the table again")
        return self.path / name

    def parts(self) -> list[str]:
        """Name the files of rows that are there."""
        found = [path.relative_to(self.path).as_posix() for path in (self.steps, *self.path.glob("shards/steps_*.npy"))]
        return sorted(
            name for name in found if (name == STEPS or _SHARD.fullmatch(name)) and (self.path / name).exists()
        )

    def foreign_parts(self) -> list[str]:
        """Name the files of rows as other programs number them, in order."""
        return sorted(path.name for path in self.path.glob("steps-*.npy") if _FOREIGN_SHARD.fullmatch(path.name))
