"""What came of a migration, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from playhead import strictjson
from playhead.integrations.findings import Finding, listed, named
from playhead.wording import counted


@dataclass(slots=True)
class Report:
    """The counts of a migration. Each run that was found is imported, skipped or refused.

    Attributes:
        source: Runicorn's folder.
        store: The store.
        found: Runs in the source.
        imported: Runs that are now in the store.
        present: Runs that were there already.
        differing: Those of them that differ from the source.
        recording: Runs that are still being recorded.
        refused: Runs that could not be taken over.
        points_in: Metric values in the sources of what was imported.
        points_out: Metric values that the catalogue holds of it.
        unreadable_lines: Lines that are not events, kept in `events.rejected.txt` of their runs.
        unreadable_files: JSON files that cannot be read, kept under names that end in `.rejected.txt`.
        left_out: Links and other things that are not plain files.
        artifacts: Versions of artifacts in the source.
        artifacts_imported: Those of them that are now in the store.
        artifacts_present: Those that were there already.
        artifacts_differing: Those of these that hold something else than the source's.
        artifacts_refused: Those that could not be taken over.
        archived_files: Files in the archive, which is not imported yet.
    """

    source: Path
    store: Path
    found: int = 0
    imported: int = 0
    present: int = 0
    differing: list[Finding] = field(default_factory=list)
    recording: list[Finding] = field(default_factory=list)
    refused: list[Finding] = field(default_factory=list)
    points_in: int = 0
    points_out: int = 0
    unreadable_lines: int = 0
    unreadable_files: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    artifacts: int = 0
    artifacts_imported: int = 0
    artifacts_present: int = 0
    artifacts_differing: list[Finding] = field(default_factory=list)
    artifacts_refused: list[Finding] = field(default_factory=list)
    archived_files: int = 0

    @property
    def skipped(self) -> int:
        """Runs that were left as they are: in the store already, or still being recorded."""
        return self.present + len(self.recording)

    @property
    def is_complete(self) -> bool:
        """Whether every run that has ended, and every version of an artifact, is in the store as the source has it."""
        wrong = (*self.refused, *self.differing, *self.artifacts_refused, *self.artifacts_differing)
        return not wrong and self.points_in == self.points_out

    def to_json(self) -> dict[str, Any]:
        """Give everything as JSON can hold it."""
        content = asdict(self) | {"skipped": self.skipped, "is_complete": self.is_complete}
        return dict(strictjson.plain(content))

    def __str__(self) -> str:
        return "\n".join(self._paragraphs())

    def _paragraphs(self) -> Iterator[str]:
        if not self.found and not self.artifacts:
            yield f"No runs of Runicorn in {self.source}."
            yield "Give the folder that Runicorn records into: RUNICORN_DIR, or the one its viewer was started with."
            return
        yield f"Imported {self.imported} of {counted(self.found, 'run')} from {self.source} into {self.store}."
        if self.imported:
            yield self._points()
        if self.present:
            yield f"{counted(self.present, 'run')} skipped: in the store already."
        yield from listed(
            self.differing,
            "of these differ from the source. To take the source's, remove the run with `playhead rm` and "
            "`playhead purge`, then migrate again:",
        )
        yield from listed(self.recording, "skipped: still being recorded. Import again when it has ended:")
        yield from listed(self.refused, "refused:")
        yield from self._versions()
        yield from self._remainders()

    def _points(self) -> str:
        if self.points_in == self.points_out:
            return f"{counted(self.points_in, 'metric value')}, all of them in the catalogue."
        return (
            f"{counted(self.points_in, 'metric value')} in the source, but {self.points_out:,} in the catalogue. "
            "The files have them all; please report this."
        )

    def _versions(self) -> Iterator[str]:
        if self.artifacts:
            count = counted(self.artifacts, "version")
            compared = ", every file compared with its SHA-256" if self.artifacts_imported else ""
            yield f"Imported {self.artifacts_imported} of {count} of artifacts{compared}."
        if self.artifacts_present:
            yield f"{counted(self.artifacts_present, 'version')} skipped: in the store already."
        yield from listed(self.artifacts_differing, "of these differ from the source:", "version")
        yield from listed(self.artifacts_refused, "refused:", "version")

    def _remainders(self) -> Iterator[str]:
        if self.unreadable_lines:
            yield f"{counted(self.unreadable_lines, 'line')} not readable, kept in events.rejected.txt of the run."
        yield from named(self.unreadable_files, "not readable, kept beside as *.rejected.txt:")
        yield from named(self.left_out, "left out, being links or no plain files:")
        if self.archived_files:
            yield f"{counted(self.archived_files, 'archived file')} not imported: the archive is not taken over yet."
