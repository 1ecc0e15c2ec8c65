"""How a new table gets its name: made hidden beside, and put in its place whole."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

from playhead import disk
from playhead.errors import Exists, StoreLocked
from playhead.layout import TableFolder

_CANNOT = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)


@contextlib.contextmanager
def new_folder(out: Path, *, overwrite: bool = False) -> Iterator[TableFolder]:
    """Give a hidden folder in which a table is made; at the end it gets its name, at an error it is removed.

    A kill at any moment leaves what was there before, or the new table whole; what it leaves besides is hidden, and
    collected by the next who makes a table of this name.

    Args:
        out: Where the table will be.
        overwrite: It may be there already; it is then replaced in one step. Nobody can add to it meanwhile.

    Raises:
        Exists: It is there, or something else that is not a table.
        StoreLocked: Somebody adds rows to the one that is there.
    """
    is_there = _check(out, overwrite=overwrite)
    disk.make_folders(out.parent)
    _collect(out)
    with contextlib.ExitStack() as stack:
        if is_there:
            if not stack.enter_context(disk.locked(out, wait=False)):
                raise StoreLocked(f"another process is adding rows to {out}; wait until it is done")
            _try_exchange(out)
        hidden = disk.temporary_beside(out)
        disk.make_folder(hidden)
        try:
            yield TableFolder(hidden, out)
            _place(hidden, out, is_there=is_there)
        except BaseException:
            # The first error is the one to report; what stays is collected later.
            with contextlib.suppress(OSError):
                disk.remove_tree(hidden)
            raise


def _check(out: Path, *, overwrite: bool) -> bool:
    """Tell whether there is a table to replace."""
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return False
    if not out.is_dir():
        raise Exists(f"{out} is a file; name a folder for the table")
    others = sorted({path.name for path in out.iterdir()} - TABLE_FILES - set(TableFolder(out).foreign_parts()))
    if others or not TableFolder(out).database.exists():
        raise Exists(f"{out} exists and is no table ({', '.join(others[:3]) or 'no metadata.db'}); choose another name")
    if not overwrite:
        raise Exists(
            f"there is a table at {out}; add to it by append, choose another name, or replace it with overwrite=True"
        )
    return True


TABLE_FILES = {"metadata.db", "metadata.db-wal", "metadata.db-shm", "manifest.json", "steps.npy", "shards"}


def _place(hidden: Path, out: Path, *, is_there: bool) -> None:
    if is_there:
        disk.exchange(hidden, out)
        disk.sync_folder(out.parent)
        with contextlib.suppress(OSError):  # the new one is in its place; the old one is hidden
            disk.remove_tree(hidden)
        return
    try:
        disk.rename(hidden, out)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise Exists(f"another process has made {out} meanwhile; choose another name, or add to it") from error
        raise
    disk.sync_folder(out.parent)


def _try_exchange(out: Path) -> None:
    """See whether folders can be swapped here, before hours of work."""
    one, other = disk.temporary_beside(out), disk.temporary_beside(out)
    disk.make_folder(one)
    try:
        disk.make_folder(other)
        try:
            disk.exchange(one, other)
        except OSError as error:
            if error.errno not in _CANNOT:
                raise
            raise Exists(
                f"{out} cannot be replaced in one step: its file system cannot swap two folders. "
                "Build under another name, and remove the old table yourself"
            ) from error
        finally:
            disk.remove_empty(other)
    finally:
        disk.remove_empty(one)


def _collect(out: Path) -> None:
    """Remove what killed processes left of making a table here."""
    start = disk.temporary_beside(out).name.rpartition(f".{os.getpid()}-")[0]
    for path in sorted(out.parent.iterdir()):
        name, _, of = path.name.removesuffix(disk.TEMPORARY_SUFFIX).rpartition(".")
        pid = of.partition("-")[0]
        if name == start and disk.is_temporary(path.name) and pid.isdigit() and path.is_dir() and not _lives(int(pid)):
            with contextlib.suppress(FileNotFoundError), disk.locked(path, wait=False) as mine:
                if mine:
                    disk.remove_tree(path)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
