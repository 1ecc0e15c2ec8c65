"""Which rows come in which batch: the order of an epoch, the share of a rank, and where training is in it."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from playhead.errors import WrongType
from playhead.lanes.rows import loading, npy
from playhead.lanes.rows.held import Shards
from playhead.order import Order

if TYPE_CHECKING:
    from playhead.table import Table
    from playhead.table.opening import Source

Places = NDArray[np.int64]


class ShardOrder:
    """The rows of one rank where only some shards fit into memory: shards by chance, rows by chance within a window.

    Shards come in a random order, the same on all ranks. That sequence of rows is cut into as many stretches of the
    same length as there are ranks. A rank goes through its stretch in windows of a few shards: the rows of a window
    come in a random order, and all of them before any row of the next window.

    Args:
        edges: The first row of each shard, and the number of rows.
        window: Shards in a window.
        rank: This process.
        world: How many there are.
        key: Seed and epoch.
    """

    def __init__(self, edges: Places, window: int, rank: int, world: int, *key: int) -> None:
        chosen = Order(len(edges) - 1, *key, 1)[np.arange(len(edges) - 1)]
        starts, sizes = edges[:-1][chosen], np.diff(edges)[chosen]
        ends, total = np.cumsum(sizes), int(edges[-1])
        low, high = total * rank // world, total * (rank + 1) // world
        first = np.clip(low - (ends - sizes), 0, sizes)  # of each shard: what of it is mine
        last = np.clip(high - (ends - sizes), 0, sizes)
        mine = last > first
        self._starts, self._sizes = (starts + first)[mine], (last - first)[mine]
        self._ends = np.cumsum(self._sizes)
        self._borders = np.append(self._ends[window - 1 :: window], self._ends[-1:])
        self._borders = np.unique(np.append(0, self._borders))
        self._low, self._key = low, key
        self._orders: dict[int, Order] = {}
        self.n = high - low

    def __getitem__(self, positions: Places) -> Places:
        """Give the rows at some positions of this rank."""
        places = np.empty_like(positions)
        of = np.searchsorted(self._borders, positions, "right") - 1
        for number in np.unique(of).tolist():
            mine = of == number
            start, stop = int(self._borders[number]), int(self._borders[number + 1])
            if number not in self._orders:
                self._orders = {number: Order(stop - start, *self._key, 2, self._low + start)}
            within = self._orders[number][positions[mine] - start] + start
            piece = np.searchsorted(self._ends, within, "right")
            places[mine] = within - (self._ends - self._sizes)[piece] + self._starts[piece]
        return places


class Plan:
    """The batches of one rank in one epoch.

    Args:
        order: Position to row.
        size: Rows of a batch.
        first: The position at which batch 0 begins.
        stride: Positions from one batch to the next.
        limit: Where positions end.
        steps: Batches in this epoch; of a rank that has fewer, the last is empty.
    """

    def __init__(
        self, order: Order | ShardOrder | None, size: int, first: int, stride: int, limit: int, steps: int
    ) -> None:
        self.order, self.stride = order, stride
        self._size, self._first, self._limit = size, first, limit
        self.steps = steps

    def __len__(self) -> int:
        """Count the batches that have rows."""
        return min(self.steps, max(0, -(-(self._limit - self._first) // self.stride)))

    def pieces(self, start: int, most: int) -> Iterator[tuple[int, int, int]]:
        """Give what is made at a time, from a batch on: its first position, batches, few at first, and their rows."""
        whole = min(self.steps, max(0, (self._limit - self._first - self._size) // self.stride + 1))
        count = 1
        while start < whole:
            count = min(count, whole - start)
            yield self._first + start * self.stride, count, self._size
            start, count = start + count, min(2 * count, most)
        if start < len(self):
            first = self._first + start * self.stride
            yield first, 1, self._limit - first

    def blocks(self, start: int, most: int) -> Iterator[tuple[Places, int]]:
        """Give the rows of some batches at a time, and how many batches these are."""
        for first, count, size in self.pieces(start, most):
            positions = (first + np.arange(count)[:, None] * self.stride + np.arange(size)).reshape(-1)
            yield (positions if self.order is None else self.order[positions]), count


class Course:
    """Where training is in a table: counted in rows of all ranks, which any number of ranks can go on from.

    The arguments are described at `TableLoader`.
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
        drop_last: bool = False,
        shuffle: bool = True,
    ) -> None:
        rank, world = place_in_job(rank, world)
        if not isinstance(batch_size, (int, np.integer)):
            raise WrongType(f"a batch has a whole number of rows, not {batch_size!r}")
        if batch_size < 1 or not 0 <= rank < world:
            raise WrongType(f"a batch has at least one row, and ranks count from 0 to {world - 1}, not {rank}")
        self._table, self._size, self._rank, self._world = table, batch_size, rank, world
        self._seed = seed if shuffle else None
        self._drop_last = drop_last
        rows = table._rows
        self._window = rows._most if isinstance(rows, Shards) and rows._most < len(rows.bounds) else None
        self._token = object()
        self._sign: tuple[int, str] | None = None
        self._old = (0, "")  # what a state said of a table that has grown since
        self._resumed: tuple[int, int] | None = None  # the epoch that was gone on with, and its rows
        self._begin(epoch)

    def _begin(self, epoch: int, position: int = 0, length: int | None = None) -> None:
        self._epoch, self._next = epoch, position
        self._length = len(self._table) if length is None else length
        self._token = object()  # whoever still iterates has to notice

    @property
    def epoch(self) -> int:
        """The current epoch; setting it begins that one."""
        return self._epoch

    @epoch.setter
    def epoch(self, epoch: int) -> None:
        self._resumed = None
        self._begin(epoch)

    def __len__(self) -> int:
        """Count the batches of this rank in a whole epoch."""
        return len(self.plan())

    def plan(self) -> Plan:
        """Give the batches of the current epoch."""
        size, rank, world, n = self._size, self._rank, self._world, self._length
        everyone = size * world
        steps = n // everyone if self._drop_last else -(-n // everyone)
        if self._seed is None:
            return Plan(None, size, rank * size, everyone, n, steps)
        if self._window is None or not n:
            return Plan(Order(n, self._seed, self._epoch), size, rank * size, everyone, n, steps)
        order = ShardOrder(self._edges(n), self._window, rank, world, self._seed, self._epoch)
        return Plan(order, size, 0, size, order.n, steps)

    def _edges(self, n: int) -> Places:
        """Give the positions of the view at which shards begin, and its end."""
        rows = self._table._rows
        assert isinstance(rows, Shards)
        spans = self._table.spans
        return np.unique(np.minimum([0, *(len(spans.within(0, stop)) for _, stop in rows.bounds)], n))

    # -- where training is ------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Say where training is: goes into a checkpoint. That of any rank will do for all."""
        return self.state_at(self._epoch, self._next)

    def state_at(self, epoch: int, batches: int) -> dict[str, Any]:
        """Say what the state is after some batches of an epoch, for who counts them otherwise."""
        everyone = self._size * self._world
        begun, length = self._resumed if self._resumed is not None else (-1, len(self._table))
        is_begun = epoch == begun and length != len(self._table)  # before the table grew
        length = length if is_begun else len(self._table)
        is_over = batches >= (length // everyone if self._drop_last else -(-length // everyone))
        whole, sign = self._old if is_begun and not is_over else self._signed()
        state = {
            "epoch": epoch + is_over,
            "items": 0 if is_over else batches * everyone,
            "seed": self._seed,
            "rows": len(self._table) if is_over else length,
            "table_rows": whole,
            "view": sign,
        }
        if self._window is not None and self._seed is not None:
            state |= {"world": self._world, "window": self._window}
        return state

    def _signed(self) -> tuple[int, str]:
        if self._sign is None:
            whole = len(self._table._rows)
            self._sign = whole, fingerprint(self._table, whole)
        return self._sign

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where a checkpoint was made, also with another number of ranks.

        A table that has grown since is taken for what it was until the epoch ends; the next epoch has all of it.

        Raises:
            WrongType: It is of another table or view, or lies within a batch of this size and number of ranks.
        """
        missing = {"epoch", "items", "seed", "rows", "table_rows", "view"} - state.keys()
        if missing:
            raise WrongType(f"this is no state of a loader of tables: it has no {', '.join(sorted(missing))}")
        whole, length, items = int(state["table_rows"]), int(state["rows"]), int(state["items"])
        known = len(self._table._rows)
        if whole > known:
            raise WrongType(f"the state is of a table with {whole:,} rows, and {self._table.path} has {known:,}")
        if length != len(self._table.spans.within(0, whole)) or state["view"] != fingerprint(self._table, whole):
            raise WrongType(
                f"the state is of {length:,} rows of another table, or of another view of it, than {self._table!r}: "
                "open that table, with the same filter and split, or begin a new epoch"
            )
        everyone = self._size * self._world
        if items % everyone:
            raise WrongType(
                f"{items} rows are no whole number of batches of {self._size} on {self._world} ranks; "
                "choose a batch size that divides them"
            )
        if items and ("window" in state) != (self._window is not None and state["seed"] is not None):
            raise WrongType(
                "the state is of a table in shards that did not all fit into memory, or this one is: "
                "open it with the same cached=, or begin the next epoch"
            )
        if "window" in state and items:
            if int(state["world"]) != self._world:
                raise WrongType(
                    f"shards were dealt to {state['world']} ranks, and cannot be dealt to {self._world} in one epoch: "
                    "go on with as many, or begin the next epoch"
                )
            self._window = int(state["window"])
        self._seed = state["seed"]
        self._old = whole, str(state["view"])
        self._resumed = (int(state["epoch"]), length) if items else None
        self._begin(int(state["epoch"]), items // everyone, length if items else None)


def place_in_job(rank: int | None, world: int | None) -> tuple[int, int]:
    """Tell which process of how many this is: as given, as `torch.distributed` or `torchrun` says, or the only one."""
    if (rank is None) != (world is None):
        raise WrongType("rank and world go together: give both, or none")
    if rank is not None and world is not None:
        return rank, world
    distributed = sys.modules.get("torch.distributed")  # who has not imported it has not initialised it
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_rank()), int(distributed.get_world_size())
    if "RANK" in os.environ and "WORLD_SIZE" in os.environ:
        return int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    return 0, 1


def fingerprint(table: Table, whole: int) -> str:
    """Tell tables and views apart by their first rows: by type, ranges, checksums of whole blocks, and the last rows.

    Args:
        table: The table, or a view of it.
        whole: How many rows of the whole table count; more may have been added since.
    """
    opened = table._opened
    spans = table.spans.within(0, whole)
    found = hashlib.blake2b(repr((npy.described(table.dtype), whole)).encode(), digest_size=16)
    found.update(spans.starts.tobytes())
    found.update(spans.stops.tobytes())
    first, is_one = 0, bool(opened.sources) and whole <= opened.sources[0].rows
    for source in opened.sources:
        rows = min(source.rows, whole - first)
        if source.sums is not None:
            found.update(_sums(table, source, first, rows, only_whole=is_one).tobytes())
        first += rows
    if is_one:
        last = max(0, whole - opened.state.block_bytes // table.dtype.itemsize)
        found.update(table._rows.between(last, whole).tobytes())
    return found.hexdigest()


def _sums(table: Table, source: Source, first: int, rows: int, *, only_whole: bool) -> NDArray[np.uint64]:
    """Give the checksums of the first rows of a file, the last of them of a part of a block, or only of whole ones.

    Args:
        table: The table.
        source: The file.
        first: Which row of the table is its first.
        rows: How many of its rows count; it may have grown since they were all.
        only_whole: Leave out the part of a block.
    """
    assert source.sums is not None
    size, block = table.dtype.itemsize, table._opened.state.block_bytes
    whole = rows * size // block
    if only_whole or rows * size == whole * block:
        return source.sums[:whole]
    if rows == source.rows:
        return source.sums
    begun = whole * block // size
    rest = table._rows.between(first + begun, first + rows).tobytes()[whole * block - begun * size :]
    return np.append(source.sums[:whole], np.uint64(loading.checksum(rest)))
