"""Waiting until what was written is on the medium."""

from __future__ import annotations

import ctypes
import os

from playhead.disk.hook import StrPath, before, with_path

_SYNCFS = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)  # of Linux alone


def sync(fd: int, path: StrPath) -> None:
    """Wait until what was written through a descriptor is on the medium."""
    before("fsync", path)
    try:
        os.fsync(fd)
    except OSError as error:
        raise with_path(error, path) from None


def sync_folder(path: StrPath) -> None:
    """Wait until the names in a folder are on the medium."""
    _sync_at(path, os.O_DIRECTORY)


def sync_file(path: StrPath) -> None:
    """Wait until a file, whoever wrote it, is on the medium."""
    _sync_at(path)


def _sync_at(path: StrPath, flags: int = 0) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | flags)
    try:
        sync(fd, path)
    finally:
        os.close(fd)


def sync_contents(folder: StrPath, *above: StrPath, at_once: bool) -> None:
    """Wait until the files in a folder, their names, and the names in other folders are on the medium.

    Args:
        folder: The folder; what lies deeper in it is not waited for.
        *above: The other folders.
        at_once: Sync the whole file system by one call, if this system has such a call. A file system that other
            machines serve may not hear of it.
    """
    if at_once and _SYNCFS is not None:
        sync_file_system(folder)
        return
    with os.scandir(folder) as entries:
        files = [entry.path for entry in entries if entry.is_file(follow_symlinks=False)]
    for file in files:
        sync_file(file)
    for one in (folder, *above):
        sync_folder(one)


def sync_file_system(path: StrPath) -> None:
    """Wait until all that was written to the file system of a folder is on the medium.

    For thousands of small files this takes a twentieth of the time that a sync of each does.
    """
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        before("fsync", path)
        if _SYNCFS is None:
            os.sync()
        elif _SYNCFS(fd):
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), os.fspath(path))
    finally:
        os.close(fd)
