"""What the next open does about a crash: nothing that was logged is lost, nothing half made stays."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from playhead import checksums, claims, disk, episode_index, facts, journal, owner, settled
from playhead.catalog import artifacts as catalog_artifacts
from playhead.catalog import runs as catalog_runs
from playhead.catalog.runs import RunFacts
from playhead.claims import EDITING, NO_SIGN_OF_LIFE, PROCESS_NOT_FOUND, Claim
from playhead.errors import Damaged, Misplaced, StoreTooNew, foreseen
from playhead.home import Home
from playhead.lanes.scalars import events
from playhead.lanes.scalars.index import EventIndex
from playhead.layout import DatasetFolder, EpisodeFolder, Layout, RunFolder, run_of_reel
from playhead.quarantine import Quarantine
from playhead.recording import end
from playhead.wording import counted

BATCH = 200  # runs a transaction while a catalogue is filled

_T = TypeVar("_T")


def recover(home: Home) -> list[str]:
    """Settle every claim whose process is gone, and every run that says it is running although nobody claims it.

    Returns:
        The ids of the runs that were settled.
    """
    claims.sweep(home.layout)
    settle_episodes(home)
    settled = [run_id for path in claims.paths(home.layout) if (run_id := _warned(recover_claim, home, path))]
    episode_index.settle(home, everywhere=bool(settled))
    with home.database.read() as connection:
        running = catalog_runs.running(connection)
    return settled + [run_id for run_id, run_dir in running if _warned(_end_unclaimed, home, run_id, run_dir)]


def settle_episodes(home: Home) -> None:
    """Look at the episodes that a power cut may have taken, once after each start of the machine.

    Of those that nobody waited for, a cut may leave any part. What cannot be recovered goes to the quarantine.
    """
    for name in home.layout.datasets():
        folder = home.layout.dataset(name)
        if settled.is_due(folder):
            _settle_dataset(home, name, folder)


def _settle_dataset(home: Home, name: str, folder: DatasetFolder) -> None:
    from playhead.dataset import settling  # loaded where it is due: it needs NumPy

    away = Quarantine(home.layout)

    def aside(episode: EpisodeFolder) -> None:
        home.layout.check_holds(episode.path)
        expected, found = "an episode as it was sealed", "what a power cut left of it; nobody had synced it"
        away.put(episode.path, expected, found)
        disk.make_folders(episode.tombstone)

    doubtful, lost = settling.settle(folder, aside)
    if doubtful:
        episode_index.update(home, name, doubtful)
        episode_index.reconcile(home, name)
    if lost:
        said = f"a power cut took {counted(lost, 'episode')} of the dataset {name!r} that nobody had synced"
        left = f"; what is left of them is in {home.layout.quarantine}" if away.moved else ""
        warnings.warn(f"{said}{left}", RuntimeWarning, stacklevel=2)


def _warned(settling: Callable[..., _T], home: Home, *arguments: Any, of: RunFolder | None = None) -> _T | None:
    """Settle one run; if its files cannot be read, say so and leave it, so that all the others can be used.

    Args:
        settling: What is done.
        home: The store.
        arguments: What else it takes.
        of: The run; nothing is said if it was purged in the meantime.
    """
    try:
        with foreseen(home.layout.root, but=home.database.path):
            return settling(home, *arguments)
    except (Damaged, StoreTooNew) as trouble:
        if of is None or of.path.exists():
            warnings.warn(f"a run could not be recovered: {trouble}", RuntimeWarning, stacklevel=2)
        return None


def _end_unclaimed(home: Home, run_id: str, run_dir: str) -> bool:
    """Mark a run as failed whose claim was lost, as when a store is copied without its hidden folders.

    A recorder sets the status before it gives up its claim, so the claim is looked for first.
    """
    folder = home.layout.run_at(run_dir)
    if claims.of_run(home.layout, run_id) or not folder.meta.exists():
        return False
    with foreseen(folder.path):
        return _end(home, run_id, run_dir, folder)


def _end(home: Home, run_id: str, run_dir: str, folder: RunFolder) -> bool:
    known = facts.read(home.layout, folder)
    _check_is(folder, known.id, run_id)
    is_running = known.status == "running"
    if is_running and is_recorded(folder):
        return False
    if is_running:
        checksums.check_status(folder)
    settle_lists(home, folder, run_id)
    key = home.put(known).key
    _index_rest(home, key, run_id, folder, folder.parts(), mend=is_running)
    if is_running:
        end(home, run_dir, "failed", PROCESS_NOT_FOUND, _last_sign(home, key))
        _recover_traces(home, run_id)
        _complete_lists(home, folder, run_id)
        home.write_summary(folder, home.best_of(key))
        checksums.note_all(folder, _seals(home, run_id))
    return True


def is_recorded(folder: RunFolder) -> bool:
    """Tell whether a process holds an event file of a run, whatever claims say; where that cannot be tried, it may."""
    return any(disk.is_held(folder.events(part)) is not False for part in folder.parts())


def _index_rest(home: Home, key: int, run_id: str, folder: RunFolder, parts: Iterable[int], *, mend: bool) -> None:
    """Index what the files of a run hold and the catalogue does not."""
    for part in parts:
        index_part(home, key, run_id, folder, part, mend=mend)
    _warned(index_replays, home, key, run_id, of=folder)
    _warned(index_uses, home, key, folder, of=folder)


def recover_claim(home: Home, path: Path) -> str | None:
    """Settle one claim if its process is gone; give the run's id where that was done here."""
    claim = Claim.load(path)
    if claim is None or claim.is_live():
        return None
    try:
        with disk.locked(path, wait=False) as mine:
            if not mine or not path.exists():
                return None  # another process is at it
            with foreseen(path):
                settle(home, claim)
                _release(home, claim)
            return claim.run_id
    except FileNotFoundError:
        return None
    except Damaged:
        if _was_purged(home, claim):
            return None
        raise


