"""Small tables to train on."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from playhead.catalog.tables import GAME
from playhead.layout import TableFolder
from playhead.table import Table
from playhead.table.writing import TableWriter

ROW = np.dtype(
    [
        ("board", "<u8"),
        ("move", "u1"),
        ("ev_legal", "u1"),
        ("ev_values", "<f4", (4,)),
        ("run_id", "<u4"),
        ("step_index", "<u2"),
    ]
)


def rows_of(count: int, first: int = 0) -> np.ndarray:
    """Make rows that say which they are, with the largest values that there are."""
    rows = np.zeros(count, ROW)
    numbers = np.arange(first, first + count)
    rows["board"] = numbers.astype(np.uint64) | np.uint64(1 << 63)
    rows["move"] = numbers % 4
    rows["ev_legal"] = numbers % 251
    rows["ev_values"] = numbers[:, None] + np.arange(4) / 4
    return rows


def add(path: Path, lengths: list[int], first: int = 0, shard_bytes: int | None = None, seed: int = 0) -> None:
    """Add games of these lengths to a table."""
    known = {"highest_tile": 2048, "engine": "x", "start_time": 0, "elapsed_s": 1.0}
    new = path.exists()
    if not new:
        path.mkdir()
    with (
        TableWriter(TableFolder(path))
        if new
        else TableWriter(TableFolder(path), ROW, GAME, shard_bytes=shard_bytes) as writer
    ):
        for number, length in enumerate(lengths):
            rows = rows_of(length, first)
            rows["step_index"] = 65_000 + np.arange(length) % 500
            rows["ev_legal"] += np.uint8(seed)
            writer.add(rows, [dict(num_steps=length, max_score=100 * (number % 10), **known)])
            first += length


def table(path: Path, lengths: list[int], **options: object) -> Table:
    """Make a table and open it."""
    add(path, lengths)
    return Table.open(path, **options)  # type: ignore[arg-type]


def numbers(batch: dict) -> list[int]:
    """Tell which rows a batch has."""
    return (np.asarray(batch["board"]).astype(np.int64) & 0xFFFFFFFF).tolist()
