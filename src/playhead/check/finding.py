"""What a check says."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

DAMAGE, WARNING, NOTE = "damage", "warning", "note"
SEVERITIES = (DAMAGE, WARNING, NOTE)


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a check found.

    Attributes:
        severity: `damage`: something recorded cannot be read as it was; `warning`: it can, but should be looked at;
            `note`: worth knowing.
        path: The file or folder.
        text: What was found.
        signal: The signal, where it is about one.
        next_step: What to do about it; empty where nothing needs to be done.
        is_elsewhere: Whether nothing is damaged here, so that the file should stay until a person has looked.
    """

    severity: str
    path: Path
    text: str
    signal: str | None = None
    next_step: str = ""
    is_elsewhere: bool = False

    def described(self) -> dict[str, Any]:
        """Give it with stable keys, for JSON."""
        said = dataclasses.asdict(self) | {"path": str(self.path)}
        del said["is_elsewhere"]  # for repair alone
        return said

    def __str__(self) -> str:
        about = "" if self.signal is None else f"{self.signal}: "
        step = f". {self.next_step}" if self.next_step else ""
        return f"{self.severity}: {about}{self.text}{step} ({self.path})"
