"""What a check of a store stands on: its files, its catalogue if that can be read, and one to compare it with."""

from __future__ import annotations

import contextlib
import glob
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from playhead import claims, facts, filesystem
from playhead.care.finding import NOTE, REBUILD, WARNING, Finding, of_damage, of_trouble
from playhead.catalog.comparing import Catalogue
from playhead.catalog.database import Database
from playhead.errors import Damaged, NotAStore, StoreTooNew
from playhead.home import Home
from playhead.lanes.files.versions import VersionEntry, Versions
from playhead.layout import ArtifactFolder, EpisodeFolder, Layout


class Ground:
    """A store under the lens; nothing of it is changed. A context manager, for one thread.

    Args:
        layout: Where the store has its files.

    Attributes:
        findings: What is wrong with the store as such.
        catalogue: Its catalogue; None where that cannot be read.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.findings: list[Finding] = []
        self.catalogue: Catalogue | None = None
        self._database = Database(layout.database, "r" if filesystem.is_writable(layout.root) else "immutable")
        self._held = contextlib.ExitStack()
        self._lineage: dict[bool, dict[str, list[dict[str, Any]]]] = {}
        self._versions: dict[ArtifactFolder, Mapping[int, VersionEntry] | None] = {}
        self._scratch: tuple[Home, Catalogue] | None = None

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as on_error:
            on_error.callback(self.close)
            self.findings += self._marker()
            self.findings += self._open()
            on_error.pop_all()
        return self

    def _marker(self) -> Iterator[Finding]:
        path = self.layout.marker
        mend = "Restore it from a copy of the store; it is three lines of JSON with format, needs and id"
        try:
            version = facts.load(path, required=True).get("format")
        except Damaged as error:
            yield of_damage("catalogue", error, mend)
        except OSError as error:
            yield of_trouble("catalogue", path, error)
        else:
            if version != 1:
                yield Finding("damage", "catalogue", path, "the format 1", repr(version), mend)

    def _open(self) -> Iterator[Finding]:
        path, mend = self.layout.database, self.command("rebuild")
        if not path.exists():
            yield Finding(WARNING, "catalogue", path, "the catalogue", "no file", mend, REBUILD)
            return
        try:
            if self._database.is_current():
                self.catalogue = self._held.enter_context(closing(Catalogue(self._database)))
            else:
                mend = (
                    f"Open the store, which brings it up to date, or run: playhead rebuild --store {self.layout.root}"
                )
                found = "those of an earlier version"
                yield Finding(NOTE, "catalogue", path, "the tables of this version", found, mend)
        except Damaged as error:
            yield of_damage("catalogue", error, mend, REBUILD)
        except (StoreTooNew, NotAStore) as error:
            yield Finding("damage", "catalogue", path, "a catalogue of this version", str(error), mend, REBUILD)
        except OSError as error:
            yield of_trouble("catalogue", path, error)

    def command(self, what: str) -> str:
        """Spell a command that is about this store."""
        return f"Run: playhead {what} --store {self.layout.root}"

    @property
    def undecided(self) -> str:
        """What to do if a file and the catalogue say different things, and no checksum tells which of them is right."""
        return (
            "Nothing says which of them is right: look at both, and restore the file from a copy if it is wrong. "
            f"Only if the file is right, run: playhead rebuild --store {self.layout.root}"
        )

    @cached_property
    def run_ids(self) -> set[str]:
        """The runs that have a folder."""
        return self.layout.run_ids()

    def lineage(self, is_used: bool) -> dict[str, list[dict[str, Any]]]:
        """Return the versions of artifacts that each run used, or made, as the catalogue knows them."""
        if is_used not in self._lineage:
            found: dict[str, list[dict[str, Any]]] = {}
            if self.catalogue is not None:
                for run_id, entry in self.catalogue.uses() if is_used else self.catalogue.makers():
                    found.setdefault(run_id, []).append(entry)
            self._lineage[is_used] = found
        return self._lineage[is_used]

    def versions(self, folder: ArtifactFolder) -> Mapping[int, VersionEntry] | None:
        """Return what an artifact says of its versions, by their numbers; None if that cannot be read."""
        if folder not in self._versions:
            try:
                self._versions[folder] = {entry.version: entry for entry in Versions.load(folder).entries}
            except Damaged:
                self._versions[folder] = None
            except OSError:
                self._versions[folder] = {}
        return self._versions[folder]

    def is_claimed(self, run_id: str) -> bool:
        """Tell whether a run is being recorded or edited, or waits for what the next open does about a crash."""
        return bool(claims.of_run(self.layout, run_id))

    def is_of_claimed(self, folder: EpisodeFolder) -> bool:
        """Return whether an episode is of such a run: its recorder, or the next open, brings its row up to date."""
        try:
            run_id = facts.known(folder.meta, facts.EPISODE).get("run_id")
        except (Damaged, OSError):
            return False
        return bool(run_id) and self.is_claimed(str(run_id))

    def missing(self, lane: str, error: Damaged) -> Finding:
        """Make a finding of a file that was sealed and is gone; of one that a repair moved aside, a note."""
        path = Path(error.path)
        aside = next(self.layout.quarantine.glob(f"*/{glob.escape(self.layout.relative(path))}"), None)
        if aside is None:
            return of_damage(lane, error)
        return Finding(NOTE, lane, path, error.expected, f"that it was moved aside by a repair, to {aside}")

    def scratch(self) -> tuple[Home, Catalogue]:
        """Give an empty catalogue of this store: to put things in, and to compare with."""
        if self._scratch is None:
            folder = self._held.enter_context(tempfile.TemporaryDirectory(prefix="playhead-"))
            database = Database(Path(folder) / self.layout.database.name, "a")
            self._held.callback(database.close)
            database.prepare()
            self._scratch = Home(self.layout, database), self._held.enter_context(closing(Catalogue(database)))
        return self._scratch

    def close(self) -> None:
        """Give files back."""
        self._held.close()
        self._database.close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
