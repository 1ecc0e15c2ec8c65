"""One table of several."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from playhead.errors import Empty, WrongType
from playhead.lanes.rows import npy
from playhead.paths import GivenPath, as_path
from playhead.table import building, placing, sources
from playhead.table.sources import Plan
from playhead.table.sources.tables import TableItem, known_of, known_of_all, opened
from playhead.table.table import Table
from playhead.table.writing import RUN, STEP


def merge(
    tables: Iterable[Table | GivenPath],
    out: GivenPath,
    *,
    widen: bool = False,
    shard_bytes: int | None = None,
    overwrite: bool = False,
    mmap: bool = False,
    progress: bool | None = None,
) -> Table:
    """Make one table of several, or of what views show: their runs one behind the other, with new ids.

    Args:
        tables: Tables, views of them, or the folders of tables; also of those that other programs made.
        out: The folder of the new table.
        widen: Where tables count `step_index` or `run_id` in numbers of different width, take the widest.
        shard_bytes: Part the rows into files of at most this size.
        overwrite: Replace a table that is there, in one step.
        mmap: Give the new table mapped, not loaded.
        progress: Whether a bar is drawn; by default where there is a terminal and it takes long.

    Returns:
        The table, opened as `Table.open` does; mapped, where it does not fit into memory.

    Raises:
        WrongType: Their rows, or what they know of runs, differ; says how.
        Exists: There is something at `out`.
    """
    given = [tables] if isinstance(tables, (Table, str, os.PathLike)) else list(tables)
    several = [opened(table) for table in given]
    if not several:
        raise Empty("no tables were given to merge")
    first, known = several[0], known_of(several[0])
    for other in several[1:]:
        building.check_same(first.path, first.dtype, known, other.dtype, known_of(other))
    types = {table.dtype for table in several}
    if len(types) > 1 and not widen:
        other = next(table for table in several if table.dtype != first.dtype)
        raise WrongType(
            f"the rows of {other.path} are not those of {first.path}: "
            f"{sources.differences(first.dtype, other.dtype)}. Pass widen=True to take the widest"
        )
    plan = Plan(
        _widest([table.dtype for table in several]), known_of_all(several), [TableItem(table) for table in several]
    )
    built: dict[str, Any] = {"source": [str(table.path) for table in several]}
    path = as_path(out)
    with placing.new_folder(path, overwrite=overwrite) as folder:
        building.write(folder, plan, built, shard_bytes=shard_bytes, workers=1, errors="raise", progress=progress)
    return building.reopened(path, progress, mmap=mmap)


def _widest(types: list[np.dtype[Any]]) -> np.dtype[Any]:
    """Give the first of some types that differ in the width of two columns, with the widest of each."""
    parts = []
    for name, *rest in npy.described(types[0]):
        if name in (RUN, STEP):
            kinds = [kind[name] for kind in types]
            parts.append([name, max(kinds, key=lambda kind: kind.itemsize).str])
        else:
            parts.append([name, *rest])
    return npy.of_description(parts)
