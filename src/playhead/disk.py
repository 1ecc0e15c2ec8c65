"""The only place that writes files.

Four promises, on which everything above stands:

- `replace` gives a file its new content whole or not at all, also through a power cut.
- `Appender.append` adds all of the bytes or none: a short write is cut off again before the error is raised.
- A `Draft` is written in any order by other libraries, and put in its place whole by `commit`.
- Every change passes `_before`, where tests install a hook that fails, shortens or kills at the n-th one.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import io
import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Protocol

try:
    import fcntl
except ModuleNotFoundError as error:
    raise ImportError(
        "Playhead needs a system that locks files and renames over open ones, which Windows does not; "
        "use it in the Windows Subsystem for Linux"
    ) from error

from playhead.errors import Damaged

TEMPORARY_SUFFIX = ".tmp"
_MOST_OF_NAME = 32
_MOST_BUFFERS = 1024  # what the kernel takes in one call
_NO_LINKS = (errno.EPERM, errno.EMLINK, errno.EOPNOTSUPP, errno.EXDEV)
_CLONE = 0x40049409  # FICLONE of Linux
_NO_FILE = "a folder, pipe, socket or device"
_HERE, _EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux

StrPath = str | os.PathLike[str]


class Hook(Protocol):
    """Called before each change of the disk: raise an `OSError` to fail it, or end the process."""

    def __call__(self, operation: str, path: str, size: int) -> int | None:
        """See one operation coming.

        Args:
            operation: `create`, `write`, `fsync`, `rename`, `link`, `truncate`, `unlink`, `mkdir` or `touch`.
            path: The file or folder.
            size: The bytes of a write, else 0.

        Returns:
            How many bytes a write may write before it comes up short; None for all.
        """


_hook: Hook | None = None


@contextlib.contextmanager
def hooked(hook: Hook) -> Iterator[None]:
    """Let a hook see every change of the disk made by this process."""
    global _hook
    before, _hook = _hook, hook
    try:
        yield
    finally:
        _hook = before


def _before(operation: str, path: StrPath, size: int = 0) -> int | None:
    return None if _hook is None else _hook(operation, os.fspath(path), size)


def _write_all(fd: int, path: StrPath, buffers: Sequence[bytes | memoryview]) -> None:
    pending = [memoryview(buffer).cast("B") for buffer in buffers]
    while pending:
        limit = _before("write", path, sum(map(len, pending)))
        if limit is not None:
            os.write(fd, b"".join(pending)[:limit])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), os.fspath(path))
        written = os.writev(fd, pending[:_MOST_BUFFERS])
        while pending and written >= len(pending[0]):
            written -= len(pending.pop(0))
        if written:
            pending[0] = pending[0][written:]


def open_to_read(path: StrPath) -> int:
    """Open a file to read; a pipe or a device, which could keep us waiting for ever, is refused.

    Raises:
        Damaged: It is no file.
    """
    return _open_file(path, os.O_RDONLY)


def check_plain(path: StrPath, remedy: str = "Put the file itself in its place") -> None:
    """See that a path is that of a file, or of nothing, before a library opens it that follows links and waits.

    Args:
        path: The file.
        remedy: What to do where it is none.

    Raises:
        Damaged: It is a link, which may lead out of a store of a stranger, or a folder, pipe, socket or device.
    """
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if stat.S_ISLNK(mode):
        raise Damaged(path, "a file", f"a link to {os.readlink(path)}", remedy)
    if not stat.S_ISREG(mode):
        raise Damaged(path, "a file", _NO_FILE, remedy)


def _open_to_write(path: StrPath, flags: int) -> int:
    """Open a file to write to it or to cut it; a link is refused, since it may lead out of a store of a stranger.

    Only the last part of the path counts: the store itself may lie behind a link.
    """
    try:
        return _open_file(path, flags | os.O_NOFOLLOW)
    except OSError as error:
        if error.errno == errno.ELOOP and os.path.islink(path):
            found = f"a link to {os.readlink(path)}"
            raise Damaged(path, "a file to write to", found, "Put the file itself in its place") from None
        raise


def _open_file(path: StrPath, flags: int) -> int:
    try:
        fd = os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK, 0o666)
    except OSError as error:
        if error.errno in (errno.ENXIO, errno.ENODEV, errno.EISDIR):  # a pipe nobody reads, a socket, a folder
            raise _no_file(path) from None
        raise
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    raise _no_file(path)


def _no_file(path: StrPath) -> Damaged:
    return Damaged(path, "a file", _NO_FILE, "Move it away, and restore the file from a copy")


def sync(fd: int, path: StrPath) -> None:
    """Wait until what was written through a descriptor is on the medium."""
    _before("fsync", path)
    os.fsync(fd)


def sync_folder(path: StrPath) -> None:
    """Wait until the names in a folder are on the medium."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        sync(fd, path)
    finally:
        os.close(fd)


