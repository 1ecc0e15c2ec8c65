"""Taking over a Runicorn folder, one run after the other, each whole or not at all.

A run is built in the store's `.incoming` folder and moved to its place in one step, under a claim that is made before
and released when the catalogue has it. So whatever moment a crash chooses, the next open of the store either finds a
whole run and indexes it, or finds nothing; and what is left in `.incoming` the next migration removes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from playhead import disk, facts, recovery
from playhead.catalog import runs as catalog_runs
from playhead.claims import Claim
from playhead.errors import BadName, Damaged, NotFound, StoreLocked, WrongType
from playhead.home import Home
from playhead.integrations.runicorn import conversion, source
from playhead.integrations.runicorn.conversion import Converted
from playhead.integrations.runicorn.report import Finding, Report
from playhead.integrations.runicorn.roots import Candidate, Root
from playhead.integrations.runicorn.source import SourceRun
from playhead.layout import RunFolder
from playhead.store import Store

Progress = Callable[[Sequence[Candidate]], Iterable[Candidate]]


def migrate(folder: str | os.PathLike[str], store: Store, progress: Progress = iter) -> Report:
    """Take over all runs of a Runicorn folder. The folder is only read; doing it again doubles nothing.

    Args:
        folder: What Runicorn recorded into, of any version.
        store: The store, open for recording.
        progress: Wraps the runs while they are taken over, to show how far the work is.

    Raises:
        NotFound: There is no such folder.
        WrongType: The folder is the store, or lies in it.
        StoreLocked: Another migration into this store is under way.
    """
    store._check_writable()
    home = store._home
    root = Root(_checked(folder, home.layout.root), store=home.layout.root.resolve()).explore()
    disk.make_folders(home.layout.incoming)
    with disk.locked(home.layout.incoming, wait=False) as mine:
        if not mine:
            raise StoreLocked(f"another migration into {home.layout.root} is under way; try again when it is done")
        migration = _Migration(home, root)
        migration.clear()
        for candidate in progress(root.runs):
            migration.take(candidate)
    return migration.report


def _checked(folder: str | os.PathLike[str], store: Path) -> Path:
    root = Path(folder).expanduser().resolve()
    if not root.is_dir():
        raise NotFound(f"there is no folder {root}; give the one that Runicorn records into")
    if root.is_relative_to(store.resolve()):
        raise WrongType(f"{root} lies in the store {store}, into which its runs were to be imported")
    return root


class _Refused(Exception):
    """This run cannot be taken over; the message says why."""


class _Migration:
    def __init__(self, home: Home, root: Root) -> None:
        self._home = home
        self._root = root.path
        self.report = Report(
            source=root.path,
            store=home.layout.root,
            found=len(root.runs),
            left_out=[self._relative(link) for link in root.links],
            artifacts=root.artifacts,
            archived_files=root.archived,
        )

    def _relative(self, path: Path) -> str:
        return path.relative_to(self._root).as_posix()

    def clear(self) -> None:
        """Remove what a crash left half built."""
        for leftover in self._home.layout.incoming.iterdir():
            disk.remove_tree(leftover)

    def take(self, candidate: Candidate) -> None:
        """Take over one run, and note in the report what came of it."""
        try:
            self._take(candidate)
        except (_Refused, BadName) as error:
            self.report.refused.append(Finding(self._relative(candidate.path), str(error)))
        except OSError as error:
            if not error.filename or not Path(error.filename).is_relative_to(candidate.path):
                raise  # not the source is at fault, but the store
            reason = f"it cannot be read: {error.strerror}: {error.filename}"
            self.report.refused.append(Finding(self._relative(candidate.path), reason))

    def _take(self, candidate: Candidate) -> None:
        if candidate.problem is not None:
            raise _Refused(candidate.problem)
        run = source.read(candidate)
        known = self._folder_of(run.id)
        if known is not None:
            self._note_present(run, known)
        elif (recorder := source.recorder_of(run)) is not None:
            self.report.recording.append(Finding(self._relative(candidate.path), f"by {recorder}"))
        else:
            self._import(run)

    def _folder_of(self, run_id: str) -> RunFolder | None:
        with self._home.database.read() as connection:
            row = catalog_runs.find(connection, run_id)
        return None if row is None else self._home.layout.run_at(row.run_dir)

    def _note_present(self, run: SourceRun, known: RunFolder) -> None:
        difference = _difference(run, known)
        if difference is not None:
            self.report.differing.append(Finding(self._relative(run.folder.path), difference))
        self.report.present += 1

    def _import(self, run: SourceRun) -> None:
        folder = self._home.layout.run(run.project, run.name, run.id)
        self._refuse_if_taken(run, folder)
        claims = self._claim(run, folder)
        built = RunFolder(self._home.layout.incoming / run.id)
        try:
            converted = conversion.build(run, built, source.fingerprint(run))
            self._check(built)
            points = self._put_in_place(built, folder)
        except BaseException:
            self._withdraw(run.id, built, folder)
            _release(claims)
            raise
        _release(claims)
        self._note_imported(run, converted, points)

    def _claim(self, run: SourceRun, folder: RunFolder) -> list[Claim]:
        """See to it that nobody else makes a run of this id, and that nobody has in between.

        There is one claim for each event file, since that is what the next open indexes of a claim.
        """
        claims: list[Claim] = []
        try:
            for part in sorted({1, *run.parts}):
                claims.append(Claim.make(self._home.layout, run.id, folder, part))
        except FileExistsError:
            _release(claims)
            raise _Refused(f"a run of the id {run.id} is being recorded in the store right now") from None
        try:
            self._refuse_if_taken(run, folder)
        except _Refused:
            _release(claims)
            raise
        return claims

    def _refuse_if_taken(self, run: SourceRun, folder: RunFolder) -> None:
        if self._folder_of(run.id) is not None or os.path.lexists(folder.path):
            raise _Refused(f"{folder.path} is in the way; if that is a run, `playhead rebuild` makes it known")

    def _check(self, built: RunFolder) -> None:
        """See that the files say what every run must, before anybody relies on it."""
        try:
            facts.read(self._home.layout, built)
        except (Damaged, RecursionError) as error:
            raise _Refused(str(error)) from error

    def _put_in_place(self, built: RunFolder, folder: RunFolder) -> int:
        """Move a run to its place, and into the catalogue; give the number of its points there."""
        while True:
            disk.make_folders(folder.path.parent)
            try:
                disk.rename(built.path, folder.path)
                break
            except FileNotFoundError:
                if not built.path.exists():
                    raise
                # Else a purge took the empty folder above away in between.
        disk.sync_folder(folder.path.parent)
        key = self._home.index(folder).key
        for part in folder.parts():
            recovery.index_part(self._home, key, folder, part, mend=False)
        best = self._home.best_of(key)
        if best.get("best_metric_value") is not None:  # a best without its points stays as the source has it
            self._home.write_summary(folder, best)
        with self._home.database.read() as connection:
            return int(catalog_runs.by_key(connection, key).metric_count)

    def _withdraw(self, run_id: str, built: RunFolder, folder: RunFolder) -> None:
        """Take back what was done of a run, since the whole of it could not be."""
        with self._home.database.write() as connection:
            catalog_runs.remove(connection, run_id)
        if not built.path.exists() and folder.path.exists():
            disk.rename(folder.path, built.path)
        if built.path.exists():
            disk.remove_tree(built.path)

    def _note_imported(self, run: SourceRun, converted: Converted, points: int) -> None:
        where = self._relative(run.folder.path)
        self.report.imported += 1
        self.report.points_in += converted.points
        self.report.points_out += points
        self.report.unreadable_lines += converted.rejected
        self.report.unreadable_files += [f"{where}/{name}" for name in run.damaged]
        self.report.left_out += [f"{where}/{name}" for name in run.left_out]


def _release(claims: list[Claim]) -> None:
    for claim in claims:
        claim.release()


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
