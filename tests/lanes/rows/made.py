"""Small tables for tests: what a row holds is told by its number, so that a row of another place never passes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from playhead.catalog.tables import GAME
from playhead.layout import TableFolder
from playhead.table import writing
from playhead.table.writing import TableWriter

GAMES = np.dtype(
    [
        ("board", "<u8"), ("move", "u1"), ("ev_legal", "u1"), ("ev_values", "<f4", (4,)), ("run_id", "<u4"),
        ("step_index", "<u2"),
    ]
)  # fmt: skip
ODD = np.dtype(
    [("run_id", "<i8"), ("flag", "?"), ("wave", "<c8", (3,)), ("step_index", "<u4"), ("small", "i1", (2, 3))]
)


def rows_of(
    counts: Sequence[int], dtype: np.dtype[Any] = GAMES, seed: int = 0, first_run: int = 0
) -> np.ndarray[Any, Any]:
    """Give the rows of runs of so many steps."""
    total = int(sum(counts))
    rng = np.random.default_rng([seed, first_run, total])
    rows = np.frombuffer(rng.bytes(total * dtype.itemsize), dtype).copy()
    for name in dtype.names or ():
        if dtype[name].base.kind in "fc":
            rows[name] = rng.integers(-9, 9, rows[name].shape)
        if dtype[name].base.kind == "b":
            rows[name] = rng.integers(0, 2, rows[name].shape)
    rows["run_id"] = np.repeat(np.arange(first_run, first_run + len(counts)), counts)
    rows["step_index"] = np.concatenate([np.arange(count) for count in counts]) if len(counts) else 0
    return rows


def runs_of(counts: Sequence[int], first_run: int = 0) -> list[dict[str, Any]]:
    """Give what is known of runs of so many steps."""
    return [
        {
            "num_steps": count, "max_score": 1000 * (number % 7), "highest_tile": 2 << number % 5,
            "engine": ["x", "y", None][number % 3], "start_time": number, "elapsed_s": number / 2,
        }
        for number, count in enumerate(counts, first_run)
    ]  # fmt: skip


def make(
    path: Path, counts: Sequence[int], dtype: np.dtype[Any] = GAMES, *, shard_bytes: int | None = None, seed: int = 0
) -> np.ndarray[Any, Any]:
    """Make a table; give its rows."""
    path.mkdir(parents=True, exist_ok=True)
    rows = rows_of(counts, dtype, seed)
    with TableWriter(TableFolder(path), dtype, GAME, shard_bytes=shard_bytes, built={"from": "a test"}) as writer:
        writer.add(rows.copy(), runs_of(counts))
    return rows


def add(path: Path, counts: Sequence[int], dtype: np.dtype[Any] = GAMES, seed: int = 0) -> np.ndarray[Any, Any]:
    """Add runs to a table; give their rows."""
    with TableWriter(TableFolder(path)) as writer:
        first = writer.state.runs
        rows = rows_of(counts, dtype, seed, first)
        writer.add(rows.copy(), runs_of(counts, first))
    return rows


def small_blocks(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Let tables that are made have blocks of so many bytes."""
    monkeypatch.setattr(writing, "BLOCK_BYTES", size)