def _was_purged(home: Home, claim: Claim) -> bool:
    """Return whether the run of a claim is gone: somebody purged it while it was settled."""
    try:
        return not home.layout.run_at(claim.run_dir).path.exists()
    except Damaged:
        return False


def _release(home: Home, claim: Claim) -> None:
    """Give up a claim that was settled. That of an editor has the name of the next editor's, who holds the folder."""
    if claim.part != EDITING:
        home.release(claim)
        return
    with contextlib.ExitStack() as held:
        is_mine = True
        with contextlib.suppress(Damaged, FileNotFoundError):  # there is no such run, or not any more
            folder = home.layout.run_at(claim.run_dir).path
            is_mine = held.enter_context(disk.locked(folder, wait=False, patience=disk.PATIENCE))
        now = Claim.load(claim.path) if is_mine else None
        if now is not None and now.token == claim.token:
            home.release(claim)


def settle(home: Home, claim: Claim) -> None:
    """Bring a run whose recorder or editor died to rest: cut torn lines, index what is there, mark it failed."""
    try:
        folder = home.layout.run_at(claim.run_dir)
    except Damaged as error:
        expected = f"the folder of a run as 'run_dir': {error.expected}"
        raise Damaged(claim.path, expected, error.found, "Remove the file; it claims no run of this store") from error
    if not folder.meta.exists():
        if (
            not claim.is_copied()
        ):  # else the store was copied while the run was begun or purged, and may hold parts of it
            _forget(home, claim)
        return
    _check_is(folder, facts.read(home.layout, folder).id, claim.run_id)
    settle_lists(home, folder, claim.run_id)
    if claim.part != EDITING and claim.is_of_earlier_boot() and not _is_claimed_alive(home, claim.run_id):
        _index_what_is_left(home, claim.run_id, folder)
    key = home.index(folder).key
    # An editor that died while purging has already taken the run out of the catalogue: index all of it again.
    parts = folder.parts() if claim.part == EDITING else [claim.part]
    _index_rest(home, key, claim.run_id, folder, parts, mend=claim.part != EDITING)
    if claim.part == 1 and facts.load(folder.status).get("status", "running") == "running":
        reason = PROCESS_NOT_FOUND if claim.is_found_dead() else NO_SIGN_OF_LIFE
        end(home, claim.run_dir, "failed", reason, _last_sign(home, key))
    _recover_traces(home, claim.run_id)
    _complete_lists(home, folder, claim.run_id)
    home.write_summary(folder, home.best_of(key))
    if claim.part == EDITING:
        checksums.follow(folder, folder.meta, folder.summary)
    else:
        checksums.note_part(folder, claim.part, _seals(home, claim.run_id))


