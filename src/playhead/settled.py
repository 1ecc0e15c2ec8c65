"""Up to which episode of a dataset all are known to be on the medium: `.settled.json` in its folder.

It is on the medium before the first episode that does not wait for that. Without it, no power cut is blamed for an
episode that is damaged. If it is an earlier one, more episodes are looked at. Light: commands that list runs load it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from playhead import disk, process, strictjson
from playhead.errors import Damaged
from playhead.layout import DatasetFolder


@dataclass(frozen=True, slots=True)
class Settled:
    """What is known of a dataset.

    Attributes:
        below: The number up to which all episodes are on the medium, or were looked at after a power cut.
        boot: The start of the machine in which that was said: what is newer and of that boot cannot be lost yet.
        has_unsynced: Whether episodes were recorded in that boot without waiting for the medium.
    """

    below: int = 0
    boot: str = ""
    has_unsynced: bool = False

    @classmethod
    def read(cls, folder: DatasetFolder) -> Self:
        """Read what is known; nothing is, if the file is missing or does not read as one."""
        try:
            said = strictjson.decode(disk.read_file(folder.settled))
        except (FileNotFoundError, NotADirectoryError, Damaged, strictjson.JSONDecodeError):
            return cls()
        below, boot = (said.get("below"), said.get("boot")) if isinstance(said, dict) else (None, None)
        if not isinstance(below, int) or isinstance(below, bool) or not isinstance(boot, str):
            return cls()
        return cls(below, boot, said.get("unsynced") is True)

    def write(self, folder: DatasetFolder, *, named: bool = False) -> None:
        """Write it down, whole or as it was.

        Args:
            folder: The dataset.
            named: Also wait until the new one has its name.
        """
        said = {"below": self.below, "boot": self.boot, "unsynced": self.has_unsynced}
        disk.replace(folder.settled, strictjson.encode(said) + b"\n", named=named)

    @property
    def is_of_this_boot(self) -> bool:
        """Whether the machine was not started again since."""
        return self.boot == process.boot()


def is_due(folder: DatasetFolder) -> bool:
    """Return whether a power cut may have taken episodes of a dataset, and nobody has looked at them since."""
    known = Settled.read(folder)
    return known.has_unsynced and not known.is_of_this_boot and folder.newest() >= known.below
