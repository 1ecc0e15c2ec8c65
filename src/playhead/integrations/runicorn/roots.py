"""Where Runicorn keeps its runs: the two layouts of its folder, and its recycle bin.

- `<root>/<project>/<name>/runs/<id>/`, up to 0.5
- `<root>/runs/<path>/<id>/`, since 0.6; a path has any number of levels, none included
- `<root>/runs/.recycle/<id>/`, for what its viewer deleted, since 0.7
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from playhead.integrations.runicorn import artifact_source
from playhead.integrations.runicorn.artifact_source import VersionCandidate
from playhead.layout import RunFolder

RUNS = "runs"
RECYCLED = ".recycle"
ARTIFACTS = "artifacts"
ARCHIVE = "archive"

_RUN_ID = re.compile(r"\d{8}_\d{6}_[0-9a-f]{6}")
_NOT_A_RUN = "it has no meta.json, status.json or events.jsonl, so it is not a run"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A folder where Runicorn would have a run.

    Attributes:
        path: The folder.
        place: The names of the folders that stand for project and name.
        recycled: It lies in the recycle bin.
        problem: Why it cannot be taken over, where that is plain to see.
    """

    path: Path
    place: tuple[str, ...]
    recycled: bool = False
    problem: str | None = None


@dataclass(slots=True)
class Root:
    """What lies in a Runicorn folder.

    Attributes:
        path: The folder.
        store: A folder to stay out of.
        runs: The runs, in order of their paths.
        links: Symbolic links to folders, none of which was followed.
        artifacts: The versions of artifacts, in order of their types and names in Playhead's words.
        archived: How many files there are in the archive of code, data and outputs.
    """

    path: Path
    store: Path
    runs: list[Candidate] = field(default_factory=list)
    links: list[Path] = field(default_factory=list)
    artifacts: list[VersionCandidate] = field(default_factory=list)
    archived: int = 0

    def explore(self) -> Root:
        """Look for everything."""
        self._explore_old_layout()
        self._explore_new_layout()
        self.runs.sort(key=lambda run: run.path)
        self._explore_artifacts()
        self.links = list(dict.fromkeys(self.links))
        self.archived = sum(len(names) for _, _, names in os.walk(self.path / ARCHIVE))
        return self

    def _explore_old_layout(self) -> None:
        for project in self._folders(self.path):
            if project.name == RUNS or project.name.startswith("."):
                continue
            for name in self._folders(project):
                for path in self._folders(name / RUNS):
                    # An artifact may be called "runs": its versions are no runs, and nobody needs to be told.
                    if project.name != ARTIFACTS or _is_run(path):
                        self._add(path, (project.name, name.name))

    def _explore_new_layout(self) -> None:
        pending: list[tuple[Path, tuple[str, ...]]] = [(self.path / RUNS, ())]
        while pending:
            folder, place = pending.pop()
            for path in self._folders(folder):
                if _is_run(path) or _RUN_ID.fullmatch(path.name):
                    self._add(path, place)
                else:
                    pending.append((path, (*place, path.name)))

    def _explore_artifacts(self) -> None:
        for type in self._folders(self.path / ARTIFACTS):
            if not type.name.startswith("."):
                for artifact in self._folders(type):
                    self.artifacts += artifact_source.candidates(artifact)
        # Where a type has a second folder by mistake, the right one comes first.
        self.artifacts.sort(key=lambda one: (one.type, one.path.parts[-3] != one.type, one.path.parts[-2], one.number))

    def _add(self, path: Path, place: tuple[str, ...]) -> None:
        recycled = place[:1] == (RECYCLED,)
        problem = None if _is_run(path) else _NOT_A_RUN
        self.runs.append(Candidate(path, () if recycled else place, recycled, problem))

    def _folders(self, folder: Path) -> list[Path]:
        """List the folders in a folder; one that is missing has none."""
        if folder.is_symlink():
            self.links.append(folder)
            return []
        try:
            with os.scandir(folder) as entries:
                found = list(entries)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except PermissionError as error:
            self.runs.append(Candidate(folder, (), problem=f"it cannot be read: {error.strerror}"))
            return []
        self.links += [Path(entry) for entry in found if entry.is_symlink() and os.path.isdir(entry)]
        folders = (Path(entry) for entry in found if entry.is_dir(follow_symlinks=False))
        return sorted(path for path in folders if path != self.store)


def _is_run(folder: Path) -> bool:
    run = RunFolder(folder)
    return any(os.path.lexists(path) for path in (run.meta, run.status, run.events()))
