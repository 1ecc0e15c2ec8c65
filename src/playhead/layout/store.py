"""The folders of one store."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from playhead.errors import BadName, Damaged, NoSuchFile, NotAStore
from playhead.layout.artifacts import ArtifactsFolder, check_member
from playhead.layout.episodes import DatasetFolder
from playhead.layout.names import (
    DATABASE,
    LANES,
    MARKER,
    RUN_ID,
    check_name,
    check_run_id,
    folder_name,
    inside,
    name_of_folder,
    names_in,
)
from playhead.layout.reels import ReplayFolder
from playhead.layout.runs import RunFolder
from playhead.layout.tables import TABLES, TableFolder
from playhead.layout.traces import TRACES, TraceFolder
from playhead.paths import GivenPath, as_path

RECORDING = ".recording"
TRASH = ".trash"
INCOMING = ".incoming"
QUARANTINE = ".quarantine"
RUNS = "runs"
EPISODES = "episodes"
REPLAY = "replay"
ARTIFACTS = "artifacts"


@dataclass(frozen=True, slots=True)
class Layout:
    """The files of one store."""

    root: Path

    @property
    def marker(self) -> Path:
        """What makes the folder a store: its format and identity."""
        return self.root / MARKER

    @property
    def database(self) -> Path:
        """The catalogue."""
        return self.root / DATABASE

    @property
    def recording(self) -> Path:
        """One small file for each process that is recording; what is left here after a crash names what to recover."""
        return self.root / RECORDING

    @property
    def trash(self) -> Path:
        """Where a run is while it is being removed for good."""
        return self.root / TRASH

    @property
    def incoming(self) -> Path:
        """Where runs of other programs are built before they are moved to their place; each in a folder named by id."""
        return self.root / INCOMING

    @property
    def quarantine(self) -> Path:
        """Where a repair puts what is damaged, in a folder for each time it was at work; nothing removes it."""
        return self.root / QUARANTINE

    @property
    def verified(self) -> Path:
        """How far the last check of a part of the store went, so that the next one goes on there."""
        return self.root / ".verified.json"

    def recording_entry(self, run_id: str, part: int) -> Path:
        """Name the file that says who records a part of a run."""
        return self.recording / f"{run_id}.{part}.json"

    def run(self, project: str, name: str, run_id: str) -> RunFolder:
        """Name the folder of a run."""
        return RunFolder(self.root / folder_name(project, top=True) / folder_name(name) / RUNS / run_id)

    def run_at(self, run_dir: str) -> RunFolder:
        """Give the folder that the catalogue or a claim knows by its relative path.

        Raises:
            Damaged: The path leads out of the store, by itself or through links; it was not written by Playhead.
        """
        folder = RunFolder(self.root / inside(run_dir, self.root))
        self.check_holds(folder.meta)
        return folder

    def dataset(self, name: str) -> DatasetFolder:
        """Name the folder of a dataset."""
        return DatasetFolder(self.root / EPISODES / folder_name(name))

    def datasets(self) -> list[str]:
        """List the names of the datasets that have a folder."""
        return names_in(self.root / EPISODES)

    def table(self, name: str) -> TableFolder:
        """Give the files of a training table."""
        return TableFolder(self.root / TABLES / folder_name(check_name(name, "name of a table")))

    def tables(self) -> list[str]:
        """List the names of the training tables that have a folder."""
        return [name for name in names_in(self.root / TABLES) if _names_table(name)]

    def odd_tables(self) -> list[Path]:
        """List what lies among the tables under a name that no table can have."""
        folder = self.root / TABLES
        return [folder / folder_name(name) for name in names_in(folder) if not _names_table(name)]

    def named(self, lane: str, name: str) -> list[Path]:
        """Give the folder of a table or a dataset, or the files of a trace (`run_id/name`); empty where there is none.

        Raises:
            BadName: The lane has none that can be named.
        """
        if lane == TABLES:
            found = [self.table(name).path]
        elif lane in ("datasets", EPISODES):
            found = [self.dataset(check_name(name, "dataset name")).path]
        elif lane == "traces":
            run_id, _, trace = name.partition("/")
            folder = self.root / lane / check_run_id(run_id)
            check_member(trace)
            there = os.listdir(folder) if folder.is_dir() else []
            found = [folder / file for file in sorted(there) if file == trace or file.startswith(f"{trace}.")]
        else:
            raise BadName(f"{lane!r} names no lane; use tables/NAME, datasets/NAME or traces/RUN/NAME")
        return [path for path in found if path.exists()]

    @property
    def artifacts(self) -> ArtifactsFolder:
        """Where artifacts and the pool of their contents lie."""
        return ArtifactsFolder(self.root / ARTIFACTS)

    @property
    def replay(self) -> ReplayFolder:
        """Where reels lie."""
        return ReplayFolder(self.root / REPLAY)

    def traces(self, run_id: str) -> TraceFolder:
        """Name the folder of the traces of a run.

        Raises:
            BadName: There can be no such run.
        """
        return TraceFolder(self.root / TRACES / check_run_id(run_id))

    def traced_runs(self) -> list[str]:
        """List the ids of the runs that have a folder of traces."""
        return [name for name in names_in(self.root / TRACES) if RUN_ID.fullmatch(name)]

    def relative(self, path: Path) -> str:
        """Give a path as the catalogue stores it: a store that moves takes it along."""
        return path.relative_to(self.root).as_posix()

    def holds(self, path: Path) -> bool:
        """Tell whether a file or folder lies in the store, wherever the links on the way to it lead."""
        return Path(os.path.realpath(path.parent)).is_relative_to(os.path.realpath(self.root))

    def check_holds(self, path: Path) -> None:
        """Check that a file or folder that is about to be changed lies in the store: it may come from a stranger.

        Raises:
            Damaged: Links lead out of the store to it.
        """
        if not self.holds(path):
            raise self.strays(path)

    def strays(self, path: Path) -> Damaged:
        """Make the error of a file or folder that links lead out of the store to."""
        found = f"links that lead to {os.path.realpath(path.parent)}"
        return Damaged(path, f"a place in the store {self.root}", found, "Put what they lead to in their place")

    def run_folders(self, *, strayed: bool = False) -> Iterator[RunFolder]:
        """Walk over the folders of all runs, found by their `meta.json`.

        Args:
            strayed: Give, instead of those in the store, those that links lead out of it to; such are none of its runs.
        """
        return (folder for folder in self._run_folders() if self.holds(folder.meta) is not strayed)

    def headless_runs(self) -> Iterator[RunFolder]:
        """Walk over folders where runs have theirs, and which have no `meta.json`, or one that leads to no file."""
        for path in sorted(self.root.glob(f"*/*/{RUNS}/*")):
            folder = RunFolder(path)
            top = path.relative_to(self.root).parts[0]
            is_ours = top not in LANES and not top.startswith(".") and not path.name.startswith(".")
            if is_ours and os.path.isdir(path) and not os.path.exists(folder.meta) and self.holds(path):
                yield folder

    def run_ids(self) -> set[str]:
        """Give the ids of all runs that have a folder, also of those that links lead out of the store to."""
        return {folder.path.name for folder in self._run_folders()}

    def has_run(self, run_id: str) -> bool:
        """Return whether a run has a folder now."""
        return any(True for _ in self._run_folders(glob.escape(run_id)))

    def _run_folders(self, named: str = "*") -> Iterator[RunFolder]:
        for meta in sorted(self.root.glob(f"*/*/{RUNS}/{named}/meta.json")):
            folder = meta.parent
            top = folder.relative_to(self.root).parts[0]
            if top not in LANES and not top.startswith(".") and not folder.name.startswith("."):
                yield RunFolder(folder)


def layout_at(path: GivenPath) -> Layout:
    """Take the folder of a store from a person; nothing needs to be there yet.

    Raises:
        NotAStore: If the path continues below a file.
    """
    try:
        return Layout(Path(os.path.abspath(as_path(path))))
    except NoSuchFile as error:
        raise NotAStore(str(error)) from None


def locate(given: GivenPath | None = None) -> Path:
    """Find the store that a command means: the given path, else `PLAYHEAD_STORE`, else the one around the current
    folder, else `./store`.
    """
    chosen = given or os.environ.get("PLAYHEAD_STORE")
    if chosen:
        return as_path(chosen)
    return store_around(Path.cwd()) or Path.cwd() / "store"


def dataset_of(path: Path, root: Path) -> str:
    """Name the dataset of a store that an episode's folder lies in."""
    return name_of_folder(path.absolute().relative_to(root / EPISODES).parts[0])


def store_around(path: Path) -> Path | None:
    """Find the store that a folder or file lies in; None where there is none."""
    return next((folder for folder in (path, *path.parents) if (folder / MARKER).is_file()), None)


def _names_table(name: str) -> bool:
    try:
        check_name(name)
    except BadName:
        return False
    return True
