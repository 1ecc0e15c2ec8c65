"""What came of a migration, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from playhead import strictjson
from playhead.integrations.findings import Finding, listed
from playhead.wording import counted


@dataclass(slots=True)
class Report:
    """The counts of a migration. Each run that was found is imported, present, or refused.

    Attributes:
        source: MOSAIC's database.
        replay_dir: Where its replay files are; None where none were found.
        store: The store; None for one that is still to be made.
        is_survey: Nothing was written; what is called imported would be.
        found: Runs in the source.
        imported: Runs that are now in the store.
        present: Runs that were there already.
        differing: Those of them that differ from the source.
        refused: Runs and files that could not be taken over.
        steps: Steps of the runs that were imported.
        arrays: Arrays that were copied out of BLOBs, each compared with the database since.
        kept: BLOBs that hold no array, or an odd one, and are kept as they are.
        files: Replay files that were adopted.
        dangling: Steps with a ref to a replay file that is not there.
        bytes_before: The size of the database before its columns of arrays were dropped; None where they were not.
        bytes_after: Its size since.
    """

    source: Path
    replay_dir: Path | None
    store: Path | None
    is_survey: bool = False
    found: int = 0
    imported: int = 0
    present: int = 0
    differing: list[Finding] = field(default_factory=list)
    refused: list[Finding] = field(default_factory=list)
    steps: int = 0
    arrays: int = 0
    kept: int = 0
    files: int = 0
    dangling: int = 0
    bytes_before: int | None = None
    bytes_after: int | None = None

    @property
    def is_complete(self) -> bool:
        """Whether every run is in the store as the source has it, or would be."""
        return not self.refused and not self.differing

    def to_json(self) -> dict[str, Any]:
        """Give everything as JSON can hold it."""
        return dict(strictjson.plain(asdict(self) | {"is_complete": self.is_complete}))

    def __str__(self) -> str:
        return "\n".join(self._paragraphs())

    def _paragraphs(self) -> Iterator[str]:
        done = "Would import" if self.is_survey else "Imported"
        where = "" if self.store is None else f" into {self.store}"
        yield f"{done} {self.imported} of {counted(self.found, 'run')} from {self.source}{where}."
        if self.replay_dir is None:
            yield "No folder of replay files was found; --replay-dir names one."
        if self.imported:
            compared = "" if self.is_survey else ", each compared with the database"
            yield f"{counted(self.steps, 'step')}, {counted(self.arrays, 'array')} out of BLOBs{compared}."
        if self.files:
            adopted = "to be adopted" if self.is_survey else "adopted"
            yield f"{counted(self.files, 'replay file')} {adopted} from {self.replay_dir}."
        if self.kept:
            yield f"{counted(self.kept, 'BLOB')} without an array, kept in mosaic/steps.parquet of the run."
        if self.dangling:
            yield f"{counted(self.dangling, 'step')} with a ref to a replay file that is not there."
        if self.present:
            yield f"{counted(self.present, 'run')} skipped: in the store already."
        yield from listed(
            self.differing,
            "of these differ from the source. To take the source's, remove the run with `playhead rm` and "
            "`playhead purge`, then migrate again:",
        )
        yield from listed(self.refused, "refused:")
        if self.bytes_before is not None and self.bytes_after is not None:
            yield (
                f"{self.source} holds no arrays any more: {self.bytes_after:,} bytes where it had "
                f"{self.bytes_before:,}."
            )