def sync_file(path: StrPath) -> None:
    """Wait until a file, whoever wrote it, is on the medium."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        sync(fd, path)
    finally:
        os.close(fd)


def sync_file_system(path: StrPath) -> None:
    """Wait until all that was written to the file system of a folder is on the medium.

    For thousands of small files this takes a twentieth of the time that a sync of each does.
    """
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _before("fsync", path)
        try:
            whole = ctypes.CDLL(None, use_errno=True).syncfs
        except AttributeError:  # another system than Linux
            os.sync()
            return
        if whole(fd):
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), os.fspath(path))
    finally:
        os.close(fd)


def temporary_beside(path: StrPath) -> Path:
    """Name a file that no other writer names, in the folder of `path`, hidden from readers."""
    path = Path(path)
    # The name is cut so that a long one stays within the 255 bytes of common file systems.
    return path.with_name(f".{path.name[:_MOST_OF_NAME]}.{os.getpid()}-{os.urandom(4).hex()}{TEMPORARY_SUFFIX}")


def sweep(path: StrPath) -> None:
    """Remove what crashes left of writing a file that nobody but the caller writes; gone ones are fine."""
    path = Path(path)
    if len(path.name) > _MOST_OF_NAME or not path.parent.is_dir():  # a cut name may be that of another file
        return
    for name in os.listdir(path.parent):
        if is_temporary(name) and name.rpartition(".")[0].rpartition(".")[0] == f".{path.name}":
            with contextlib.suppress(FileNotFoundError):  # whoever made it may be at it
                remove_any(path.parent / name)


def is_temporary(name: str) -> bool:
    """Tell whether a name was made by `temporary_beside`: a leftover of a crash once its writer is gone."""
    return name.startswith(".") and name.endswith(TEMPORARY_SUFFIX)


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
        _discard(temporary)
        raise
    if durable and named:
        sync_folder(temporary.parent)


def create(path: StrPath, data: bytes, *, durable: bool = True) -> None:
    """Make a file that must not exist yet; like `replace`, it appears whole or not at all.

    Raises:
        FileExistsError: It does.
    """
    temporary = temporary_beside(path)
    try:
        _write_new(temporary, data, durable=durable)
        _before("rename", path)
        os.link(temporary, path)  # unlike a rename, a link never replaces
    finally:
        _discard(temporary)
    if durable:
        sync_folder(temporary.parent)


def _write_new(path: StrPath, data: bytes, *, durable: bool) -> None:
    _before("create", path)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        _write_all(fd, path, [data])
        if durable:
            sync(fd, path)
    finally:
        os.close(fd)


def _discard(path: StrPath) -> None:
    # An error that led here is the one to report; a leftover is hidden from readers and collected later.
    with contextlib.suppress(OSError):
        remove(path)


def copy(source: StrPath, target: StrPath, *, durable: bool = True) -> None:
    """Copy a file into a new one; the target appears whole or not at all."""
    temporary = temporary_beside(target)
    try:
        _before("create", temporary)
        with open(open_to_read(source), "rb") as reader, open(temporary, "xb") as writer:
            _copy_bytes(reader, writer)
            if durable:
                sync(writer.fileno(), temporary)
        rename(temporary, target)
    except OSError:
        _discard(temporary)
        raise
    if durable:
        sync_folder(Path(target).parent)


def _copy_bytes(reader: BinaryIO, writer: BinaryIO) -> None:
    while block := reader.read(1 << 20):
        _write_all(writer.fileno(), writer.name, [block])


def write_blocks(path: StrPath, blocks: Iterable[bytes | memoryview], *, mode: int = 0o666, durable: bool) -> None:
    """Write a new file block by block; it is in its place at once, so it lies where no reader looks.

    Args:
        path: The file, which must not exist.
        blocks: Its content.
        mode: What may be done with it, less what the process takes away from all files.
        durable: Wait for the medium; else the caller does, for many files at once.
    """
    _before("create", path)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        if _hook is None:
            for block in blocks:
                if os.write(fd, block) != len(block):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), os.fspath(path))
        else:
            for block in blocks:
                _write_all(fd, path, [block])
        if durable:
            sync(fd, path)
    finally:
        os.close(fd)


def reserve(path: StrPath, size: int, *, mode: int = 0o600) -> int:
    """Make a new file of zeros that has all its room, for mapping it; give its descriptor.

    A page that is written through a mapping and has no room would end the process.

    Raises:
        OSError: There is no room, or the name is taken; nothing was made.
    """
    _before("create", path)
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        if _before("write", path, size) is not None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), os.fspath(path))
        os.posix_fallocate(fd, 0, size)
    except BaseException:
        os.close(fd)
        _discard(path)
        raise
    return fd


def clone(source: StrPath, target: StrPath, *, mode: int = 0o666) -> bool:
    """Make a new file that shares the blocks of another until one of them is written; tell whether that is possible."""
    _before("create", target)
    with open(open_to_read(source), "rb") as reader:
        fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        try:
            fcntl.ioctl(fd, _CLONE, reader.fileno())
        except OSError:
            os.unlink(target)
            return False
        finally:
            os.close(fd)
    return True


def rename(source: StrPath, target: StrPath) -> None:
    """Move a file or a folder over `target` in one step."""
    _before("rename", target)
    os.rename(source, target)


def exchange(one: StrPath, other: StrPath) -> None:
    """Let two files or folders of one file system swap their names in one step: nobody sees a moment without either.

    Raises:
        OSError: The kernel or the file system cannot (`ENOSYS`, `EINVAL`), or one of them is not there.
    """
    _before("rename", other)
    try:
        swap = ctypes.CDLL(None, use_errno=True).renameat2
    except AttributeError:  # another system than Linux, or a C library from before 2018
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), os.fspath(other)) from None
    if swap(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), os.fspath(other))


def link(source: StrPath, target: StrPath) -> None:
    """Give a file a second name, instead of what has it; where the file system has no links, a copy of the file."""
    temporary = temporary_beside(target)
    try:
        _before("create", temporary)
        os.link(source, temporary)
    except OSError as error:
        if not cannot_link(error):
            raise
        copy(source, target)
        return
    try:
        rename(temporary, target)
    finally:
        _discard(temporary)  # a rename onto another name of the same file leaves it
    sync_folder(temporary.parent)


def link_new(source: StrPath, target: StrPath) -> None:
    """Give a file a second name that nothing has yet.

    Raises:
        FileExistsError: Something has it.
        OSError: The file system has no links, or no more of this file; see `cannot_link`.
    """
    _before("link", target)
    os.link(source, target)


def link_to(text: str, path: StrPath) -> None:
    """Make a symbolic link that leads where a text says.

    Raises:
        OSError: The file system has none; see `cannot_link`.
    """
    _before("link", path)
    os.symlink(text, path)


def cannot_link(error: OSError) -> bool:
    """Tell whether a link failed because there can be none, so that a copy does instead."""
    return error.errno in _NO_LINKS


def make_folders(path: StrPath, *, durable: bool = True) -> None:
    """Make a folder and the missing ones above it."""
    path = Path(path)
    missing = [path, *path.parents]
    missing = missing[: next((n for n, folder in enumerate(missing) if folder.is_dir()), len(missing))]
    for folder in reversed(missing):
        _before("mkdir", folder)
        try:
            os.mkdir(folder)
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
    _before("mkdir", path)
    os.mkdir(path)


def remove(path: StrPath) -> None:
    """Remove a file; one that is gone already is fine."""
    _before("unlink", path)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def remove_tree(path: StrPath) -> None:
    """Remove a folder and all in it; links are removed, never followed."""
    _before("unlink", path)
    os.unlink(path) if os.path.islink(path) else shutil.rmtree(path)


def remove_any(path: StrPath) -> None:
    """Remove a file or a folder, whichever it is."""
    remove_tree(path) if os.path.isdir(path) and not os.path.islink(path) else remove(path)


def remove_empty(folder: StrPath) -> bool:
    """Remove a folder if nothing is in it; tell whether it went."""
    _before("unlink", folder)
    try:
        os.rmdir(folder)
    except OSError:
        return False
    return True


def truncate(path: StrPath, size: int) -> None:
    """Cut a file to its first `size` bytes, and wait for the medium."""
    fd = _open_to_write(path, os.O_WRONLY)
    try:
        _before("truncate", path)
        os.ftruncate(fd, size)
        sync(fd, path)
    finally:
        os.close(fd)


def patch(path: StrPath, offset: int, data: bytes) -> None:
    """Write over bytes of a file where they are: for the few that may be lost, since others tell the same."""
    fd = _open_to_write(path, os.O_WRONLY)
    try:
        limit = _before("write", path, len(data))
        if os.pwrite(fd, data if limit is None else data[:limit], offset) != len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), os.fspath(path))
        sync(fd, path)
    finally:
        os.close(fd)


def touch(path: StrPath) -> None:
    """Set the modification time of a file to now."""
    _before("touch", path)
    os.utime(path, follow_symlinks=False)


@contextlib.contextmanager
def locked(path: StrPath, *, wait: bool = True, make: bool = False, shared: bool = False) -> Iterator[bool]:
    """Hold a lock on a file, given back by the kernel when the process ends.

    Args:
        path: A file or folder that exists.
        wait: Wait for the lock; else yield False at once where somebody holds it.
        make: Make the file where it is missing; its folder exists.
        shared: Hold it together with others who share it, instead of alone.
    """
    if make:
        fd = _open_to_write(path, os.O_RDONLY | os.O_CREAT)
    else:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        yield _flock(fd, wait=wait, shared=shared)
    finally:
        os.close(fd)


def _flock(fd: int, *, wait: bool, shared: bool = False) -> bool:
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        fcntl.flock(fd, kind if wait else kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class Draft(io.RawIOBase):
    """A new file for a library that writes to file objects: hidden until `commit` puts it in its place whole.

    Args:
        target: Where it will be; its folder exists.
    """

    def __init__(self, target: StrPath) -> None:
        super().__init__()
        self.target = Path(target)
        self._path = temporary_beside(target)
        self._fd = -1
        self._pid = os.getpid()
        _before("create", self._path)
        self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)

    def write(self, data: Any, /) -> int:
        """Write all of the bytes at the current position."""
        view = memoryview(data).cast("B")
        _write_all(self._fd, self._path, [view])
        return len(view)

    def readinto(self, buffer: Any, /) -> int:
        """Read back what was written."""
        return os.readv(self._fd, [buffer])

    def truncate(self, size: int | None = None, /) -> int:
        """Cut or extend the file."""
        size = self.tell() if size is None else size
        _before("truncate", self._path)
        os.ftruncate(self._fd, size)
        return size

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Move the position."""
        return os.lseek(self._fd, offset, whence)

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def writable(self) -> bool:
        """Tell that it can be written."""
        return True

    def seekable(self) -> bool:
        """Tell that the position can move."""
        return True

    def commit(self, *, durable: bool = True, named: bool = True) -> None:
        """Put the file in its place, instead of one that is there.

        Args:
            durable: Also wait for the medium, file and folder.
            named: False where the caller syncs the folder itself, after more files.
        """
        try:
            if durable:
                sync(self._fd, self._path)
            self._let_go()
            rename(self._path, self.target)
        except OSError:
            self.discard()
            raise
        self._pid = 0
        if durable and named:
            sync_folder(self.target.parent)

    def discard(self) -> None:
        """Remove what was written. Discarding twice is fine."""
        self._let_go()
        _discard(self._path)
        self._pid = 0

    def __del__(self) -> None:
        # A signal's exception may come before whoever made the draft could see to it.
        if getattr(self, "_pid", 0) == os.getpid():
            self.discard()

    def close(self) -> None:
        """Do nothing: libraries close what they were given, and `commit` comes after."""

    def _let_go(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class Appender:
    """A file that only grows.

    When `append` returns, the bytes are in the kernel: a kill of the process loses nothing. After `sync`, a power cut
    does not either.

    Args:
        path: The file; made if it is missing.
        exclusive: Be its one writer: refuse with `BlockingIOError` while another holds the file. Writers that share a
            file cannot take a part of an append back, since bytes of others may lie behind it.
    """

    # `_end` is where the append under way will end. It differs from `size` only during one, and after one that raised.
    __slots__ = ("_end", "_exclusive", "_fd", "path", "size")

    def __init__(self, path: StrPath, *, exclusive: bool = True) -> None:
        self.path = os.fspath(path)
        self._exclusive = exclusive
        _before("create", path)
        self._fd = _open_to_write(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        if exclusive and not _flock(self._fd, wait=False):
            self.close()
            raise BlockingIOError(errno.EWOULDBLOCK, "another writer holds this file", self.path)
        self.size = self._end = os.fstat(self._fd).st_size

    def append(self, data: bytes) -> int:
        """Add bytes at the end; all of them or none.

        Returns:
            The offset of the first one.

        Raises:
            OSError: Nothing was added.
        """
        start = self.size
        if _hook is not None or self._end != start:
            return self.append_all([data])
        # The quick way: one call to the kernel, taken by nearly every append.
        self._end = end = start + len(data)
        written = os.write(self._fd, data)
        if written != len(data):
            self._write([memoryview(data)[written:]])
        self.size = end
        return start

    def append_all(self, buffers: Sequence[bytes | memoryview]) -> int:
        """Add several buffers as one; otherwise as `append`."""
        self.settle()
        start = self.size
        self._end = end = start + sum(memoryview(buffer).nbytes for buffer in buffers)
        self._write(buffers)
        self.size = end
        return start

    def _write(self, buffers: Sequence[bytes | memoryview]) -> None:
        try:
            _write_all(self._fd, self.path, buffers)
        except OSError:
            self._end = -1
            # The first error is the one to report; where the cut fails too, the next append tries it again.
            with contextlib.suppress(OSError):
                self.settle()
            raise

    def settle(self) -> None:
        """Bring `size` and the file together after an append that raised; each append begins with it.

        A part of an append is cut off. Where a signal's exception came just after the last byte, the append stays and
        `size` says so: somebody may have read it.
        """
        if self._end == self.size:
            return
        found = os.fstat(self._fd).st_size
        if self._exclusive and self.size < found != self._end:
            _before("truncate", self.path)
            os.ftruncate(self._fd, self.size)
            found = self.size
        self.size = self._end = found

    def is_there(self) -> bool:
        """Tell whether the file still has its name; what is appended to one that was deleted is lost at the end."""
        try:
            return os.path.samestat(os.stat(self.path), os.fstat(self._fd))
        except FileNotFoundError:
            return False

    def sync(self) -> None:
        """Wait until everything appended is on the medium."""
        sync(self._fd, self.path)

    def close(self) -> None:
        """Give the file back; what was appended stays. Closing twice is fine."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __del__(self) -> None:
        # One that an exception left behind must not keep the lock; it may not even have a descriptor yet.
        with contextlib.suppress(AttributeError):
            self.close()
