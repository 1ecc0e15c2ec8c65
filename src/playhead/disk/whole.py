"""Files that appear whole or not at all, and new ones that nobody looks at yet."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from playhead.disk import hook
from playhead.disk.hook import StrPath, before, with_path, write_all
from playhead.disk.naming import cannot_link, discard, make_folders, rename, temporary_beside
from playhead.disk.opening import open_apart, open_to_read
from playhead.disk.syncing import sync, sync_folder

_CLONE = 0x40049409  # FICLONE of Linux


def replace(path: StrPath, data: bytes, *, durable: bool = True, named: bool = True) -> None:
    """Give a file new content at once: readers see the old or the new, never a part.

    Args:
        path: The file; its folder exists.
        data: The whole content.
        durable: Also wait for the medium, file and folder; the content then survives a power cut.
        named: False where the caller syncs the folder itself, after more files.
    """
    temporary = temporary_beside(path)
    try:
        _write_new(temporary, data, durable=durable)
        rename(temporary, path)
    except OSError:
        discard(temporary)
        raise
    if durable and named:
        sync_folder(temporary.parent)


def save(path: StrPath, data: bytes, *, durable: bool = True) -> None:
    """Write a file where a person asked for it, as `replace` does, and make the folders above it."""
    make_folders(os.path.dirname(path) or ".", durable=durable)
    replace(path, data, durable=durable)


def create(path: StrPath, data: bytes, *, durable: bool = True) -> None:
    """Make a file that must not exist yet; like `replace`, it appears whole or not at all.

    Raises:
        FileExistsError: It does.
    """
    temporary = temporary_beside(path)
    try:
        _write_new(temporary, data, durable=durable)
        before("rename", path)
        os.link(temporary, path)  # unlike a rename, a link never replaces
    finally:
        discard(temporary)
    if durable:
        sync_folder(temporary.parent)


def _write_new(path: StrPath, data: bytes, *, durable: bool) -> None:
    before("create", path)
    fd = open_apart(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        write_all(fd, path, [data])
        if durable:
            sync(fd, path)
    finally:
        os.close(fd)


def copy(source: StrPath, target: StrPath, *, durable: bool = True) -> None:
    """Copy a file into a new one; the target appears whole or not at all."""
    temporary = temporary_beside(target)
    try:
        before("create", temporary)
        with open(open_to_read(source), "rb") as reader, open(temporary, "xb") as writer:
            _copy_bytes(reader, writer)
            if durable:
                sync(writer.fileno(), temporary)
        rename(temporary, target)
    except OSError:
        discard(temporary)
        raise
    if durable:
        sync_folder(Path(target).parent)


def _copy_bytes(reader: BinaryIO, writer: BinaryIO) -> None:
    while block := reader.read(1 << 20):
        write_all(writer.fileno(), writer.name, [block])


def link(source: StrPath, target: StrPath) -> None:
    """Give a file a second name, instead of what has it; where the file system has no links, a copy of the file."""
    temporary = temporary_beside(target)
    try:
        before("create", temporary)
        os.link(source, temporary)
    except OSError as error:
        if not cannot_link(error):
            raise
        copy(source, target)
        return
    try:
        rename(temporary, target)
    finally:
        discard(temporary)  # a rename onto another name of the same file leaves it
    sync_folder(temporary.parent)


def write_blocks(path: StrPath, blocks: Iterable[bytes | memoryview], *, mode: int = 0o666, durable: bool) -> None:
    """Write a new file block by block; it is in its place at once, so it lies where no reader looks.

    Args:
        path: The file, which must not exist.
        blocks: Its content.
        mode: What may be done with it, less what the process takes away from all files.
        durable: Wait for the medium; else the caller does, for many files at once.
    """
    before("create", path)
    fd = open_apart(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        if hook.installed is None:
            for block in blocks:
                _write(fd, path, block)
        else:
            for block in blocks:
                write_all(fd, path, [block])
        if durable:
            sync(fd, path)
    finally:
        os.close(fd)


def _write(fd: int, path: StrPath, block: bytes | memoryview) -> None:
    try:
        written = os.write(fd, block)
    except OSError as error:
        raise with_path(error, path) from None
    if written != len(block):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), os.fspath(path))


def reserve(path: StrPath, size: int, *, mode: int = 0o600) -> int:
    """Make a new file of zeros that has all its room, for mapping it; give its descriptor.

    A page that is written through a mapping and has no room would end the process.

    Raises:
        OSError: There is no room, or the name is taken; nothing was made.
    """
    before("create", path)
    fd = open_apart(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
    try:
        if before("write", path, size) is not None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), os.fspath(path))
        os.posix_fallocate(fd, 0, size)
    except BaseException:
        os.close(fd)
        discard(path)
        raise
    return fd


def clone(source: StrPath, target: StrPath, *, mode: int = 0o666) -> bool:
    """Make a new file that shares the blocks of another until one of them is written; tell whether that is possible."""
    before("create", target)
    with open(open_to_read(source), "rb") as reader:
        fd = open_apart(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        try:
            fcntl.ioctl(fd, _CLONE, reader.fileno())
        except OSError:
            os.unlink(target)
            return False
        finally:
            os.close(fd)
    return True
