"""Opening a store: making it on first use, refusing what is not one, recovering what a crash left."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from playhead import claims, clock, copies, disk, facts, filesystem, recovery
from playhead.catalog import artifacts
from playhead.catalog.database import Database
from playhead.catalog.files import files_of
from playhead.errors import Damaged, NotAStore, PlayheadError, ReadOnly, StoreLocked, StoreTooNew, WrongType, foreseen
from playhead.home import Home
from playhead.layout import Layout, layout_at, locate
from playhead.paths import GivenPath
from playhead.reading import open_to_read
from playhead.store import FORMAT, NEEDED_VERSION, Progress, Store

Uses = Mapping[str, Sequence[dict[str, Any]]]

_NO_USES: Uses = MappingProxyType({})
_SLACK_NS = 2 * clock.SECOND  # of the clock of a file system


def open(path: GivenPath = "store", mode: str = "a") -> Store:
    """Open a store, and make it on first use.

    Args:
        path: The store's folder.
        mode: `a` to read and record, `r` to read. `r` changes no file, and works on a medium that cannot be written.

    Raises:
        NotAStore: The folder is something else, or, with mode `r`, is not there.
        StoreTooNew: The store was written by a later version.
        ReadOnly: The folder cannot be written; open it with mode `r`.
        Damaged: The catalogue is broken; `playhead rebuild` makes it anew.
    """
    if mode not in ("a", "r"):
        raise WrongType(f"mode is 'a' or 'r', not {mode!r}")
    layout = layout_at(path)
    _refuse_other_things(layout, mode)
    if mode == "r":
        _check_format(layout)
        return open_to_read(layout)
    return _open_for_recording(layout)


def _refuse_other_things(layout: Layout, mode: str) -> None:
    root = layout.root
    if layout.marker.is_file():
        return
    if not root.exists():
        if mode == "r":
            raise NotAStore(f"there is no store at {root}; open it with mode='a' to make one")
        return
    if not root.is_dir():
        raise NotAStore(f"{root} is a file; a store is a folder")
    names = sorted(name for name in os.listdir(root) if not disk.is_temporary(name))
    if names and layout.marker.is_file():
        return  # another process made it just now
    if names or mode == "r":
        found = f"it holds {', '.join(names[:5])}{' …' if len(names) > 5 else ''}" if names else "it is empty"
        hint = "Choose an empty or new folder"
        if (root / "runicorn.db").exists() or (root / "runs").is_dir():
            hint = f"To take over the runs of Runicorn: playhead migrate runicorn {root}"
        raise NotAStore(f"{root} is not a Playhead store: it has no {layout.marker.name}, and {found}. {hint}")


def _check_format(layout: Layout) -> None:
    marker = facts.load(layout.marker, required=True)
    version = marker.get("format")
    if not isinstance(version, int):
        raise Damaged(layout.marker, "a format number", repr(version), "Restore the file from a copy of the store")
    if version > FORMAT:
        needed = marker.get("needs", "a later version")
        raise StoreTooNew(
            f"the store {layout.root} has format {version}, and this Playhead reads up to {FORMAT}. "
            f"It needs playhead {needed} or later: pip install --upgrade playhead"
        )


def _open_for_recording(layout: Layout) -> Store:
    if not layout.marker.exists():
        _make(layout)
    _check_format(layout)
    if not filesystem.is_writable(layout.root):
        raise ReadOnly(f"the store {layout.root} cannot be written; open it with mode='r' to read it")
    with disk.locked(layout.marker):
        in_use = copies.was_in_use(layout)
        try:
            home = Home(layout, _prepared(layout))
        except Damaged as trouble:
            if not in_use or not copies.is_torn(layout, trouble) or claims.live(layout):
                raise
            _build(layout, list)
            home = Home(layout, _prepared(layout))
        if copies.is_elsewhere(home):
            home = _arrived(home, in_use=in_use and home.database.place() != 0)
    recovery.recover(home)
    return Store(home)


def _prepared(layout: Layout) -> Database:
    """Open the catalogue, made or brought to this version; where it is not there, of what the folders hold."""
    if not layout.database.exists() and (layout.datasets() or any(True for _ in layout.run_folders())):
        _build(layout, list)
    database = Database(layout.database, "a", network=filesystem.is_network(layout.root))
    database.prepare()
    return database


def _arrived(home: Home, *, in_use: bool) -> Home:
    """Bring the catalogue of a store that is a copy up to date.

    Where its pages do not fit each other, it was copied while somebody wrote it: it is made again from the folders.
    """
    layout = home.layout
    if in_use and not copies.is_sound(home):
        if claims.live(layout):
            return home  # it is in use here: no copy, but damage, of which a check tells
        home.database.close()
        _build(layout, list)
        return Home(layout, _prepared(layout))
    copies.catch_up(home, in_use=in_use)
    home.database.note_place(copies.place_of(layout))
    return home


def _make(layout: Layout) -> None:
    disk.make_folders(layout.root)
    marker = {"format": FORMAT, "needs": NEEDED_VERSION, "id": os.urandom(8).hex(), "created_at": clock.now()}
    try:
        facts.create(layout.marker, marker)
    except FileExistsError:
        return  # another process was as quick


def rebuild(path: GivenPath, progress: Progress = list) -> list[Damaged]:
    """Make the catalogue anew from the folders; the answers are the same as before.

    Args:
        path: The store's folder.
        progress: Wraps the run folders while they are read, to show how far the work is.

    Returns:
        Runs that could not be read, each as the error that says why; all others are in the new catalogue.

    Raises:
        StoreLocked: A run is being recorded.
    """
    layout = layout_at(path)
    if not layout.marker.is_file():
        raise NotAStore(f"{layout.root} is not a Playhead store: it has no {layout.marker.name}")
    _check_format(layout)
    live = claims.live(layout)
    if live:
        who = f"process {live[0].process.pid} on {live[0].process.hostname}"
        raise StoreLocked(f"the run {live[0].run_id} is being recorded by {who}; rebuild when it has ended")
    with disk.locked(layout.marker):
        problems = _build(layout, progress, _known_uses(layout))
    _open_for_recording(layout).close()
    return problems


def _known_uses(layout: Layout) -> Uses:
    """Return which versions of artifacts each run used, as the old catalogue knows it, if that can be read."""
    found: dict[str, Sequence[dict[str, Any]]] = {}
    if layout.database.exists() and layout.artifacts.path.is_dir():
        with (
            contextlib.suppress(PlayheadError, OSError),
            foreseen(layout.database),
            contextlib.closing(Database(layout.database, "r")) as database,
            database.read() as connection,
        ):
            if database.is_current():
                for run_id in sorted({use.run_id for use in artifacts.users(connection)}):
                    found[run_id] = artifacts.used_by(connection, run_id)
    return found


def _build(layout: Layout, progress: Progress, uses: Uses = _NO_USES) -> list[Damaged]:
    """Build a catalogue beside the old one, then put it in its place.

    Args:
        layout: The store.
        progress: Wraps the run folders while they are read.
        uses: What is to be kept of each run whose list of used artifacts is damaged.
    """
    temporary = disk.temporary_beside(layout.database)
    database = Database(temporary, "a", network=filesystem.is_network(layout.root))
    try:
        database.prepare()
        begun = os.stat(temporary).st_mtime_ns - _SLACK_NS
        home = Home(layout, database)
        problems = recovery.fill(home, layout, progress)
        problems += recovery.keep_all_uses(home, uses, {problem.path for problem in problems})
        database.note_place(copies.place_of(layout, temporary))
        database.checkpoint()
    finally:
        database.close()
    # The old log must be gone before the new database has its name, or SQLite would play it into the wrong file.
    for path in files_of(layout.database):
        disk.remove(path)
    disk.rename(temporary, layout.database)
    disk.sync_folder(layout.root)
    _collect_leftovers(layout)
    _take_in_since(layout, begun)
    return problems


def _take_in_since(layout: Layout, begun: int) -> None:
    """Index what others did while the catalogue was made: they wrote it into the old one.

    Whoever writes from now on sees that the catalogue is another, and leaves its claim to the next open.
    """
    database = Database(layout.database, "a", network=filesystem.is_network(layout.root))
    try:
        copies.catch_up(Home(layout, database), since=begun)
    finally:
        database.close()


def _collect_leftovers(layout: Layout) -> None:
    for path in layout.trash.iterdir() if layout.trash.is_dir() else ():
        if not claims.of_run(layout, path.name):  # else somebody is purging it, who needs the folder, too
            with contextlib.suppress(FileNotFoundError):
                disk.remove_any(path)
    for path in layout.root.glob(f".{layout.database.name}.*"):
        disk.remove(path)


__all__ = ["locate", "open", "rebuild"]