def _check_is(folder: RunFolder, found: str, run_id: str) -> None:
    """Refuse the `meta.json` or `status.json` of another run in the folder of one that was recorded there.

    Raises:
        Misplaced: If it is.
    """
    if found != run_id:
        raise Misplaced(folder.meta, f"that of the run {run_id}", f"that of {found}", owner.REMEDY)
    facts.check_status(folder, run_id)


def _seals(home: Home, run_id: str) -> checksums.Seals:
    """Return what the sealed files of a run are, in other lanes."""
    if not home.layout.replay.reels_of(run_id) and not home.layout.traces(run_id).files():
        return {}
    from playhead import run_seals  # loaded where there are some: it needs NumPy

    return run_seals.of_run(home.layout, run_id)


def _is_claimed_alive(home: Home, run_id: str) -> bool:
    return any(claim.is_live() for claim in claims.of_run(home.layout, run_id))


def _index_what_is_left(home: Home, run_id: str, folder: RunFolder) -> None:
    """Forget what the catalogue knows of a run that a power cut ended, and index what its files hold.

    A cut may take away what was not synced, in the middle of a file too, and leave the rows that were made of it.
    """
    for part in folder.parts():
        cut_torn(folder.events(part))
    for reel_id in home.layout.replay.reels_of(run_id):
        journal.cut_lost(home.layout.replay.reel(reel_id).journal)
    _warned(index_anew, home, folder, facts.read(home.layout, folder))


def index_anew(home: Home, folder: RunFolder, known: RunFacts, reels: Iterable[str] | None = None) -> None:
    """Forget a run, and index all of it, but for uses of which the list is damaged; otherwise as `index_all`."""
    with home.database.write() as connection:
        uses = catalog_artifacts.used_by(connection, known.id)
        catalog_runs.remove(connection, known.id)
    try:
        index_all(home, folder, known, reels)
    finally:
        keep_uses(home, folder, known.id, uses)


def keep_uses(home: Home, folder: RunFolder, run_id: str, uses: Sequence[dict[str, Any]]) -> Damaged | None:
    """Keep in a new catalogue what an earlier one knew of the uses of a run, if its list is damaged and lacks them.

    Returns:
        What is wrong with the list; None if nothing had to be kept.
    """
    if not uses:
        return None
    from playhead.artifact import lists  # loaded if artifacts were used

    flaw = lists.flaw(folder, folder.artifacts_used)
    if flaw is None:
        return None
    with home.database.write() as connection:
        row = catalog_runs.find(connection, run_id)
        if row is None:
            return None
        lost = lists.missing(catalog_artifacts.used_by(connection, run_id), uses)
        rows = [(use["type"], use["name"], use["version"], use["used_at"]) for use in lost]
        catalog_artifacts.put_uses(connection, row.key, rows, keep=True)
    return flaw if lost else None


