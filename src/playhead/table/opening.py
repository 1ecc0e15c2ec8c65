"""How a table is opened: what its database and its files say, and whether they belong together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead import owner, strictjson
from playhead.catalog.tables import Part, State, TableIndex
from playhead.errors import BadName, Damaged, Misplaced, NotFound, WrongType
from playhead.lanes.rows import loading, memory, npy
from playhead.lanes.rows.held import OneArray, Rows, Shards
from playhead.layout import STEPS, TableFolder, check_name
from playhead.table.writing import NAME, manifest_of

SHARE = 0.9  # of the memory that is free, at most
AGAIN = "Build the table again from its sources, or restore a copy of the whole folder"


@dataclass(frozen=True)
class Source:
    """One file of rows, and what is known of it."""

    path: Path
    header: npy.Header
    rows: int
    sums: NDArray[np.uint64] | None

    @property
    def size(self) -> int:
        """The bytes of its rows."""
        return self.rows * self.header.dtype.itemsize


@dataclass(frozen=True)
class Opened:
    """The files of a table as one commit has them."""

    folder: TableFolder
    index: TableIndex
    state: State
    sources: tuple[Source, ...]
    is_ours: bool

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of a row."""
        return npy.of_description(self.state.dtype)


def look_at(path: Path) -> Opened:
    """Read what a table says of itself.

    Raises:
        NotFound: There is no table.
        Damaged: Its parts do not belong together.
    """
    folder = TableFolder(path)
    index = TableIndex(folder.database)
    try:
        found = index.read()
    except NotFound:
        check_is_there(folder, index)  # which says what is there instead
        raise
    while found is not None:
        try:
            return _ours(folder, index, *found)
        except Damaged:
            index = TableIndex(folder.database)
            before, found = found, index.read()
            if found is None or (found[0] == before[0] and all(map(np.array_equal, found[1], before[1]))):
                raise  # else rows were added, or the table was replaced, meanwhile
    return _foreign(folder, index)


def check_is_there(folder: TableFolder, index: TableIndex) -> None:
    """See that a folder holds a table.

    Raises:
        NotFound: It does not.
    """
    if not folder.path.is_dir():
        raise NotFound(f"no table at {folder.path}: there is no such folder")
    if not index.is_there():
        rows = ", ".join([*folder.parts(), *folder.foreign_parts()][:2]) or "no rows"
        raise NotFound(f"no table at {folder.path}: {rows}, and metadata.db is missing or empty. {_UNFINISHED}")


_UNFINISHED = "A build that was stopped leaves this: build it again; if it was whole, restore metadata.db"


def _ours(folder: TableFolder, index: TableIndex, state: State, checksums: list[NDArray[np.uint64]]) -> Opened:
    renamed(folder, state)
    check_manifest(folder, state, checksums)
    parts = zip(state.parts, checksums, strict=True)
    return Opened(folder, index, state, tuple(source_of(folder, state, part, sums) for part, sums in parts), True)


def renamed(folder: TableFolder, state: State) -> str | None:
    """See that a table of a store is the one that the name of its folder says.

    Returns:
        The name that it says, where its folder was renamed; nothing where it says none, or lies outside of a store.

    Raises:
        Misplaced: The table of the name that it says is there too: two were swapped, or one was copied.
    """
    name, said = folder.name, state.owner.get(NAME)
    if name is None or said is None or name == said:
        return None
    if not isinstance(said, str) or not _is_free(folder, said):
        raise Misplaced(folder.path, owner.spelled({NAME: name}), owner.spelled({NAME: said}), _BACK)
    return said


_BACK = "Put the folders back under their own names. To copy a table, use Table.merge([table], new_folder)"


def _is_free(folder: TableFolder, name: str) -> bool:
    """Tell whether the name is free, so that the table may have been renamed by hand."""
    try:
        return not folder.sibling(check_name(name, "name of a table")).path.exists()
    except BadName:
        return False


def source_of(
    folder: TableFolder, state: State, part: Part, sums: NDArray[np.uint64], *, is_quick: bool = False
) -> Source:
    """Look at a file of rows: whether it is that of the database.

    Args:
        folder: The table.
        state: What its database says.
        part: Which file.
        sums: Its checksums.
        is_quick: Look at no rows. Else a database of another table is noticed at once, also where nothing is loaded.

    Raises:
        Damaged: It is not.
    """
    file = folder.part(part.name)
    header = npy.read(file)
    if npy.described(header.dtype) != state.dtype:
        raise Damaged(file, f"rows of {state.dtype}", str(header.dtype), AGAIN)
    npy.check_count(file, header, part.rows)
    source = Source(file, header, part.rows, sums)
    count = loading.blocks_in(source.size, state.block_bytes)
    if len(sums) != count:
        raise Damaged(folder.database, f"{count} checksums of {part.name}", str(len(sums)), AGAIN)
    if count and not is_quick:
        loading.check_some(file, header, source.size, sums, sorted({0, count - 1}), state.block_bytes)
    return source


