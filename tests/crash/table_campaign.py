"""Tables that are built and added to, stopped at any change of the disk, and what must be there afterwards.

As a program under `LD_PRELOAD=faults.so` it takes what `campaign` takes, with `one-file` or `shards` for what to do.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from playhead import disk
from playhead.catalog.tables import GAME
from playhead.errors import NotFound
from playhead.layout import TableFolder
from playhead.table import Table, writing
from playhead.table.verifying import verify as verified
from playhead.table.writing import TableWriter
from tests.lanes.rows.made import GAMES, add, rows_of, runs_of

BLOCK = 256  # bytes: 8 rows
STAGES = [[5, 0, 20], [1, 13], [40]]  # the steps of the runs of each commit
SHARD = 16 * 32  # bytes

Acknowledge = Callable[[str], None]


def build(path: Path, shard_bytes: int | None) -> None:
    """Make the table in a new folder, in several pieces."""
    disk.make_folders(path)
    rows, runs = rows_of(STAGES[0]), runs_of(STAGES[0])
    with TableWriter(TableFolder(path), GAMES, GAME, shard_bytes=shard_bytes) as writer:
        at = 0
        for run in runs:
            writer.add(rows[at : at + run["num_steps"]].copy(), [run])
            at += run["num_steps"]


def work(path: Path, acknowledge: Acknowledge, shard_bytes: int | None = None) -> None:
    """Build a table, add to it, and add again."""
    writing.BLOCK_BYTES = BLOCK
    build(path, shard_bytes)
    acknowledge("0")
    for stage in (1, 2):
        add(path, STAGES[stage])
        acknowledge(str(stage))


def rows_until(stages: int) -> np.ndarray[Any, Any]:
    """Give all rows that the first commits add."""
    first, parts = 0, [rows_of([])]
    for counts in STAGES[:stages]:
        parts.append(rows_of(counts, first_run=first))
        first += len(counts)
    return np.concatenate(parts)


def hold_to(path: Path, acknowledged: list[str], shard_bytes: int | None = None) -> None:
    """Open the table as the next user would: it is that of the last commit or of the one under way; then go on."""
    writing.BLOCK_BYTES = BLOCK
    least = len(acknowledged)
    stages = stage_of(path)
    assert stages in (least, least + 1), f"{least} commits were acknowledged, {stages} are there"
    due = rows_until(stages)
    told = told_to_numpy(path)
    if stages:
        for table in (Table.open(path), Table.open(path, mmap=True)):
            assert table[:].tobytes() == due.tobytes()
            assert [run["num_steps"] for run in table.runs] == [*chain(*STAGES[:stages])]
        choices = zip_longest(told, *(by_file(rows_until(n), shard_bytes) for n in (stages - 1, stages)), fillvalue=b"")
        assert all(rows in (old, new) for rows, old, new in choices), told
        assert [finding for finding in verified(path) if not finding.is_harmless] == []
        more = add(path, [11, 2])
    else:
        assert all(not rows for rows in told), told
        build(path, shard_bytes)
        due, more = rows_until(1), rows_of([])
    whole = np.concatenate([due, more])
    assert Table.open(path)[:].tobytes() == whole.tobytes()
    assert told_to_numpy(path) == by_file(whole, shard_bytes)
    assert verified(path) == []
    assert [left.name for left in path.rglob("*") if disk.is_temporary(left.name)] == []


def stage_of(path: Path) -> int:
    """Tell how many commits a table has."""
    try:
        length = len(Table.open(path))
    except NotFound:
        return 0
    return next(n for n in range(1, len(STAGES) + 1) if len(rows_until(n)) == length)


def by_file(rows: np.ndarray[Any, Any], shard_bytes: int | None) -> list[bytes]:
    size = len(rows) if shard_bytes is None else shard_bytes // GAMES.itemsize
    return [rows[at : at + size].tobytes() for at in range(0, len(rows), max(1, size))]


def told_to_numpy(path: Path) -> list[bytes]:
    """Give what NumPy reads of each file; one whose header was being written has no rows."""
    return [_told_to_numpy(file) for file in sorted(path.rglob("steps*.npy"))]


def _told_to_numpy(file: Path) -> bytes:
    try:
        return np.load(file).tobytes() if file.stat().st_size >= 4096 else b""
    except ValueError:  # a power cut has left zeros where the header will be
        return b""


WORKLOADS = {
    "one-file": (work, hold_to),
    "shards": (
        lambda path, acknowledge: work(path, acknowledge, SHARD),
        lambda path, acknowledged: hold_to(path, acknowledged, SHARD),
    ),
}


if __name__ == "__main__":
    from tests.crash import campaign

    campaign.WORKLOADS.update(WORKLOADS)
    campaign.main()
