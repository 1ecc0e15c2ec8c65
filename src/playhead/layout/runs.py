"""The files of one run, as people find them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The files of one run, as people find them."""

    path: Path

    @property
    def meta(self) -> Path:
        """Identity, config, tags and notes."""
        return self.path / "meta.json"

    @property
    def status(self) -> Path:
        """Running or how it ended."""
        return self.path / "status.json"

    @property
    def summary(self) -> Path:
        """Final values, and the best of the primary metric."""
        return self.path / "summary.json"

    @property
    def environment(self) -> Path:
        """Where and with what the run ran."""
        return self.path / "environment.json"

    @property
    def logs(self) -> Path:
        """Text, a line each."""
        return self.path / "logs.txt"

    @property
    def checksums(self) -> Path:
        """What the texts of the run were when their writers left them."""
        return self.path / "checksums.json"

    @property
    def media(self) -> Path:
        """Images."""
        return self.path / "media"

    @property
    def artifacts_created(self) -> Path:
        """The versions of artifacts that it made."""
        return self.path / "artifacts_created.json"

    @property
    def artifacts_used(self) -> Path:
        """The versions of artifacts that it used."""
        return self.path / "artifacts_used.json"

    @property
    def deleted(self) -> Path:
        """Present while the run is in the recycle bin."""
        return self.path / ".deleted"

    def events(self, part: int = 1) -> Path:
        """Give the event file of one recording process; the first has no number."""
        return self.path / ("events.jsonl" if part == 1 else f"events-{part}.jsonl")

    def parts(self) -> list[int]:
        """List the numbers of the event files that exist."""
        names = (path.name for path in self.path.glob("events*.jsonl"))
        found = (re.fullmatch(r"events(?:-([2-9]|[1-9]\d{1,8}))?\.jsonl", name) for name in names)
        return sorted(int(match[1] or 1) for match in found if match)
