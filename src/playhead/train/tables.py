"""Tables in training: a loader that gives batches as tensors, and what PyTorch's own `DataLoader` needs."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from playhead.errors import Closed, WrongType
from playhead.train.table_columns import Columns
from playhead.train.table_course import Course, Plan
from playhead.train.table_dataset import TableBatchSampler, TableDataset
from playhead.train.table_feed import Feed

if TYPE_CHECKING:
    from playhead.table import Table

__all__ = ["TableBatchSampler", "TableDataset", "TableLoader"]

# Small batches are made several at a time: the thread then seldom takes the interpreter from who trains.
_BLOCK_ROWS, _BLOCK_BATCHES = 1 << 18, 64


class TableLoader(Course):
    """Batches of a table, epoch after epoch. Iterating gives the rest of the current epoch.

    The order depends on the seed and the epoch alone. Of the order, the first `batch_size * world` rows are the first
    batches of all ranks, and so on, so a job that goes on with another number of ranks, and batches so much larger or
    smaller, sees what it would have seen. `state_dict` says which batch comes next, whatever was made ahead. Of a table
    of which only some shards are in memory, each rank has shards of its own; see docs/tables-training.md.

    A batch is a dict of tensors, one for each column, that nobody writes to again. Of unsigned integers, uint16 comes
    as int32 and uint32 as int64; uint64, for which PyTorch has nothing wider, comes as int64 with the same bits.

    Args:
        table: What to take batches of.
        batch_size: Rows in a batch of one rank.
        seed: Which order; None for no shuffling.
        epoch: The first epoch.
        rank: This process of a job; by default as `torch.distributed` or `torchrun` says.
        world: How many there are.
        device: Where tensors are: `"cpu"`, `"cuda"`, or `"numpy"` for arrays of the table's own types. By default the
            CPU, and NumPy where there is no PyTorch.
        columns: Which columns; by default all.
        drop_last: Leave out the rows at the end that do not fill a batch of every rank.
        prefetch: How many blocks are made ahead in a thread: batches, or up to 64 small ones. 0 for no thread; a table
            on a GPU needs none.
        shuffle: False for the order of the table.
        resident: Whether the table is held on the device, which then gathers the rows; by default on a GPU on which it
            takes at most 80 % of the memory that is free.
    """

    def __init__(
        self,
        table: Table,
        batch_size: int,
        *,
        seed: int | None = 0,
        epoch: int = 0,
        rank: int | None = None,
        world: int | None = None,
        device: Any = None,
        columns: Sequence[str] | None = None,
        drop_last: bool = False,
        prefetch: int = 2,
        shuffle: bool = True,
        resident: bool | None = None,
    ) -> None:
        super().__init__(
            table,
            batch_size,
            seed=seed,
            epoch=epoch,
            rank=rank,
            world=world,
            drop_last=drop_last,
            shuffle=shuffle,
        )
        if device is None:
            device = "cpu" if importlib.util.find_spec("torch") else "numpy"
        self._prefetch = prefetch
        self._columns = Columns(table.dtype, columns, for_torch=device != "numpy")
        self._maker: Any = _Arrays(table, self._columns)
        if device != "numpy":
            from playhead.train import table_device
            from playhead.train.pytorch import torch

            self.device = torch.device(device)
            if self.device.type == "cuda" and not torch.cuda.is_available():
                raise WrongType(f"device={str(device)!r}: this PyTorch sees no GPU; leave device= out to train without")
            if self.device.type == "cuda" and self.device.index is None:  # a thread would have another current one
                self.device = torch.device("cuda", torch.cuda.current_device())
            is_resident = self.device.type == "cuda" and table_device.fits(table, self._columns, self.device)
            if is_resident if resident is None else resident:
                self._maker = table_device.Resident(table, self._columns, self.device)
                self._prefetch = 0 if self.device.type == "cuda" else prefetch  # the device works ahead by itself
            else:
                self._maker = table_device.Sent(table, self._columns, self.device)
        elif resident:
            raise WrongType("arrays of NumPy are on no device: resident= needs device='cuda' or 'cpu'")

    @property
    def is_resident(self) -> bool:
        """Whether the table is held on the device."""
        return hasattr(self._maker, "gather")

    def __iter__(self) -> Iterator[dict[str, Any]]:
        token = self._token = object()
        return self._iterate(token)

    def _iterate(self, token: object) -> Iterator[dict[str, Any]]:
        self._check(token)
        plan, maker = self.plan(), self._maker
        most = max(1, min(_BLOCK_BATCHES, _BLOCK_ROWS // self._size))
        feed: Feed[tuple[Any, int]] = Feed(maker.work(plan, self._next, most), self._prefetch)
        try:
            for made, count in feed:
                self._check(token)
                for batch in _parted(maker.finish(made), count):
                    self._check(token)
                    self._next += 1
                    yield batch
            self._check(token)
            self._begin(self._epoch + 1)
        finally:
            feed.close()

    def _check(self, token: object) -> None:
        if token is not self._token:
            raise Closed(
                "this loader was iterated over anew, or set to another place: an iterator from before has ended"
            )

    def __repr__(self) -> str:
        return f"<TableLoader, epoch {self.epoch}, batch {self._next} of {len(self)}, {self._table!r}>"


class _Arrays:
    """Rows gathered into arrays of NumPy."""

    def __init__(self, table: Table, columns: Columns) -> None:
        self._table, self._columns = table, columns

    def work(self, plan: Plan, start: int, most: int) -> Iterator[tuple[Any, int]]:
        """Give columns: what is done ahead."""
        for places, count in plan.blocks(start, most):
            yield self._columns.pack(self._table.get_batch(places)), count

    def finish(self, made: Any) -> dict[str, Any]:
        """Give columns as they are."""
        return dict(made)


def _parted(columns: dict[str, Any], count: int) -> Iterator[dict[str, Any]]:
    """Cut columns of several batches into batches."""
    if count == 1:
        yield columns
        return
    each = [
        list(values.reshape(count, len(values) // count, *values.shape[1:]))
        if isinstance(values, np.ndarray)
        else values.unflatten(0, (count, values.shape[0] // count)).unbind(0)
        for values in columns.values()
    ]
    for parts in zip(*each, strict=True):
        yield dict(zip(columns, parts, strict=True))
