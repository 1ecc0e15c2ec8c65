"""Whether a table is what was written: every block, every header, and what files and database say of one another."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from playhead import disk
from playhead.catalog.tables import State, TableIndex
from playhead.errors import Damaged, NotFound, StoreTooNew, WrongType
from playhead.lanes.rows import loading, npy
from playhead.layout import TableFolder
from playhead.paths import GivenPath, as_path
from playhead.progress import Watch, watching
from playhead.table import opening
from playhead.table.writing import RUN, STEP

_MOST = 10  # findings of one kind in one file

Runs = NDArray[np.int64]


class Finding(NamedTuple):
    """One thing that is not as it should be.

    Attributes:
        path: The file.
        expected: What should be there.
        found: What is.
        remedy: What to do about it.
        is_harmless: Nothing is lost or wrong by it.
    """

    path: Path
    expected: str
    found: str
    remedy: str
    is_harmless: bool = False


def verify(path: GivenPath, progress: bool | None = None) -> list[Finding]:
    """Check every byte of a table; give what is wrong, nothing where nothing is.

    Args:
        path: Its folder.
        progress: Whether a bar is drawn; by default where there is a terminal and it takes long.

    Raises:
        NotFound: There is no table.
    """
    folder = TableFolder(as_path(path))
    index = TableIndex(folder.database)
    try:
        opening.check_is_there(folder, index)
        while True:
            known = index.read()
            found = list(_of_foreign(folder, index, progress) if known is None else _of_ours(folder, *known, progress))
            again = index.read() if known is not None and not all(one.is_harmless for one in found) else known
            if again is None or known is None or again[0].commit == known[0].commit:
                return [*found, *_in_database(index)]
    except Damaged as error:  # of the database: without it nothing is known of the rest
        return [_of(error), *_in_database(index)]
    except StoreTooNew as error:
        known_here = "a table that this Playhead knows"
        return [Finding(folder.database, known_here, str(error), "Update Playhead"), *_in_database(index)]
    except WrongType as error:
        return [Finding(folder.database, "the type of a row", str(error), opening.AGAIN), *_in_database(index)]


def _of(error: Damaged) -> Finding:
    return Finding(Path(error.path), error.expected, error.found, error.remedy)


def _in_database(index: TableIndex) -> Iterator[Finding]:
    try:
        for flaw in index.flaws():
            yield Finding(index.path, "a sound SQLite database", flaw, opening.AGAIN)
    except Damaged as error:
        yield _of(error)


def _of_ours(
    folder: TableFolder, state: State, checksums: list[NDArray[np.uint64]], progress: bool | None
) -> Iterator[Finding]:
    try:
        opening.renamed(folder, state)
    except Damaged as error:
        yield _of(error)
    yield from _of_manifest(folder, state, checksums)
    runs, first = TableIndex(folder.database).runs.spans(before=state.runs), 0
    dtype = npy.of_description(state.dtype)
    with watching(f"verifying {folder.path.name}", state.rows * dtype.itemsize, progress) as watch:
        for part, sums in zip(state.parts, checksums, strict=True):
            try:
                source = opening.source_of(folder, state, part, sums, is_quick=True)
            except Damaged as error:
                yield _of(error)
            except (NotFound, WrongType) as error:
                yield Finding(folder.part(part.name), f"{part.rows:,} rows of {dtype}", str(error), opening.AGAIN)
            else:
                yield from _of_header(source)
                yield from _in_rows(source, state.block_bytes, runs, first, watch)
            first += part.rows
    yield from _leftovers(folder, state)


def _of_manifest(folder: TableFolder, state: State, checksums: list[NDArray[np.uint64]]) -> Iterator[Finding]:
    try:
        commit = opening.check_manifest(folder, state, checksums)
    except Damaged as error:
        yield _of(error)
        return
    if commit != state.commit:
        found = "none" if commit is None else f"that of commit {commit}, as a crash leaves it"
        yield Finding(folder.manifest, f"that of commit {state.commit}", found, _NEXT, is_harmless=True)


_NEXT = "Nothing is lost by it; the next append mends it"


def _of_header(source: opening.Source) -> Iterator[Finding]:
    size, due = source.path.stat().st_size, source.header.offset + source.size
    if source.header.rows != source.rows:
        found = f"{source.header.rows:,}, as a crash after the commit leaves it"
        yield Finding(source.path, f"{source.rows:,} rows in its header", found, _NEXT, is_harmless=True)
    if size > due:
        found = f"{size:,}: rows that a crash left, or that are being added"
        yield Finding(source.path, f"{due:,} bytes", found, _NEXT, is_harmless=True)


def _in_rows(source: opening.Source, block: int, runs: Runs, first: int, watch: Watch | None) -> Iterator[Finding]:
    """Check the blocks of a file and, on the way, what its rows say of their runs."""
    wrong: list[Finding] = []
    odd = _told_wrong(source, block, runs, first, wrong, watch)
    found = [*islice(odd, _MOST)]
    for _ in odd:  # the rest is read all the same
        pass
    yield from wrong[:_MOST]
    if len(wrong) > _MOST:
        yield wrong[-1]._replace(expected="sound blocks", found=f"{len(wrong) - _MOST:,} more that are damaged")
    if not wrong:  # else it is the damage that speaks
        yield from found


def _told_wrong(
    source: opening.Source, block: int, runs: Runs, first: int, wrong: list[Finding], watch: Watch | None
) -> Iterator[Finding]:
    dtype, row = source.header.dtype, first
    has_words = any(_is_count(dtype, name) for name in (RUN, STEP))
    fd = os.open(source.path, os.O_RDONLY | os.O_CLOEXEC)
    buffer, pending = memoryview(bytearray(min(block, source.size))), b""
    try:
        for number in range(loading.blocks_in(source.size, block)):
            at = source.header.offset + number * block
            view = buffer[: min(block, source.size - number * block)]
            try:
                loading.fill(fd, source.path, at, view)
                if source.sums is not None:
                    loading.check(source.path, at, view, int(source.sums[number]))
            except Damaged as error:
                wrong.append(_of(error))
            if has_words:
                pending += bytes(view)
                rows = np.frombuffer(pending, dtype, len(pending) // dtype.itemsize)
                yield from _against_runs(source, rows, runs, row, first)
                row, pending = row + len(rows), pending[rows.nbytes :]
            if watch is not None:
                watch(len(view))
    finally:
        os.close(fd)


def _is_count(dtype: np.dtype[Any], name: str) -> bool:
    return name in (dtype.names or ()) and dtype[name].kind in "iu"


def _against_runs(source: opening.Source, rows: NDArray[Any], runs: Runs, row: int, first: int) -> Iterator[Finding]:
    """Compare what rows say of their run with what the database says."""
    firsts, stops = runs[:, 1], runs[:, 1] + runs[:, 2]
    some = slice(np.searchsorted(stops, row, "right"), np.searchsorted(firsts, row + len(rows), "left"))
    counts = np.clip(stops[some], row, row + len(rows)) - np.clip(firsts[some], row, row + len(rows))
    if int(counts.sum()) != len(rows):
        yield Finding(source.path, f"runs of rows {row:,} to {row + len(rows):,}", "gaps", opening.AGAIN)
        return
    steps = np.arange(row, row + len(rows)) - np.repeat(firsts[some], counts)
    ids: NDArray[np.int64] = runs[:, 0][some]
    for name, due in ((RUN, np.repeat(ids, counts)), (STEP, steps)):
        if not _is_count(source.header.dtype, name):
            continue
        differs = np.flatnonzero(rows[name] != due)
        if len(differs):
            at = int(differs[0])
            offset = source.header.offset + (row + at - first) * rows.itemsize
            where = f"{name} {int(due[at])} in row {row + at:,} at offset {offset:,}, as metadata.db says"
            found = f"{int(rows[name][at])}, and {len(differs) - 1:,} more"
            if name == STEP and source.sums is not None:
                yield Finding(source.path, where, found, "Nothing, where the sources number their steps so", True)
            else:
                yield Finding(source.path, where, found, opening.AGAIN)


def _leftovers(folder: TableFolder, state: State) -> Iterator[Finding]:
    for name in sorted(set(folder.parts()) - {part.name for part in state.parts}):
        yield Finding(folder.part(name), "no such file", "rows that never counted", _NEXT, is_harmless=True)
    for name in sorted(os.listdir(folder.path)):
        if disk.is_temporary(name):
            found = "a file that was being written when a process ended"
            yield Finding(folder.path / name, "no such file", found, _NEXT, is_harmless=True)


def _of_foreign(folder: TableFolder, index: TableIndex, progress: bool | None) -> Iterator[Finding]:
    if folder.manifest.exists():
        expected = "the state of the table that manifest.json tells of"
        yield Finding(folder.database, expected, "none, as in a table of another program", opening.AGAIN)
    opened = opening.look_at(folder.path)
    remedy = "merge it into a new table, which has some"
    yield Finding(folder.path, "checksums", "none: another program made this table", remedy, is_harmless=True)
    runs, first = index.runs.spans(), 0
    total = sum(source.size for source in opened.sources)
    with watching(f"verifying {folder.path.name}", total, progress) as watch:
        for source in opened.sources:
            yield from _in_rows(source, loading.BLOCK_BYTES, runs, first, watch)
            first += source.rows
