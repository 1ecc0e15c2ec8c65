"""How rows and runs are added to a table, and made to count by one commit.

Until the commit of the database nobody sees them. The headers of the files, which NumPy reads, and `manifest.json`
follow the commit, and never lead it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead import clock, disk, strictjson
from playhead.catalog.tables import LATER, ORIGINAL, PLACE, VERSION, End, Part, State, TableIndex
from playhead.errors import Closed, Exists, Forked, NotFound, StoreLocked, WrongShape, WrongType
from playhead.lanes.rows import npy
from playhead.lanes.rows.loading import BLOCK_BYTES
from playhead.lanes.rows.writing import RowsWriter
from playhead.layout import STEPS, TableFolder
from playhead.owner import FIELD

RUN, STEP = "run_id", "step_index"
ID, NAME = "id", "table"  # what the owner of a table says


class TableWriter:
    """Adds rows, and the runs that they are of, to a table; a context manager that commits where nothing was raised.

    Args:
        folder: The table; its database is made by the first commit.
        dtype: Of a row; None for that of the table.
        columns: What is known of a run, by the name and type of the database's column, if it is made; the runs of a
            table of an earlier version get those that came later.
        shard_bytes: Begin another file where one would grow past this; None keeps all rows in one, or does as the
            table that is there.
        built: How the rows are made, as JSON.

    Raises:
        StoreLocked: Somebody else is adding.
        WrongType: The table is there and has other rows, or another program made it.
    """

    def __init__(
        self,
        folder: TableFolder,
        dtype: np.dtype[Any] | None = None,
        columns: Mapping[str, str] | None = None,
        *,
        shard_bytes: int | None = None,
        built: Mapping[str, Any] | None = None,
    ) -> None:
        self._folder = folder
        self._index = TableIndex(folder.database)
        self._stack = contextlib.ExitStack()
        if not self._stack.enter_context(disk.locked(folder.path, wait=False)):
            self._stack.close()
            raise StoreLocked(f"another process is adding rows to {folder.path}; wait until it is done")
        try:
            is_new = not self._index.is_there()
            self._columns = dict(columns or {}) if is_new else None  # of the database that the commit makes
            self._more: dict[str, str] = {}
            if is_new:
                self._end = End(self._new_state(dtype, shard_bytes, built), frozenset({*PLACE, *(columns or {})}), 0, 0)
            else:
                self._end = self._old_end(dtype, shard_bytes)
                has = self._end.columns
                self._more = {name: LATER[name] for name in LATER if name in (columns or {}) and name not in has}
                self._end = self._end._replace(columns=has | self._more.keys())
            self.state = self._end.state
            self.dtype = npy.of_description(self.state.dtype)
            size = self.state.shard_bytes
            self._shard_rows = None if size is None else max(1, size // self.dtype.itemsize)
            self._parts = list(self.state.parts)
            self._runs: list[dict[str, Any]] = []
            self._open: dict[int, RowsWriter] = {}
            self._written: dict[int, RowsWriter] = {}
            self._collect()
            self._next_run, self._next_row = self.state.runs, self.state.rows
            self._begun = 0  # rows of a run that is yet to come
        except BaseException:
            self._stack.close()
            raise
        self._is_over, self._is_committed = False, False
        self._pid = os.getpid()

    def _new_state(
        self, dtype: np.dtype[Any] | None, shard_bytes: int | None, built: Mapping[str, Any] | None
    ) -> State:
        if dtype is None:
            raise NotFound(f"no table at {self._folder.path} to add rows to: build one first")
        described = npy.described(npy.checked(dtype))
        owner = owner_of(self._folder)
        return State(0, described, BLOCK_BYTES, (), 0, dict(built or {}), shard_bytes, owner, clock.now())

    def _old_end(self, dtype: np.dtype[Any] | None, shard_bytes: int | None) -> End:
        end = self._index.end()
        if end is None:
            raise WrongType(f"another program made {self._folder.path}; merge it into a new table, and add rows there")
        state = end.state
        if dtype is not None and npy.described(npy.checked(dtype)) != state.dtype:
            raise WrongType(f"{self._folder.path} has rows of {state.dtype}, and not {dtype}")
        if shard_bytes is not None and shard_bytes != state.shard_bytes:
            raise WrongType(f"{self._folder.path} was built with shard_bytes={state.shard_bytes}, and stays so")
        return end

    def _collect(self) -> None:
        """Remove files of rows that never counted, which a crash left; those that did are not ours to remove."""
        for name in set(self._folder.parts()) - {part.name for part in self._parts}:
            path = self._folder.part(name)
            if path.stat().st_size > npy.ALIGNED and not npy.is_blank(path) and npy.read(path).rows:
                raise Exists(f"{path} holds rows that metadata.db does not know; restore that file, or remove this one")
            disk.remove(path)

    def __enter__(self) -> TableWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.commit()
        else:
            self.abandon()

    def add(self, rows: NDArray[Any], runs: Sequence[Mapping[str, Any]]) -> None:
        """Add the rows of some runs, one behind the other; they get the next ids.

        Args:
            rows: Of the type of the table; its column `run_id`, if there is one, is filled in here.
            runs: For each run `num_steps`, and what else is known of it; none where the rows are the first ones of a
                run that comes with the rest of its rows later.
        """
        self._check_usable()
        if rows.dtype != self.dtype or rows.ndim != 1:
            raise WrongType(f"rows are {self.dtype}, one behind the other, not {rows.dtype}{list(rows.shape)}")
        counts = np.array([run["num_steps"] for run in runs], np.int64)
        if len(counts):
            counts[0] -= self._begun
        else:
            counts = np.array([len(rows)], np.int64)
        if int(counts.sum()) != len(rows) or (counts < 0).any():
            raise WrongShape(f"{len(rows):,} rows were given for runs of {int(counts.sum()):,} steps")
        for name in {name for run in runs for name in run} - self._end.columns - {ORIGINAL}:
            raise NotFound.among("column of runs", name, sorted(self._end.columns))
        if RUN in (self.dtype.names or ()):
            last = self._next_run + len(counts) - 1
            if self.dtype[RUN].kind not in "iu" or last > np.iinfo(self.dtype[RUN]).max:
                raise WrongType(f"run {last:,} does not fit {RUN}, which is {self.dtype[RUN]}")
            rows[RUN] = np.repeat(np.arange(self._next_run, last + 1, dtype=np.int64), counts)
        self._begun = 0 if runs else self._begun + len(rows)
        for run in runs:
            place = {"id": self._next_run, "first_step_idx": self._next_row}
            self._runs.append(dict(run) | place)
            self._next_run += 1
            self._next_row += int(run["num_steps"])
        try:
            self._put(rows)
        except BaseException:  # some of them may be there: nothing of this writer can count any more
            self.abandon()
            raise

    def _check_usable(self) -> None:
        if os.getpid() != self._pid:
            raise Forked("rows are added by the process that opened the writer; this one was forked from it")
        if self._is_over:
            raise Closed(
                "the rows were committed" if self._is_committed else "nothing was committed, and never will be"
            )

    def _put(self, rows: NDArray[Any]) -> None:
        while len(rows):
            number = max(0, len(self._parts) - 1)
            used = self._parts[number].rows if self._parts else 0
            if not self._parts or (self._shard_rows is not None and used >= self._shard_rows):
                self._new_part()
                continue
            room = len(rows) if self._shard_rows is None else min(len(rows), self._shard_rows - used)
            writer = self._writer(number)
            writer.add(rows[:room])
            self._parts[number] = replace(self._parts[number], rows=writer.rows)
            rows = rows[room:]

    def _new_part(self) -> None:
        for number, writer in list(self._open.items()):
            writer.finish()
            self._written[number] = self._open.pop(number)
        name = STEPS if self._shard_rows is None else self._folder.shard(len(self._parts))
        self._parts.append(Part(name, 0))

    def _writer(self, number: int) -> RowsWriter:
        if number not in self._open:
            part = self._parts[number]
            # One that has rows is the last file of the table as it was.
            before = (part.rows, self._end.blocks, self._end.checksum) if part.rows else ()
            path = self._folder.part(part.name)
            self._open[number] = RowsWriter(path, self.dtype, self.state.block_bytes, *before)
        return self._open[number]

    def commit(self) -> State:
        """Make all that was added count, at once. Committing twice is fine."""
        if self._is_committed:
            return self.state
        self._check_usable()
        if self._begun:
            self.abandon()
            raise WrongShape(f"{self._begun:,} rows were added, and the run that they are of was not")
        try:
            if not self._parts:
                self._new_part()
                self._writer(0)
            for writer in self._open.values():
                writer.finish()
            changed = self._written | self._open
            for parent in {writer.path.parent for writer in changed.values()}:
                disk.sync_folder(parent)
            sums = {(part, number): sum_ for part, writer in changed.items() for number, sum_ in writer.sums.items()}
            state = replace(self.state, commit=self.state.commit + 1, parts=tuple(self._parts), runs=self._next_run)
            self._index.commit(state, self._runs, sums, columns=self._columns, more=self._more)
            self.state, self._is_committed = state, True
            self._tell_others()
        finally:
            self.abandon()
        return self.state

    def _tell_others(self) -> None:
        """Let headers and manifest follow the commit; also headers that a crash left behind an earlier one."""
        try:
            for part in self.state.parts:
                path = self._folder.part(part.name)
                if npy.read(path).rows != part.rows:
                    disk.patch(path, *npy.count_in(npy.header(self.dtype, part.rows)))
            self._index.settle()
            disk.sweep(self._folder.manifest)
            write_manifest(self._folder, self.state, self._index)
        except OSError as error:
            error.add_note("The rows were committed and count; headers and manifest.json follow at the next append")
            raise

    def abandon(self) -> None:
        """Let go; what was added and not committed is not there."""
        self._is_over = True
        if os.getpid() != self._pid:
            return  # the lock and the files are those of the parent
        for writer in self._open.values():
            writer.close()
        self._stack.close()


def manifest_of(state: State, checksums: Sequence[NDArray[np.uint64]]) -> dict[str, Any]:
    """Give what the manifest says of a commit."""
    parts = [
        {"name": part.name, "rows": part.rows, "xxh3": sums.astype(">u8").tobytes().hex(" ", 8).split()}
        for part, sums in zip(state.parts, checksums, strict=True)
    ]
    return {
        "version": VERSION,
        "commit": state.commit,
        "dtype": state.dtype,
        "rows": state.rows,
        "runs": state.runs,
        "block_bytes": state.block_bytes,
        "files": parts,
        "built": strictjson.plain(state.built),
        "num_steps": state.rows,  # these three as the programs of the seed write them
        "num_runs": state.runs,
        **({} if state.created is None else {"created": datetime.fromtimestamp(state.created, UTC).isoformat()}),
        **({FIELD: state.owner} if state.owner else {}),
    }


def owner_of(folder: TableFolder, known: str | None = None) -> dict[str, str]:
    """Say which table it is: a random id, and where it lies in a store, its name.

    Args:
        folder: It.
        known: The id that it has already.
    """
    named = {} if folder.name is None else {NAME: folder.name}
    return {ID: known or os.urandom(8).hex(), **named}


def sign_again(path: Path) -> None:
    """Let a table that was renamed by hand say its new name.

    Raises:
        StoreLocked: Somebody adds rows to it.
    """
    folder = TableFolder(path)
    with TableWriter(folder) as writer:
        writer.state = replace(writer.state, owner=owner_of(folder, writer.state.owner.get(ID)))


def write_manifest(folder: TableFolder, state: State, index: TableIndex) -> None:
    """Write down for others what the database says."""
    disk.replace(folder.manifest, strictjson.encode(manifest_of(state, index.blocks(len(state.parts)))))
