"""Names in folders: given, moved, exchanged and taken away."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import shutil
import stat
from pathlib import Path

from playhead.disk.hook import StrPath, before
from playhead.disk.syncing import sync_folder

TEMPORARY_SUFFIX = ".tmp"
_MOST_OF_NAME = 32
_NO_LINKS = (errno.EPERM, errno.EMLINK, errno.EOPNOTSUPP, errno.EXDEV)
_OF_GROUP = stat.S_ISGID | stat.S_IWGRP
_HERE, _EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux


def temporary_beside(path: StrPath) -> Path:
    """Name a file that no other writer names, in the folder of `path`, hidden from readers."""
    path = Path(path)
    # The name is cut so that a long one stays within the 255 bytes of common file systems.
    return path.with_name(f".{path.name[:_MOST_OF_NAME]}.{os.getpid()}-{os.urandom(4).hex()}{TEMPORARY_SUFFIX}")


def is_temporary(name: str) -> bool:
    """Tell whether a name was made by `temporary_beside`: a leftover of a crash once its writer is gone."""
    return name.startswith(".") and name.endswith(TEMPORARY_SUFFIX)


def sweep(path: StrPath) -> None:
    """Remove what crashes left of writing a file that nobody but the caller writes; gone ones are fine."""
    path = Path(path)
    if len(path.name) > _MOST_OF_NAME or not path.parent.is_dir():  # a cut name may be that of another file
        return
    for name in os.listdir(path.parent):
        if is_temporary(name) and name.rpartition(".")[0].rpartition(".")[0] == f".{path.name}":
            with contextlib.suppress(FileNotFoundError):  # whoever made it may be at it
                remove_any(path.parent / name)


def rename(source: StrPath, target: StrPath) -> None:
    """Move a file or a folder over `target` in one step."""
    before("rename", target)
    os.rename(source, target)


def exchange(one: StrPath, other: StrPath) -> None:
    """Let two files or folders of one file system swap their names in one step: nobody sees a moment without either.

    Raises:
        OSError: The kernel or the file system cannot (`ENOSYS`, `EINVAL`), or one of them is not there.
    """
    before("rename", other)
    try:
        swap = ctypes.CDLL(None, use_errno=True).renameat2
    except AttributeError:  # another system than Linux, or a C library from before 2018
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), os.fspath(other)) from None
    if swap(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), os.fspath(other))


def link_new(source: StrPath, target: StrPath) -> None:
    """Give a file a second name that nothing has yet.

    Raises:
        FileExistsError: Something has it.
        OSError: The file system has no links, or no more of this file; see `cannot_link`.
    """
    before("link", target)
    os.link(source, target)


def link_to(text: str, path: StrPath) -> None:
    """Make a symbolic link that leads where a text says.

    Raises:
        OSError: The file system has none; see `cannot_link`.
    """
    before("link", path)
    os.symlink(text, path)


def cannot_link(error: OSError) -> bool:
    """Tell whether a link failed because there can be none, so that a copy does instead."""
    return error.errno in _NO_LINKS


def make_folders(path: StrPath, *, durable: bool = True) -> None:
    """Make a folder and the missing ones above it.

    Args:
        path: The folder.
        durable: Also wait for the medium; else the caller syncs the folders above it.
    """
    path = Path(path)
    missing = [path, *path.parents]
    missing = missing[: next((n for n, folder in enumerate(missing) if folder.is_dir()), len(missing))]
    for folder in reversed(missing):
        before("mkdir", folder)
        try:
            os.mkdir(folder)
            _share(folder)
        except FileExistsError:  # another process may be making the same one
            if not folder.is_dir():
                raise
        if durable:
            sync_folder(folder.parent)


def make_folder(path: StrPath) -> None:
    """Make a folder that must not exist yet.

    Raises:
        FileExistsError: It does.
    """
    before("mkdir", path)
    os.mkdir(path)
    _share(path)


def _share(folder: StrPath) -> None:
    """Let a new folder be the group's as the one above is: whoever makes it may have another umask."""
    above = os.stat(os.path.dirname(os.path.abspath(folder)))
    if above.st_mode & _OF_GROUP == _OF_GROUP and (mode := os.stat(folder).st_mode) & _OF_GROUP != _OF_GROUP:
        os.chmod(folder, stat.S_IMODE(mode) | stat.S_ISGID | stat.S_IRWXG)  # noqa: S103  as the folder above


def share_file(path: StrPath) -> None:
    """Let those who may write a folder also write a file in it that is ours and their group's.

    SQLite makes its files for the owner alone to write, whatever the umask says.
    """
    with contextlib.suppress(FileNotFoundError):
        found, above = os.lstat(path), os.stat(os.path.dirname(os.path.abspath(path)))
        is_due = above.st_mode & stat.S_IWGRP and not found.st_mode & stat.S_IWGRP
        if is_due and found.st_gid == above.st_gid and stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid():
            os.chmod(path, stat.S_IMODE(found.st_mode) | stat.S_IRGRP | stat.S_IWGRP)


def remove(path: StrPath) -> None:
    """Remove a file; one that is gone already is fine."""
    before("unlink", path)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def remove_tree(path: StrPath) -> None:
    """Remove a folder and all in it; links are removed, never followed."""
    before("unlink", path)
    os.unlink(path) if os.path.islink(path) else shutil.rmtree(path)


def take_away(folder: StrPath) -> None:
    """Remove a folder and all in it, out of sight in one step: no crash leaves a part of it under its name."""
    hidden = temporary_beside(folder)
    rename(folder, hidden)
    sync_folder(hidden.parent)
    with contextlib.suppress(FileNotFoundError):
        remove_tree(hidden)


def remove_any(path: StrPath) -> None:
    """Remove a file or a folder, whichever it is."""
    remove_tree(path) if os.path.isdir(path) and not os.path.islink(path) else remove(path)


def remove_empty(folder: StrPath) -> bool:
    """Remove a folder if nothing is in it; tell whether it went."""
    before("unlink", folder)
    try:
        os.rmdir(folder)
    except OSError:
        return False
    return True


def discard(path: StrPath) -> None:
    """Remove a file, if that can be done."""
    # An error that led here is the one to report; a leftover is hidden from readers and collected later.
    with contextlib.suppress(OSError):
        remove(path)


def touch(path: StrPath) -> None:
    """Set the modification time of a file to now."""
    before("touch", path)
    os.utime(path, follow_symlinks=False)
