"""Batches of one table with Playhead and with one other program: ``tables_worker.py PEER FOLDER BATCH SCRATCH``.

Runs in the environment of the peers, in which Playhead can be imported too: both give batches in one process, in turns.
The peer is filled from the rows of the table, with the columns that they have. The last line printed is a JSON object.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.tables_data import STEP, in_turns
from playhead.table import Table

ROUNDS, SLOW_ROUNDS = 400, 12
AT_ONCE = 1_000_000
NAMES: tuple[str, ...] = STEP.names or ()

Places = np.ndarray[Any, np.dtype[np.int64]]
#: Gives a batch, and the boards of one, by which it is seen that it is the right one; None where it draws by itself.
Made = tuple[Callable[[Places], object], Callable[[Places], object] | None]


def cpprb(table: Table, _: Path) -> Made:
    """Its own `sample`, which draws the rows as well; it has no public way to ask for given ones."""
    from cpprb import ReplayBuffer

    shapes = {name: {"shape": STEP[name].shape or 1, "dtype": STEP[name].base} for name in NAMES}
    buffer = ReplayBuffer(len(table), shapes)
    for start in range(0, len(table), AT_ONCE):
        some = table.array[start : start + AT_ONCE]
        buffer.add(**{name: some[name] for name in NAMES})
    return lambda places: buffer.sample(len(places)), None


def torchrl_memmap(table: Table, scratch: Path) -> Made:
    """Give what its storage gives for indices, without its sampler."""
    import torch
    from tensordict import TensorDict
    from torchrl.data import LazyMemmapStorage

    torch.set_num_threads(1)
    storage = LazyMemmapStorage(len(table), scratch_dir=str(scratch / "torchrl"))
    for start in range(0, len(table), AT_ONCE):
        some = table.array[start : start + AT_ONCE]
        columns = {name: torch.from_numpy(_signed(some[name])) for name in NAMES}
        storage.set(range(start, start + len(some)), TensorDict(columns, [len(some)]))
    return (
        lambda places: storage.get(torch.from_numpy(places)),
        lambda places: storage.get(torch.from_numpy(places))["board"].numpy(),
    )


def _signed(column: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Give a column as PyTorch can index it: it has few operations on unsigned numbers of several bytes."""
    kind = f"i{column.dtype.itemsize}" if column.dtype.kind == "u" and column.dtype.itemsize > 1 else column.dtype
    return np.ascontiguousarray(column).view(kind)


def _arrow(some: np.ndarray[Any, Any]) -> Any:
    import pyarrow as pa

    columns = {name: pa.array(np.ascontiguousarray(some[name])) for name in NAMES if name != "ev_values"}
    values = pa.array(np.ascontiguousarray(some["ev_values"]).reshape(-1))
    columns["ev_values"] = pa.FixedSizeListArray.from_arrays(values, 4)
    return pa.table(columns)


def hf_datasets(table: Table, scratch: Path) -> Made:
    """Take rows of a mapped Arrow file, as NumPy arrays."""
    import pyarrow as pa
    from datasets import Dataset

    path = scratch / "rows.arrow"
    with pa.ipc.new_stream(path, _arrow(table.array[:1]).schema) as writer:
        for start in range(0, len(table), AT_ONCE):
            writer.write_table(_arrow(table.array[start : start + AT_ONCE]))
    rows = Dataset.from_file(str(path)).with_format("numpy")
    return lambda places: rows[places], lambda places: rows[places]["board"]


def lance(table: Table, scratch: Path) -> Made:
    """Take rows of a Lance dataset, as Arrow."""
    import lance as library
    import pyarrow as pa

    schema = _arrow(table.array[:1]).schema
    parts = (
        batch
        for start in range(0, len(table), AT_ONCE)
        for batch in _arrow(table.array[start : start + AT_ONCE]).to_batches()
    )
    rows = library.write_dataset(pa.RecordBatchReader.from_batches(schema, parts), str(scratch / "rows.lance"))
    return rows.take, lambda places: rows.take(places)["board"].to_numpy()


PEERS = {"cpprb": cpprb, "torchrl": torchrl_memmap, "datasets": hf_datasets, "lance": lance}
SLOW = ("datasets", "lance")


def main() -> None:
    peer, folder, batch, scratch = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
    table = Table.open(folder, progress=False)
    theirs, boards = PEERS[peer](table, scratch)
    if boards is not None:
        places = np.random.default_rng(0).integers(0, len(table), batch)
        given = np.asarray(boards(places)).reshape(-1).astype(np.uint64)
        assert np.array_equal(given, table.get_batch(places)["board"])
    out = np.empty(batch, STEP)
    ways = {"ours": lambda places: table.get_batch(places, out), "theirs": theirs}
    rounds = max(3, SLOW_ROUNDS * 4_096 // max(batch, 4_096)) if peer in SLOW else ROUNDS
    found = in_turns(ways, len(table), batch, dict.fromkeys(ways, rounds))
    figures = {f"{side}_{what}": getattr(cost, what) for side, cost in found.items() for what in ("wall", "cpu")}
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
