"""What PyTorch's own `DataLoader` needs to read a table: a dataset that workers share, and batches in our order."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from playhead.errors import WrongType
from playhead.lanes.rows import memory
from playhead.lanes.rows.held import OneArray, Rows, Shards
from playhead.lanes.rows.spans import Spans
from playhead.train.table_columns import Columns
from playhead.train.table_course import Course, fingerprint

if TYPE_CHECKING:
    from playhead.table import Table


class TableDataset:
    """The rows of a table for a `torch.utils.data.DataLoader`, as dicts of tensors.

        data = table.dataset()
        batches = TableBatchSampler(table, 4096, seed=0)
        DataLoader(data, batch_sampler=batches, collate_fn=data.collate, num_workers=4)

    Forked workers share the memory of the table. Spawned ones share that of `Table.open(path, shared=True)`; of another
    table they map the files, which are the same bytes, but random rows of a file come slower than of memory.

    Args:
        table: The table, or a view of it.
        columns: Which columns; by default all.
    """

    def __init__(self, table: Table, columns: Sequence[str] | None = None) -> None:
        self._table = table
        self._columns = Columns(table.dtype, columns, for_torch=True)

    def __len__(self) -> int:
        """Count the rows."""
        return len(self._table)

    def __getitem__(self, key: int | ArrayLike) -> dict[str, Any]:
        """Give one row, or a batch where there are several numbers."""
        try:
            number = operator.index(key)  # type: ignore[arg-type]
        except TypeError:
            return self.__getitems__(key)  # type: ignore[arg-type]
        return {name: values[0] for name, values in self.__getitems__(np.array([number])).items()}

    def __getitems__(self, numbers: Sequence[int] | NDArray[np.int64]) -> dict[str, Any]:
        """Give a batch, gathered at once."""
        from playhead.train.pytorch import torch

        rows = self._table._rows
        if isinstance(rows, Shards) and rows._most < len(rows.bounds) and torch.utils.data.get_worker_info():
            raise WrongType(
                f"each worker would load shards of {self._table.path} of its own: use table.loader, which reads "
                "ahead in a thread, or Table.open(path, mmap=True)"
            )
        packed = self._columns.pack(self._table.get_batch(np.asarray(numbers)))
        return {name: torch.from_numpy(values) for name, values in packed.items()}

    @staticmethod
    def collate(batch: dict[str, Any]) -> dict[str, Any]:
        """Pass a batch on as it is: `collate_fn` of the `DataLoader`."""
        return batch

    def __getstate__(self) -> dict[str, Any]:
        """Give what a spawned worker needs to find the rows: not the rows."""
        rows, whole = self._table._rows, len(self._table._rows)
        owner = rows.owner if isinstance(rows, OneArray) else None
        spans = self._table.spans
        return {
            "path": str(self._table.path),
            "columns": [column.name for column in self._columns.all],
            "shared": (owner.path, whole * rows.dtype.itemsize) if isinstance(owner, memory.Shared) else None,
            "whole": whole,
            "view": fingerprint(self._table, whole),
            "spans": (spans.starts, spans.stops),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        from playhead.table import Table, opening
        from playhead.table.table import Choice

        opened = opening.look_at(Path(state["path"]))
        if state["shared"] is not None:
            path, size = state["shared"]
            owner = memory.Shared(size, path)
            rows: Rows = OneArray(np.frombuffer(owner.bytes, opened.dtype, state["whole"]), owner)
        else:
            rows = opening.hold(opened, mapped=True)
        table = Table(opened, rows, [Choice("as sent", Spans(*state["spans"]))])
        if len(rows) < state["whole"] or fingerprint(table, state["whole"]) != state["view"]:
            raise WrongType(f"{state['path']} is not the table that was opened: open it again, and begin anew")
        self.__init__(table, state["columns"])  # type: ignore[misc]

    def __repr__(self) -> str:
        return f"<TableDataset of {self._table!r}>"


class TableBatchSampler(Course):
    """The numbers of rows in each batch, in the order of `TableLoader`: `batch_sampler` of a `DataLoader`.

    Iterating gives the rest of the current epoch. A `DataLoader` with workers takes batches before training sees them,
    and `state_dict` counts those that it took; `state_at(epoch, batches)` is the state after those that were seen.

    It takes the arguments of `TableLoader` that say which rows come when: table, batch_size, seed, epoch, rank, world,
    drop_last and shuffle.
    """

    def __iter__(self) -> Iterator[NDArray[np.int64]]:
        for places, count in self.plan().blocks(self._next, 16):
            for part in places.reshape(count, -1):
                self._next += 1
                yield part
        self._begin(self._epoch + 1)
