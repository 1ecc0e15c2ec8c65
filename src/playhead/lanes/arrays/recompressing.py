"""Sealed files made smaller: the same rows under a stronger level, which nobody has time for while recording.

A file is written anew beside the old one, read back and compared chunk by chunk, and only then takes its place. Where
a reel lies in parts, its view first learns the checksums of the new ones: after a crash, it names what is there.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead import disk, owner
from playhead.errors import Damaged
from playhead.journal.writer import LOCK_FILE
from playhead.lanes.arrays import codec, inside, older, sealing
from playhead.lanes.arrays.sealed import Foreign, SealedFile, SealedWriter, Stored, opened
from playhead.layout import ReelFiles

LEVEL = "level"  # what a file says of how it was compressed since it was sealed
_OF_A_FILE = ("rest", LEVEL, owner.FIELD)  # what two files with the same rows may say differently


def recompress(files: ReelFiles, level: int, before: Callable[[], object] = lambda: None) -> int | None:
    """Compress a reel with another level of Zstandard; values, and what HDF5 says of them, stay as they are.

    Args:
        files: The reel; all of it is sealed.
        level: 1 to 19.
        before: Called before the first new file takes its place.

    Returns:
        The bytes that were saved; None where there was nothing to do, or somebody records.

    Raises:
        Damaged: A file is not what was written; it stays as it is.
    """
    with _held(files) as is_mine:
        if not is_mine:
            return None
        try:
            view = opened(files)
        except (FileNotFoundError, Foreign):
            return None
        if "parts" not in view.head:
            return _replaced(files, [files.file], level, None, before)
        count = len(view.head["parts"])
        return _replaced(files, [files.part(number) for number in range(count)], level, count, before)


@contextlib.contextmanager
def _held(files: ReelFiles) -> Iterator[bool]:
    """Be who would record; yields False where somebody does, or has left what is not sealed yet."""
    if files.journal.is_dir():
        disk.remove_empty(files.journal)  # as a crash of ours may have left it
    try:
        disk.make_folder(files.journal)
    except FileExistsError:
        yield False
        return
    lock = disk.Appender(files.journal / LOCK_FILE)
    try:
        yield True
    finally:
        disk.remove_tree(files.journal)
        lock.close()


def _replaced(
    files: ReelFiles, paths: list[Path], level: int, parts: int | None, before: Callable[[], object]
) -> int | None:
    due = [path for path in paths if SealedFile(path).head.get(LEVEL, 0) < level and _has_anything(path)]
    if not due:
        return None
    made: dict[Path, Path] = {}
    try:
        for path in due:
            made[path] = disk.temporary_beside(path)
            _write_anew(path, made[path], level, files)
            _compare(path, made[path])
        size = sum(os.stat(path).st_size for path in due)
        before()
        if parts is not None:
            sealing.write_view(files, parts, also=[SealedFile(path).crc for path in made.values()])
            disk.sync_folder(files.folder)  # before a part is another, or a power cut leaves a view that refuses it
        for path, new in made.items():
            disk.rename(new, path)
    finally:
        for new in made.values():
            disk.remove(new)
    for folder in {path.parent for path in due}:
        disk.sync_folder(folder)
    if parts is not None:
        sealing.write_view(files, parts)
        disk.sync_folder(files.folder)
    return size - sum(os.stat(path).st_size for path in due)


def _has_anything(path: Path) -> bool:
    return any(stored.codec == codec.ZSTD and len(stored.table) for stored in SealedFile(path).datasets.values())


def _write_anew(source: Path, target: Path, level: int, files: ReelFiles) -> None:
    import h5py

    old = SealedFile(source)
    for flaw in old.flaws():  # before the HDF5 library, which may end the process over a damaged file, sees it
        raise flaw
    writer = SealedWriter(target, level)
    try:
        with h5py.File(source, "r") as given:
            for path, stored in old.datasets.items():
                _copy_chunks(old, writer, path, stored, level, given[path].compression_opts)
            _copy_rest(given, writer.file, {*old.datasets})
            if given.attrs.get(older.RUN_ID) == files.id:  # an earlier version did not say it in the head
                is_whole = source == files.file
                said = files.owner(0 if is_whole else int(source.stem), whole=is_whole)
                old.head.setdefault(owner.FIELD, said)
        head = {name: value for name, value in old.head.items() if name != "rest"}
        writer.finish(head | {LEVEL: level})
    except BaseException:
        writer.discard()
        raise


def _copy_chunks(
    old: SealedFile, writer: SealedWriter, path: str, stored: Stored, level: int, gzip_level: int | None
) -> None:
    made = writer.dataset(
        path,
        stored.dtype,
        stored.shape,
        rows=stored.rows,
        chunk=stored.chunk,
        compression=stored.codec,
        level=gzip_level if stored.codec == codec.GZIP else None,
    )
    for place, (offset, size, crc) in enumerate(stored.table.tolist()):
        if size:
            data = old.load(path, offset, size, crc)
            if stored.codec == codec.ZSTD:
                data = min(codec.encode(codec.ZSTD, _decoded(stored, data), level), data, key=len)
            made.write(place * stored.chunk, data)


def _decoded(stored: Stored, data: bytes) -> NDArray[Any]:
    out = np.empty((stored.chunk, *stored.shape), stored.dtype)
    codec.decode(stored.codec, data, out, out.nbytes)
    return out


def _copy_rest(given: Any, made: Any, listed: set[str]) -> None:
    """Copy what is not in the list of chunks: attributes, datasets without bytes, second names of datasets."""
    import h5py

    first: dict[int, str] = {h5py.h5o.get_info(given[path].id).addr: path for path in listed}
    names: list[str] = []
    given.visit_links(names.append)  # unlike `visit`, also second names
    for name in names:
        item = inside.find(given, name)
        if item is None:  # a link to nothing
            continue
        original = first.get(h5py.h5o.get_info(item.id).addr)
        if isinstance(item, h5py.Dataset) and name not in listed:
            if original is None:
                given.copy(name, made, name)
            else:
                made[name] = made[original]
            continue
        made.require_group(name) if isinstance(item, h5py.Group) else None
        for key, value in item.attrs.items():
            made[name].attrs[key] = value
    for key, value in given.attrs.items():
        made.attrs[key] = value


def _compare(source: Path, target: Path) -> None:
    """See that a new file says what the old one says.

    Raises:
        Damaged: It does not.
    """
    old, new = SealedFile(source), SealedFile(target)
    for flaw in new.flaws():
        raise flaw
    told = [{name: value for name, value in file.head.items() if name not in _OF_A_FILE} for file in (old, new)]
    is_same = told[0] == told[1] and old.datasets.keys() == new.datasets.keys()
    for path, stored in old.datasets.items() if is_same else ():
        other = new.datasets[path]
        is_same = is_same and stored[:-1] == other[:-1] and len(stored.table) == len(other.table)
        for mine, theirs in zip(stored.table.tolist(), other.table.tolist(), strict=True):
            is_same = is_same and _same_chunk(old, new, path, stored, mine, theirs)
    if not is_same:
        raise Damaged(target, f"the rows of {source}", "others", "It was not put in its place")


def _same_chunk(old: SealedFile, new: SealedFile, path: str, stored: Stored, mine: Any, theirs: Any) -> bool:
    if not mine[1] or not theirs[1]:
        return bool(mine[1] == theirs[1])
    one, other = old.load(path, *mine), new.load(path, *theirs)
    if stored.codec != codec.ZSTD:
        return one == other
    return _decoded(stored, one).tobytes() == _decoded(stored, other).tobytes()
