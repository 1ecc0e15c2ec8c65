"""Rows of tables that are there already: whole ones, and what views of them show."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead.catalog.tables.columns import COUNTS, LATER, ORIGINAL
from playhead.lanes.rows import loading
from playhead.lanes.rows.held import OneArray
from playhead.lanes.rows.spans import Spans
from playhead.paths import GivenPath
from playhead.table.sources.contract import BLOCK_BYTES, Block, Run, TooNarrow
from playhead.table.table import Table
from playhead.table.writing import STEP

_AT_ONCE = 10_000  # runs
_OURS = {"id", "first_step_idx", *COUNTS}


@dataclass(frozen=True)
class TableItem:
    """A table, or a view of one.

    Args:
        table: It.
    """

    table: Table

    @property
    def name(self) -> str:
        """What to call it in messages."""
        return os.fspath(self.table.path)

    @property
    def size(self) -> int:
        """The bytes of its rows."""
        return len(self.table) * self.table.dtype.itemsize

    @property
    def travels(self) -> bool:
        """Whether another process can read it: this one has it in memory."""
        return False

    def blocks(self, dtype: np.dtype[Any]) -> Iterator[Block]:
        """Read it, as rows of this type."""
        check(self.table)
        most = max(1, BLOCK_BYTES // dtype.itemsize)
        runs = shown_runs(self.table)
        firsts, stops = runs[:, 1], runs[:, 2]
        at = 0
        while at < len(runs):
            behind = int(np.searchsorted(stops, firsts[at] + most, "right"))
            if behind <= at:  # a run that is longer than what is read at a time
                for start in range(int(firsts[at]), int(stops[at]) - most, most):
                    yield Block(self._rows(start, start + most, dtype), ())
                start = int(firsts[at]) + (int(stops[at] - firsts[at]) - 1) // most * most
                yield Block(self._rows(start, int(stops[at]), dtype), self._told(runs[at : at + 1]))
                at += 1
                continue
            rows = self._rows(int(firsts[at]), int(stops[behind - 1]), dtype)
            yield Block(rows, self._told(runs[at:behind]))
            at = behind

    def _told(self, runs: NDArray[np.int64]) -> list[Run]:
        """Give what is known of some runs; of a view, with as many steps as it shows."""
        told: list[Run] = []
        for _, group in groupby(runs.tolist(), lambda run: run[0] // _AT_ONCE):  # a view may show few of many
            mine = list(group)
            ids = [id_ for id_, _, _ in mine]  # of a foreign table in any order
            index = self.table._opened.index.runs
            known, originals = index.known(min(ids), max(ids)), index.originals(min(ids), max(ids))
            for id_, first, stop in mine:
                run = {"num_steps": stop - first}
                run |= {name: value for name, value in known[id_].items() if name not in _OURS}
                if id_ in originals and known[id_]["num_steps"] == stop - first:  # it is of all steps of its game
                    run[ORIGINAL] = originals[id_]
                told.append(run)
        return told

    def _rows(self, start: int, stop: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        rows = self.table.get_batch(np.arange(start, stop))
        return rows if rows.dtype == dtype else converted(rows, dtype)


def shown_runs(table: Table, every: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """Give, of each run that a table shows, its id and the positions of its first row and behind its last.

    Args:
        table: The table, or a view.
        every: All runs, as the database gives them, where they are at hand.
    """
    found = table._opened.index.runs.spans(before=table._opened.state.runs) if every is None else every
    spans = table.spans
    first, stop = _rows_before(spans, found[:, 1]), _rows_before(spans, found[:, 1] + found[:, 2])
    is_shown = stop > first
    return np.column_stack([found[:, 0], first, stop])[is_shown]


def _rows_before(spans: Spans, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the rows of some spans that come before each of some rows."""
    place = np.searchsorted(spans.stops, rows, "right")
    ends = np.concatenate([[0], np.cumsum(spans.stops - spans.starts)])
    starts = np.append(spans.starts, np.int64(2**62))
    found: NDArray[np.int64] = ends[place] + np.maximum(rows - starts[place], 0)
    return found


def check(table: Table, positions: NDArray[np.int64] | None = None) -> None:
    """See that the files are what was written, where they were not loaded: mapping checks next to nothing.

    Args:
        table: The table, or a view.
        positions: The rows of it that matter; None for all of the files.

    Raises:
        Damaged: They are not.
    """
    if isinstance(table._rows, OneArray) and table._rows.owner is not None:
        return
    wanted = None if positions is None else table.spans.rows(positions)
    size, row, first = table._opened.state.block_bytes, table.dtype.itemsize, 0
    for source in table._opened.sources:
        mine = None if wanted is None else (wanted[(wanted >= first) & (wanted < first + source.rows)] - first) * row
        first += source.rows
        if source.sums is not None and len(source.sums):
            every = range(len(source.sums)) if mine is None else [*mine // size, *(mine + row - 1) // size]
            blocks = sorted({int(number) for number in every})
            loading.check_some(source.path, source.header, source.size, source.sums, blocks, size)


def converted(rows: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Give rows as another type that differs in the width of `step_index` and `run_id` alone.

    Raises:
        TooNarrow: A number does not fit.
    """
    if STEP in (dtype.names or ()) and len(rows):
        most, found = np.iinfo(dtype[STEP]).max, int(rows[STEP].max())
        if found > most:
            raise TooNarrow.of("this table", found, dtype[STEP])
    return rows.astype(dtype)


def known_of(table: Table) -> dict[str, str]:
    """Return what a table knows of its runs, besides their rows."""
    return {name: kind for name, kind in table._opened.index.runs.columns.items() if name not in _OURS}


def known_of_all(tables: Sequence[Table]) -> dict[str, str]:
    """Return what the first of some tables knows of its runs, with what only later versions keep if any does."""
    later = {name: kind for table in tables for name, kind in known_of(table).items() if name in LATER}
    return known_of(tables[0]) | later


def opened(table: Table | GivenPath) -> Table:
    """Take a table, or map the one at a path."""
    return table if isinstance(table, Table) else Table.open(table, mmap=True)
