"""Opening a store to read it: nothing in it is changed, whoever records into it meanwhile."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from playhead import claims, clock, copies, disk, episode_index, filesystem, recovery
from playhead.catalog import runs as catalog_runs
from playhead.catalog.database import Database
from playhead.catalog.files import check_files
from playhead.errors import Damaged, ReadOnly, StoreLocked
from playhead.home import Home
from playhead.layout import Layout
from playhead.store import Store

_LOG_HEAD = 32  # bytes: among them two numbers that are others each time the log begins again
_TICK_NS = 50_000_000  # what was written within a tick of the file system's clock may be written again without a trace
_TRIES, _BETWEEN_SECONDS = 200, 0.05


def open_to_read(layout: Layout) -> Store:
    """Open a store without changing anything.

    Where SQLite can share the catalogue with those who write it, it does. On a medium that cannot be written it is read
    as one that never changes. Where both would be wrong, because a write-ahead log was left or the catalogue is of an
    earlier version, of another place or not there, a private copy of it is brought up to date.
    """
    if not layout.database.exists():
        return _open_private(layout, _fill, has_catalogue=False)
    try:
        store = _open_as_it_is(layout)
    except ReadOnly:  # those who write it closed or replaced it in this moment: only they can put it in order
        store = None
    except Damaged as trouble:
        if not copies.was_in_use(layout) or not copies.is_torn(layout, trouble):
            raise
        return _open_private(layout, _fill, has_catalogue=False)
    return store or _open_private(layout, partial(copies.catch_up, is_private=True))


def _open_as_it_is(layout: Layout) -> Store | None:
    """Open a store with its own catalogue, or with a copy where that is known to be behind; None where neither works.

    Raises:
        ReadOnly: The catalogue has to be put in order by somebody who may write it.
    """
    in_use = copies.was_in_use(layout)
    database = _shared(layout) or _unchanging(layout)
    if database is None:
        return None
    with contextlib.ExitStack() as on_error:
        on_error.callback(database.close)
        if not database.is_current():
            return _open_private(layout, _bring_forward)
        home = Home(layout, database)
        place = database.place()
        if place and place != copies.place_of(layout):
            if in_use and not copies.is_sound(home):
                return _open_private(layout, _fill, has_catalogue=False)
            if copies.is_behind(home, in_use=in_use):
                return _open_private(layout, partial(copies.catch_up, in_use=in_use, is_private=True))
        if not filesystem.is_writable(layout.root) and _is_left(home):
            return None
        on_error.pop_all()
        return Store(home)


def _is_left(home: Home) -> bool:
    """Tell whether a crash left runs unsettled where nobody records: nobody is about to index the rest of them."""
    with home.database.read() as connection:
        is_running = bool(catalog_runs.running(connection))
    return (is_running or bool(claims.paths(home.layout))) and not claims.live(home.layout)


def _shared(layout: Layout) -> Database | None:
    """Open a catalogue beside those who write it; None where SQLite cannot keep its locks there."""
    database = Database(layout.database, "r")
    if filesystem.is_writable(layout.root):
        return database
    try:  # what lies beside it may be there to be read, and the writer's locks be honoured
        database.place()
    except (OSError, ReadOnly):
        database.close()
        return None
    return database


def _unchanging(layout: Layout) -> Database | None:
    """Open a catalogue as one that nobody writes; None where something is left beside it that belongs to it."""
    beside = [layout.database.with_name(layout.database.name + suffix) for suffix in ("-wal", "-journal")]
    if any(path.exists() and path.stat().st_size for path in beside):
        return None
    return Database(layout.database, "immutable")


def _open_private(layout: Layout, bring_up: Callable[[Home], Any], *, has_catalogue: bool = True) -> Store:
    """Open a copy of the catalogue, or an empty one, and bring it up to date."""
    scratch = Path(tempfile.mkdtemp(prefix="playhead-"))
    try:
        copy = scratch / layout.database.name
        if has_catalogue:
            copy_catalogue(layout, copy)
        database = Database(copy, "a")
        database.prepare()
        home = Home(layout, database)
        bring_up(home)
        database.mode = "r"
        return Store(home, scratch)
    except BaseException:
        shutil.rmtree(scratch)
        raise


def _fill(home: Home) -> None:
    recovery.fill(home, home.layout, list)


def _bring_forward(home: Home) -> None:
    """Index what was not there in an earlier version; all runs are known."""
    episode_index.fill(home)
    recovery.fill_replays(home)
    recovery.fill_artifacts(home)


def copy_catalogue(layout: Layout, target: Path) -> None:
    """Copy a catalogue that others may be writing: all of it is of one moment.

    Raises:
        StoreLocked: If it is written all the time.
    """
    check_files(layout.database)
    for _ in range(_TRIES):
        with contextlib.suppress(FileNotFoundError):  # a log that was there a moment ago
            before = _look(layout.database)
            if clock.now_ns() - before[0][2] > _TICK_NS:
                for suffix in ("", "-wal", "-journal"):
                    _copy(layout.database, target, suffix)
                if _look(layout.database) == before:
                    return
        clock.sleep(_BETWEEN_SECONDS)
    raise StoreLocked(
        f"the catalogue {layout.database} is written so often that no copy of it can be made; try again, or read it as "
        "a user who may write it"
    )


def _copy(database: Path, target: Path, suffix: str) -> None:
    source, copy = database.with_name(database.name + suffix), target.with_name(target.name + suffix)
    if source.exists():
        shutil.copyfile(source, copy)
    else:
        copy.unlink(missing_ok=True)


def _look(database: Path) -> tuple[tuple[int, int, int], bytes, tuple[int, int, int] | None]:
    """Say how a catalogue looks: what is added at the end of its log is the only change that this does not tell."""
    log, journal = (database.with_name(database.name + suffix) for suffix in ("-wal", "-journal"))
    head = b""
    if log.exists():
        with open(disk.open_to_read(log), "rb") as file:
            head = file.read(_LOG_HEAD)
    return _state(database), head, _state(journal) if journal.exists() else None


def _state(path: Path) -> tuple[int, int, int]:
    found = os.stat(path)
    return found.st_ino, found.st_size, found.st_mtime_ns