def keep_all_uses(home: Home, uses: Mapping[str, Sequence[dict[str, Any]]], told: Container[object]) -> list[Damaged]:
    """Keep in a new catalogue what an earlier one knew of each run; otherwise as `keep_uses`.

    Args:
        home: The store with the new catalogue.
        uses: The versions that each run used.
        told: The lists of which it is known already that they cannot be read.
    """
    flaws = []
    for run_id, known in uses.items():
        with home.database.read() as connection:
            row = catalog_runs.find(connection, run_id)
        if row is not None:
            flaws.append(keep_uses(home, home.layout.run_at(row.run_dir), run_id, known))
    return [flaw for flaw in flaws if flaw is not None and flaw.path not in told]


def cut_torn(path: Path) -> None:
    """Cut what a crash left of the last line of an event file that nobody writes any more."""
    if torn := events.torn_bytes(path):
        disk.truncate(path, os.stat(path).st_size - torn)


def index_replays(home: Home, key: int, run_id: str, known: Iterable[str] | None = None) -> None:
    """Index the reels of a run, or those of them that are named."""
    reels = home.layout.replay.reels_of(run_id) if known is None else known
    if reels:
        from playhead import replay_index  # loaded where there are replays: it needs NumPy

        replay_index.index_run(home, key, run_id, reels)


def index_uses(home: Home, key: int, folder: RunFolder) -> None:
    """Index which versions of artifacts a run used."""
    if folder.artifacts_used.exists():
        from playhead.artifact import index  # loaded where artifacts were used

        index.put_uses(home, key, folder)


def settle_lists(home: Home, folder: RunFolder, run_id: str) -> None:
    """Write into the lists of the artifacts of a run what they have lost and the catalogue knows."""
    if home.layout.artifacts.path.is_dir():
        from playhead.artifact import lists  # loaded if there are some

        lists.settle(home, folder, run_id)


def _complete_lists(home: Home, folder: RunFolder, run_id: str) -> None:
    if home.layout.artifacts.path.is_dir():
        from playhead import artifacts  # loaded where there are some

        _warned(artifacts.complete_made, home, folder, run_id)


def _recover_traces(home: Home, run_id: str) -> None:
    if home.layout.traces(run_id).files():
        from playhead import traces  # loaded where there are some: it needs NumPy

        _warned(traces.recover, home, run_id)


def _forget(home: Home, claim: Claim) -> None:
    """Remove what is left of a run that died before it was one, or while it was being purged.

    Raises:
        Damaged: There are events. Then it was a run, and its `meta.json` was lost: nothing is removed.
    """
    folder = home.layout.run_at(claim.run_dir)
    if any(folder.events(part).stat().st_size for part in folder.parts()):
        raise Damaged(folder.meta, "the file that makes a folder a run", "events without it", "Restore it from a copy")
    with home.database.write() as connection:
        catalog_runs.remove(connection, claim.run_id)
    for leftover in (folder.path, home.layout.trash / claim.run_id):
        if leftover.is_dir():
            home.layout.check_holds(leftover)
            disk.remove_tree(leftover)
    if home.layout.replay.reels_of(claim.run_id):
        from playhead import replays

        replays.remove(home, claim.run_id)
    if home.layout.traces(claim.run_id).path.is_dir():
        from playhead import traces

        traces.remove(home, claim.run_id)


def _last_sign(home: Home, key: int) -> float:
    """Return when a run that says that it is running gave its last sign of life, as its duration says."""
    with home.database.read() as connection:
        row = catalog_runs.by_key(connection, key)
    return row.created_at + (row.duration_seconds or 0.0)


def index_part(home: Home, key: int, run_id: str, folder: RunFolder, part: int, *, mend: bool) -> None:
    """Index one event file.

    Args:
        home: The store.
        key: The run's key in the catalogue.
        run_id: The run.
        folder: The run's folder.
        part: The recording process.
        mend: Nobody writes the file any more: cut what a crash left of its last line.

    Raises:
        Misplaced: If the file is that of another run or process.
    """
    path = folder.events(part)
    if mend:
        cut_torn(path)
    EventIndex(home.database, key, part, path, run_id).catch_up()