def check_manifest(folder: TableFolder, state: State, checksums: list[NDArray[np.uint64]]) -> int | None:
    """See that the manifest is of this table; one of an earlier commit is what a crash leaves.

    Returns:
        The number of its commit; None where there is no manifest.
    """
    try:
        said = strictjson.decode(folder.manifest.read_bytes())
        commit, rows, runs, dtype = int(said["commit"]), int(said["rows"]), int(said["runs"]), said["dtype"]
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise Damaged(folder.manifest, "the manifest of a table", str(error), _REMOVE) from error
    if commit == state.commit:
        due = {name: value for name, value in manifest_of(state, checksums).items() if name != "built"}
        is_right = all(said.get(name) == due[name] for name in due if name in said or name not in _LATER)
    else:
        is_right = commit < state.commit and rows <= state.rows and runs <= state.runs and dtype == state.dtype
    if not is_right:
        expected = f"commit {state.commit} with {state.rows:,} rows of {state.runs:,} runs, as metadata.db says"
        raise Damaged(folder.manifest, expected, f"commit {commit} with {rows:,} of {runs:,}", _OTHER)
    return commit


_LATER = ("num_steps", "num_runs", "created", owner.FIELD)  # which earlier versions did not write
_OTHER = "One of the two is of another table: if steps.npy and metadata.db are right, remove manifest.json"
_REMOVE = "metadata.db says the same: remove this file, and the next append writes it again"


def _foreign(folder: TableFolder, index: TableIndex) -> Opened:
    """Take a table that another program made: nobody knows its checksums."""
    names = [STEPS] if folder.steps.exists() else folder.foreign_parts()
    if not names:
        raise NotFound(f"no rows at {folder.path}: metadata.db is there, and steps.npy is not")
    sources = []
    for name in names:
        header = npy.read(folder.path / name)
        npy.check_size(folder.path / name, header, header.rows)
        sources.append(Source(folder.path / name, header, header.rows, None))
    if len({source.header.dtype for source in sources}) > 1:
        raise WrongType(f"{folder.path}: its files hold rows of different types")
    spans = index.runs.spans()
    runs = int(spans[:, 0].max()) + 1 if len(spans) else 0
    total, covered = sum(source.rows for source in sources), int(spans[:, 2].sum())
    if covered != total:
        raise Damaged(folder.database, f"runs of {total:,} steps, as the rows say", f"{covered:,}", AGAIN)
    parts = tuple(Part(name, source.rows) for name, source in zip(names, sources, strict=True))
    dtype = npy.described(sources[0].header.dtype)
    return Opened(folder, index, State(0, dtype, loading.BLOCK_BYTES, parts, runs), tuple(sources), False)


def hold(
    opened: Opened,
    *,
    mapped: bool = False,
    shared: bool = False,
    cached: int | None = None,
    threads: int | None = None,
    watch: loading.Watch | None = None,
) -> Rows:
    """Make the rows of a table ready to be taken.

    Args:
        opened: The table.
        mapped: Map the files, and read nothing.
        shared: Into memory that other processes can share.
        cached: Where there are shards, how many may be in memory; None for all that fit.
        threads: How many read.
        watch: Told of progress.

    Raises:
        MemoryError: There is not enough of it; says what to do.
    """
    dtype, total = opened.dtype, sum(source.size for source in opened.sources)
    if mapped:
        arrays = [_mapped(source, dtype) for source in opened.sources]
        return (
            arrays[0]
            if len(arrays) == 1
            else Shards([len(one) for one in arrays], dtype, arrays.__getitem__, len(arrays))
        )
    free = memory.available()
    if len(opened.sources) > 1 and (cached is not None or total > free * SHARE):
        largest = max(source.size for source in opened.sources)
        most = min(len(opened.sources), int(free * SHARE // largest) if cached is None else max(1, cached))
        if most * largest > free * SHARE or not most:
            raise MemoryError(_too_large(opened, largest, free))

        def load(number: int) -> OneArray:
            opened.index.file.check_folder()
            return _loaded([opened.sources[number]], opened, shared=shared, threads=threads, watch=None)

        return Shards([source.rows for source in opened.sources], dtype, load, most)
    if total > free * SHARE:
        raise MemoryError(_too_large(opened, total, free))
    return _loaded(opened.sources, opened, shared=shared, threads=threads, watch=watch)


def _too_large(opened: Opened, size: int, free: int) -> str:
    return (
        f"{opened.folder.path} needs {size / 1e9:.1f} GB of memory and {free / 1e9:.1f} GB are free: open it with "
        "mmap=True to look around, or build it with shard_bytes= so that a few shards at a time are loaded"
    )


def _mapped(source: Source, dtype: np.dtype[Any]) -> OneArray:
    if not source.rows:
        return OneArray(np.empty(0, dtype))
    return OneArray(np.memmap(source.path, dtype, "r", source.header.offset, (source.rows,)).view(np.ndarray))


def _loaded(
    sources: Iterable[Source],
    opened: Opened,
    *,
    shared: bool,
    threads: int | None,
    watch: loading.Watch | None,
) -> OneArray:
    sources = list(sources)
    size = sum(source.size for source in sources)
    owner = memory.Shared(size) if shared else memory.private(size)
    whole = owner.bytes if isinstance(owner, memory.Shared) else memoryview(owner)

    def claim(start: int, stop: int) -> None:
        if isinstance(owner, memory.Shared):
            owner.claim(at + start, at + stop)

    at = 0
    for source in sources:
        if source.size:
            into = whole[at : at + source.size]
            loading.load(
                source.path,
                source.header,
                into,
                source.sums,
                block_bytes=opened.state.block_bytes,
                threads=threads,
                claim=claim,
                watch=watch,
            )
        at += source.size
    return OneArray(np.frombuffer(whole, opened.dtype, size // opened.dtype.itemsize), owner)
