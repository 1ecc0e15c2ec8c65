"""Taking over a database of MOSAIC and its replay files, in phases: copy, compare, and only then compact.

A run counts as taken over when every value of it was read back and found equal. The database itself is only read, until
`compact` is asked for; then all is compared once more, within the transaction that drops the columns.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from playhead import disk, facts
from playhead.catalog import mosaic as database
from playhead.catalog.mosaic import Telemetry
from playhead.errors import Damaged, NotFound, WrongType
from playhead.home import Home
from playhead.integrations import incoming
from playhead.integrations.findings import Finding
from playhead.integrations.incoming import Incoming, Refused
from playhead.integrations.mosaic import copying, documents, planning, source, verifying
from playhead.integrations.mosaic.planning import Plan, Tick
from playhead.integrations.mosaic.report import Report
from playhead.integrations.mosaic.source import SourceRun
from playhead.integrations.mosaic.verifying import Differs
from playhead.layout import RunFolder
from playhead.paths import GivenPath, as_path
from playhead.progress import watching
from playhead.store import Store

_LOOKS = 3  # at each step: one to plan, one to copy, one to compare


def survey(
    path: GivenPath,
    store: Store | None = None,
    *,
    replay_dir: GivenPath | None = None,
    progress: bool | None = False,
) -> Report:
    """Look at all that `migrate` would take over, and say what that is; nothing is written.

    Args:
        path: MOSAIC's `telemetry.sqlite`.
        store: The store, which may be open for reading; None for one that is still to be made.
        replay_dir: As `migrate` has it.
        progress: As `migrate` has it.
    """
    at, folder = _checked(path, replay_dir)
    with database.reading(at) as telemetry:
        migration = _Migration(None if store is None else store._home, telemetry, folder)
        migration.report.is_survey = True
        with watching("Looking at steps", migration.steps_due, progress, unit="steps") as watch:
            migration.survey(watch or _ignore)
    return migration.report


def migrate(
    path: GivenPath,
    store: Store,
    *,
    replay_dir: GivenPath | None = None,
    compact: bool = False,
    progress: bool | None = False,
) -> Report:
    """Take over all runs of a database of MOSAIC. Doing it again doubles nothing.

    Args:
        path: MOSAIC's `telemetry.sqlite`.
        store: The store, open for recording.
        replay_dir: Where its replay files are, `{run_id}.h5`; by default `replay` beside the database or above it.
        compact: Then drop the columns of arrays from the database, and give the room back.
        progress: Show on standard error how far the work is; None for where that is a terminal, and it takes long.

    Raises:
        NotFound: There is no such file or folder.
        Damaged: The file is no database of MOSAIC.
        StoreLocked: Another migration into this store is under way, or MOSAIC is writing.
        WrongType: The database is to be compacted, and something of it is not in the store. It is as it was.
    """
    store._check_writable()
    at, folder = _checked(path, replay_dir)
    with database.reading(at) as telemetry, incoming.opened(store._home) as place:
        migration = _Migration(store._home, telemetry, folder)
        with watching("Importing steps", migration.steps_due * _LOOKS, progress, unit="steps") as watch:
            migration.take_all(store._home, place, watch or _ignore)
    if compact:
        _compact(store._home, at, folder, migration.report)
    return migration.report


def _checked(path: GivenPath, replay_dir: GivenPath | None) -> tuple[Path, Path | None]:
    at = as_path(path).resolve()
    folder = source.replay_folder(at, None if replay_dir is None else as_path(replay_dir).resolve())
    if folder is not None and not folder.is_dir():
        raise NotFound(f"there is no folder {folder}; give the one in which MOSAIC has its replay files")
    return at, folder


class _Migration:
    def __init__(self, home: Home | None, telemetry: Telemetry, folder: Path | None) -> None:
        self._telemetry = telemetry
        self._runs, refused = source.find(telemetry, folder)
        root = None if home is None else home.layout.root
        self.report = Report(telemetry.path, folder, root, found=len(self._runs), refused=refused)
        known = {run.id: None if home is None else Incoming(home).folder_of(run.id) for run in self._runs}
        self._present = {run_id: found for run_id, found in known.items() if found is not None}

    @property
    def steps_due(self) -> int:
        """How many steps are to be taken over."""
        return sum(run.steps for run in self._runs if run.id not in self._present)

    def _due(self) -> Iterator[SourceRun]:
        for run in self._runs:
            if run.id in self._present:
                self._note_present(run, self._present[run.id])
            else:
                yield run

    def survey(self, tick: Tick) -> None:
        """See what would be done."""
        for run in self._due():
            try:
                self._note(run, planning.plan(self._telemetry, run, tick))
            except Refused as error:
                self.report.refused.append(Finding(run.id, str(error)))

    def take_all(self, home: Home, place: Incoming, tick: Tick) -> None:
        """Take over what is not there yet."""
        for run in self._due():
            try:
                self._take(home, place, run, tick)
            except Refused as error:
                self.report.refused.append(Finding(run.id, str(error)))

    def _take(self, home: Home, place: Incoming, run: SourceRun, tick: Tick) -> None:
        plan = planning.plan(self._telemetry, run, tick)

        def build(built: RunFolder) -> None:
            copying.adopt(home, run, plan)
            disk.make_folder(built.path)
            if run.stretches:
                copying.copy(home, self._telemetry, run, plan, built, tick)
            try:
                if run.file is not None:
                    verifying.check_adopted(home, run, copying.adopted_episodes(run, plan))
                for _ in verifying.verify(home, self._telemetry, run, built, tick):
                    pass
            except Differs as error:
                raise Refused(f"it did not come out as it is in the source: {error}. Please report this") from error
            documents.write(run, built)
            incoming.sync_tree(built.path)

        place.take(run.id, home.layout.run(documents.PROGRAM, run.name, run.id), [1], build)
        self._note(run, plan)

    def _note(self, run: SourceRun, plan: Plan) -> None:
        self.report.imported += 1
        self.report.steps += run.steps
        self.report.arrays += plan.arrays
        self.report.kept += plan.kept
        self.report.files += run.file is not None
        self.report.dangling += plan.dangling

    def _note_present(self, run: SourceRun, known: RunFolder) -> None:
        self.report.present += 1
        difference = _difference(run, known)
        if difference is not None:
            self.report.differing.append(Finding(run.id, difference))


def _ignore(_steps: int) -> None:
    """Hear of progress that nobody wants to see."""


def _difference(run: SourceRun, known: RunFolder) -> str | None:
    try:
        origin = facts.load(known.meta).get(documents.ORIGIN)
    except Damaged as error:
        return str(error)
    if not isinstance(origin, dict) or origin.get("program") != documents.PROGRAM:
        return "the run of this id in the store did not come from here"
    if origin.get(documents.DIGEST) != run.fingerprint():
        return "the source has changed since it was imported, or another run has the same id"
    return None


def _compact(home: Home, path: Path, folder: Path | None, report: Report) -> None:
    """Drop the columns of arrays, if every step of the database is in the store and equal."""
    with database.reading(path) as telemetry:
        is_due = bool(telemetry.array_columns)
    report.bytes_before = _size(path)
    if is_due:
        database.drop_arrays(path, lambda telemetry: _verified(home, telemetry, folder))
    database.vacuum(path)
    report.bytes_after = _size(path)


def _verified(home: Home, telemetry: Telemetry, folder: Path | None) -> Iterator[verifying.Place]:
    runs, _ = source.find(telemetry, folder)
    place = Incoming(home)
    missing = {one.episode_id for one in telemetry.stretches()} - {
        one.episode_id for run in runs for one in run.stretches
    }
    problems = [f"{len(missing)} episodes of runs that were refused"] if missing else []
    for run in runs:
        known = place.folder_of(run.id)
        try:
            if known is None:
                raise Differs("it is not in the store")
            if not run.stretches:
                continue  # nothing of it is in the database
            difference = _difference(run, known)
            if difference is not None:
                raise Differs(difference)
            yield from verifying.verify(home, telemetry, run, known, _ignore)
        except (Differs, Damaged) as error:
            problems.append(f"{run.id}: {error}")
    if problems:
        raise WrongType(
            f"{telemetry.path} was not compacted, and is as it was, since not all of it is in the store: "
            + "; ".join(problems)
        )


def _size(path: Path) -> int:
    found = (path, path.with_name(f"{path.name}-wal"))
    return sum(os.stat(one).st_size for one in found if one.exists())
