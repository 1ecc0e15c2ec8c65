"""Taking over a Runicorn folder, one run after the other, then one version of an artifact after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from playhead import facts
from playhead.catalog import runs as catalog_runs
from playhead.errors import BadName, Damaged, NotFound, WrongType
from playhead.home import Home
from playhead.integrations import incoming
from playhead.integrations.findings import Finding
from playhead.integrations.incoming import Incoming, Refused
from playhead.integrations.runicorn import artifact_source, conversion, source
from playhead.integrations.runicorn.artifact_migration import ArtifactMigration
from playhead.integrations.runicorn.artifact_source import VersionCandidate
from playhead.integrations.runicorn.conversion import Converted
from playhead.integrations.runicorn.report import Report
from playhead.integrations.runicorn.roots import Candidate, Root
from playhead.integrations.runicorn.source import SourceRun
from playhead.layout import RunFolder
from playhead.paths import GivenPath, as_path
from playhead.store import Store

Progress = Callable[[Sequence[Any]], Iterable[Any]]


def migrate(folder: GivenPath, store: Store, progress: Progress = iter) -> Report:
    """Take over all runs and artifacts of a Runicorn folder. It is only read; doing it again doubles nothing.

    Args:
        folder: What Runicorn recorded into, of any version.
        store: The store, open for recording.
        progress: Wraps the runs, and then the versions of artifacts, while they are taken over, to show how far the
            work is.

    Raises:
        NotFound: There is no such folder.
        WrongType: The folder is the store, or lies in it.
        StoreLocked: Another migration into this store is under way.
    """
    store._check_writable()
    home = store._home
    root = Root(_checked(folder, home.layout.root), store=home.layout.root.resolve()).explore()
    with incoming.opened(home) as place:
        migration = _Migration(home, root, place)
        for candidate in progress(root.runs):
            migration.take(candidate)
        for version in progress(root.artifacts) if root.artifacts else ():
            migration.take_version(version)
    return migration.report


def _checked(folder: GivenPath, store: Path) -> Path:
    root = as_path(folder).resolve()
    if not root.is_dir():
        raise NotFound(f"there is no folder {root}; give the one that Runicorn records into")
    if root.is_relative_to(store.resolve()):
        raise WrongType(f"{root} lies in the store {store}, into which its runs were to be imported")
    return root


class _Migration:
    def __init__(self, home: Home, root: Root, place: Incoming) -> None:
        self._home = home
        self._incoming = place
        self._root = root.path
        self._artifacts = ArtifactMigration(home)
        self.report = Report(
            source=root.path,
            store=home.layout.root,
            found=len(root.runs),
            left_out=[self._relative(link) for link in root.links],
            artifacts=len(root.artifacts),
            archived_files=root.archived,
        )

    def _relative(self, path: Path) -> str:
        return path.relative_to(self._root).as_posix()

    def take(self, candidate: Candidate) -> None:
        """Take over one run, and note in the report what came of it."""
        self._tried(lambda: self._take(candidate), candidate.path, self.report.refused)

    def take_version(self, candidate: VersionCandidate) -> None:
        """Take over one version of an artifact, and note in the report what came of it."""
        self._tried(lambda: self._take_version(candidate), candidate.path, self.report.artifacts_refused)

    def _tried(self, take: Callable[[], None], path: Path, refused: list[Finding]) -> None:
        try:
            take()
        except (Refused, BadName) as error:
            refused.append(Finding(self._relative(path), str(error)))
        except OSError as error:
            if not self._is_of_source(error.filename):
                raise  # not the source is at fault, but the store
            reason = f"it cannot be read: {error.strerror}: {error.filename}"
            refused.append(Finding(self._relative(path), reason))

    def _is_of_source(self, filename: object) -> bool:
        path = Path(str(filename or ""))
        return path.is_relative_to(self._root) and not path.is_relative_to(self._home.layout.root.resolve())

    def _take_version(self, candidate: VersionCandidate) -> None:
        try:
            version = artifact_source.read(candidate)
            if self._artifacts.take(version):
                self.report.artifacts_imported += 1
                return
            difference = self._artifacts.difference(version)
        except (Damaged, RecursionError) as error:
            raise Refused(str(error)) from error
        self.report.artifacts_present += 1
        if difference is not None:
            self.report.artifacts_differing.append(Finding(self._relative(candidate.path), difference))

    def _take(self, candidate: Candidate) -> None:
        if candidate.problem is not None:
            raise Refused(candidate.problem)
        run = source.read(candidate)
        known = self._incoming.folder_of(run.id)
        if known is not None:
            self._note_present(run, known)
        elif (recorder := source.recorder_of(run)) is not None:
            self.report.recording.append(Finding(self._relative(candidate.path), f"by {recorder}"))
        else:
            self._import(run)

    def _note_present(self, run: SourceRun, known: RunFolder) -> None:
        difference = _difference(run, known)
        if difference is not None:
            self.report.differing.append(Finding(self._relative(run.folder.path), difference))
        self.report.present += 1

    def _import(self, run: SourceRun) -> None:
        folder = self._home.layout.run(run.project, run.name, run.id)
        converted = Converted()

        def build(built: RunFolder) -> None:
            nonlocal converted
            converted = conversion.build(run, built, source.fingerprint(run))

        key = self._incoming.take(run.id, folder, run.parts, build)
        with self._home.database.read() as connection:
            points = int(catalog_runs.by_key(connection, key).metric_count)
        self._note_imported(run, converted, points)

    def _note_imported(self, run: SourceRun, converted: Converted, points: int) -> None:
        where = self._relative(run.folder.path)
        self.report.imported += 1
        self.report.points_in += converted.points
        self.report.points_out += points
        self.report.unreadable_lines += converted.rejected
        self.report.unreadable_files += [f"{where}/{name}" for name in run.damaged]
        self.report.left_out += [f"{where}/{name}" for name in run.left_out]


def _difference(run: SourceRun, known: RunFolder) -> str | None:
    """Say how a run of the store differs from the source of the same id; None where it does not."""
    try:
        origin = facts.load(known.meta).get(conversion.ORIGIN)
    except Damaged as error:
        return str(error)
    if not isinstance(origin, dict) or conversion.DIGEST not in origin:
        return "the run of this id in the store did not come from here"
    if origin[conversion.DIGEST] != source.fingerprint(run):
        return "the source has changed since it was imported, or another run has the same id"
    return None