def fill(home: Home, layout: Layout, progress: Callable[[Iterable[RunFolder]], Iterable[RunFolder]]) -> list[Damaged]:
    """Index every run folder, every episode and every artifact into an empty catalogue.

    Args:
        home: The store with the new catalogue.
        layout: Where the folders are.
        progress: Wraps the folders, to show how far the work is.

    Runs in progress are indexed as far as they are; the rest of them follows as their recorders go on.

    Returns:
        What could not be read; everything else is indexed.
    """
    problems = [layout.strays(folder.meta) for folder in layout.run_folders(strayed=True)]
    # A run that is claimed is one that somebody begins, purges, or left half-way.
    lost = [*facts.without_meta(layout)]
    problems += [problem for folder, problem in lost if not claims.of_run(layout, folder.path.name)]
    seen: dict[str, RunFolder] = {}
    reels: dict[str, list[str]] = {}
    for reel_id in layout.replay.reels():
        reels.setdefault(run_of_reel(reel_id), []).append(reel_id)
    folders = iter(progress(list(layout.run_folders())))
    while batch := list(islice(folders, BATCH)):
        with home.database.batch():
            for folder in batch:
                try:
                    with foreseen(folder.path):
                        _add(home, folder, seen, reels, problems)
                except Damaged as problem:
                    problems.append(problem)
                except FileNotFoundError:
                    if folder.meta.exists():
                        raise
                    _remove(home, folder)  # it was purged in the meantime
    for index in (episode_index.fill, fill_artifacts):
        try:
            with foreseen(layout.root, but=home.database.path):
                index(home)
        except Damaged as problem:
            problems.append(problem)
    return problems


def has_artifacts(home: Home) -> bool:
    """Return whether a store has a folder of artifacts, or a catalogue that knows of some."""
    with home.database.read() as connection:
        return home.layout.artifacts.path.is_dir() or bool(catalog_artifacts.stamps(connection))


def fill_artifacts(home: Home) -> None:
    """Index the artifacts that the catalogue does not know as they are."""
    if has_artifacts(home):
        from playhead.artifact import index  # loaded where there are some

        index.refresh(home)


def fill_replays(home: Home) -> None:
    """Index the reels of all runs that the catalogue knows."""
    for reel_id in home.layout.replay.reels():
        with home.database.read() as connection:
            row = catalog_runs.find(connection, run_of_reel(reel_id))
        if row is not None:
            _warned(index_replays, home, row.key, row.id, [reel_id])


def _remove(home: Home, folder: RunFolder) -> None:
    with home.database.write() as connection:
        catalog_runs.remove(connection, folder.path.name)


def _add(
    home: Home,
    folder: RunFolder,
    seen: dict[str, RunFolder],
    reels: dict[str, list[str]],
    problems: list[Damaged],
) -> None:
    known = facts.read(home.layout, folder, problems)
    checksums.check_id(folder, known.id)
    if known.status == "running":
        try:
            checksums.check_status(folder)
        except Damaged as problem:
            problems.append(problem)
    if known.id in seen:
        raise Damaged(folder.meta, "an id of its own", f"{known.id}, which {seen[known.id].path} has too")
    seen[known.id] = folder
    index_all(home, folder, known, reels.get(known.id, []))


def index_all(home: Home, folder: RunFolder, known: RunFacts, reels: Iterable[str] | None = None) -> None:
    """Index a run that the catalogue does not know yet.

    Args:
        home: The store.
        folder: The run's folder.
        known: What its JSON files say.
        reels: Its reels, where the caller knows them already.

    Raises:
        Damaged: A part of it cannot be read; all other parts are indexed.
    """
    key = home.put(known).key
    problems: list[Damaged] = []
    parts = [partial(index_part, home, key, known.id, folder, part, mend=False) for part in folder.parts()]
    for index in (*parts, partial(index_uses, home, key, folder)):
        try:
            with foreseen(folder.path):
                index()
        except Damaged as problem:
            problems.append(problem)
    index_replays(home, key, known.id, reels)
    if problems:
        raise problems[0]
