"""Handing out files of a version: each is hashed as it arrives, and none is seen before all are right."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from playhead import disk
from playhead.errors import BadName, Damaged, Exists
from playhead.lanes.files import parallel, sharing
from playhead.lanes.files.entries import FileEntry
from playhead.lanes.files.manifest import Manifest
from playhead.lanes.files.pool import Pool, Watch, blocks_of, digest_of, size_of
from playhead.layout import VersionFolder, windows_problems

_REMEDY = "Save the files again, or restore the store from a copy; playhead verify finds all that is damaged"


def copies(pool: Pool, folder: VersionFolder, entry: FileEntry) -> Iterator[str]:
    """Name the places where a file of a version lies: in the pool, and where that is another file, in the version."""
    blob = pool.folder.blob(entry.sha256)
    is_in_pool = size_of(blob) is not None
    if is_in_pool:
        yield blob
    own = sharing.file_of(folder, entry.path)
    if own is not None and size_of(own) is not None and not (is_in_pool and os.path.samefile(blob, own)):
        yield str(own)


def check(pool: Pool, folder: VersionFolder, entry: FileEntry, watch: Watch | None = None) -> Path:
    """Give a place where a file is as it was saved.

    Raises:
        Damaged: It is nowhere.
    """
    for path in copies(pool, folder, entry):
        if digest_of(path, watch) == entry.sha256:
            return Path(path)
    raise damage(pool, folder, entry)


def damage(pool: Pool, folder: VersionFolder, entry: FileEntry) -> Damaged:
    """Say what is wrong with a file of a version, no copy of which is right."""
    found = next(copies(pool, folder, entry), None)
    what = f"{entry.size} bytes with the SHA-256 {entry.sha256[:12]}… ({entry.path} of {folder.path})"
    if found is None:
        return Damaged(pool.path(entry.sha256), what, "no file", _REMEDY)
    return Damaged(found, what, f"{os.path.getsize(found)} bytes with another", _REMEDY)


def hand_out(
    pool: Pool,
    folder: VersionFolder,
    manifest: Manifest,
    target: Path,
    *,
    link: bool,
    overwrite: bool,
    watch: Watch | None = None,
) -> None:
    """Write the files of a version into a folder.

    Raises:
        Damaged: One of them is not what was saved; the folder is as it was.
        Exists: A file of another content has the name of one.
        BadName: The file system of the folder cannot hold them.
    """
    if target.exists() and not target.is_dir():
        raise Exists(f"{target} is there, and is no folder; choose another folder")
    wanted = [entry for entry in manifest.files if not _is_there(target, entry, overwrite=overwrite)]
    disk.make_folders(target.parent, durable=False)
    with _staging(target) as staging:
        for name in _folders(manifest):
            disk.make_folders(staging / name, durable=False)

        writer = _Writer(pool, folder, str(staging), link, frozenset(manifest.executables), watch)
        with _named_problems(manifest, target):
            parallel.each(wanted, lambda entry: entry.size, writer.write)
            _move(staging, target, wanted, manifest)


def _is_there(target: Path, entry: FileEntry, *, overwrite: bool) -> bool:
    """Tell whether a file is there already, as it should be."""
    path = f"{target}/{entry.path}"
    if not os.path.lexists(path):
        return False
    if os.path.isfile(path) and os.path.getsize(path) == entry.size and digest_of(path) == entry.sha256:
        return True
    if overwrite and not os.path.isdir(path):
        return False
    raise Exists(f"{path} is there, with another content; choose another folder, or pass overwrite=True to replace it")


@contextlib.contextmanager
def _staging(target: Path) -> Iterator[Path]:
    """Make a hidden folder in a folder that is there, which may be another disk or all that is ours; else beside it."""
    staging = disk.temporary_beside(target / target.name if target.exists() else target)
    disk.make_folder(staging)
    try:
        yield staging
    finally:
        if staging.exists():
            disk.remove_tree(staging)


class _Writer:
    """Writes files of a version into a folder that nobody sees yet.

    Args:
        pool: Where they come from.
        folder: The version.
        staging: Where they go.
        link: Give the pool's own files.
        executables: The paths of those that can be run.
        watch: Is told of bytes as they are done.
    """

    def __init__(
        self,
        pool: Pool,
        folder: VersionFolder,
        staging: str,
        link: bool,
        executables: frozenset[str],
        watch: Watch | None,
    ) -> None:
        self._pool = pool
        self._folder = folder
        self._staging = staging
        self._link = link
        self._executables = executables
        self._watch = watch
        self._can_clone = True

    def write(self, entry: FileEntry) -> None:
        """Write one file, from a place where it is right."""
        target = f"{self._staging}/{entry.path}"
        for source in copies(self._pool, self._folder, entry):
            if self._link:
                if digest_of(source, self._watch) == entry.sha256:
                    _link(source, target)
                    return
            elif self._copy(source, target, 0o777 if entry.path in self._executables else 0o666) == entry.sha256:
                return
            else:
                disk.remove(target)
        raise damage(self._pool, self._folder, entry)

    def _copy(self, source: str, target: str, mode: int) -> str:
        """Copy a file, or share its blocks, and give the SHA-256 of what arrived."""
        self._can_clone = self._can_clone and disk.clone(source, target, mode=mode)
        if self._can_clone:
            return digest_of(target, self._watch)
        digest = hashlib.sha256()

        def hashed() -> Iterator[memoryview]:
            for block in blocks_of(source, self._watch):
                digest.update(block)
                yield block

        disk.write_blocks(target, hashed(), mode=mode, durable=False)
        return digest.hexdigest()


def _link(source: str, target: str) -> None:
    try:
        disk.link_new(source, target)
    except OSError as error:
        if not disk.cannot_link(error):
            raise
        disk.copy(source, target, durable=False)


def _folders(manifest: Manifest) -> list[str]:
    return sorted({*manifest.folders, *(entry.path.rpartition("/")[0] for entry in manifest.files)} - {""})


def _move(staging: Path, target: Path, wanted: Sequence[FileEntry], manifest: Manifest) -> None:
    """Put what was written in its place: the whole folder, where there is none yet, else file by file."""
    if not target.exists():
        disk.rename(staging, target)
        return
    for name in _folders(manifest):
        disk.make_folders(target / name, durable=False)
    for entry in wanted:
        disk.rename(f"{staging}/{entry.path}", f"{target}/{entry.path}")


@contextlib.contextmanager
def _named_problems(manifest: Manifest, target: Path) -> Iterator[None]:
    """Say which names a file system refuses, where it is one of those that refuse some."""
    try:
        yield
    except OSError as error:
        refused = (errno.EINVAL, errno.ENAMETOOLONG, errno.EEXIST, errno.EILSEQ)
        if isinstance(error, Exists) or error.errno not in refused:
            raise
        problems = list(windows_problems(entry.path for entry in manifest.files))[:5] or [str(error)]
        raise BadName(f"{target} lies on a file system that cannot hold these files: {'; '.join(problems)}") from error
