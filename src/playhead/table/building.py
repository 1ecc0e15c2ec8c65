"""How a table is made of its sources, and how more are added to it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from playhead.catalog.tables import LATER
from playhead.errors import WrongType
from playhead.lanes.rows import npy
from playhead.layout import TableFolder
from playhead.paths import GivenPath, as_path
from playhead.progress import watching
from playhead.table import games, placing, reading, sources
from playhead.table.leaving import LEFT_OUT
from playhead.table.reading import Skipped, decoded
from playhead.table.sources import Options, Plan
from playhead.table.sources.contract import TooNarrow
from playhead.table.sources.tables import TableItem, converted, known_of
from playhead.table.table import Table
from playhead.table.writing import RUN, STEP, TableWriter

__all__ = ["append", "build", "decoded", "fill"]

_TOLD = 1000  # things that were skipped, of which the table keeps the names
_MANY = 200  # episodes that take long


def build(
    source: Any,
    out: GivenPath,
    *,
    columns: Any = None,
    where: str | None = None,
    at: str | None = None,
    rate: float | None = None,
    workers: int | None = None,
    errors: str = "raise",
    branches: str = games.REQUIRE,
    widen: bool = False,
    episodes: str | None = None,
    shard_bytes: int | None = None,
    overwrite: bool = False,
    mmap: bool = False,
    progress: bool | None = None,
) -> Table:
    """Make a table.

    It is made in a hidden folder, and gets its name when all of it is on the medium: a kill leaves no table, or the
    whole one. The same source gives the same bytes, whatever the number of workers.

    Args:
        source: Files, or folders of files, of the 2048 programs; a store, `store.runs(…)`, a run, a dataset or
            episodes; `.npy`, Arrow and Parquet files; arrays in memory, as one structured array or one for each column;
            tables.
        out: The folder of the new table.
        columns: Names of columns or signals; or a mapping from new names to those, or to functions that get many rows
            at a time. For episodes by default every signal of numbers with less than 4 KiB a value; `next.observation`
            is the observation one row later. `run_id` and `step_index` are always there.
        where: Which runs, in the `where` language: of a store or of `store.runs` on its runs, else on what the table
            knows of a run ("max_score >= 2000").
        at: Of episodes with several rates, the signal at whose samples there are rows.
        rate: Rows a second instead, on an even grid.
        workers: How many processes read; by default one for each processor where there is much to read.
        errors: `raise` stops at what cannot be read; `skip` leaves it out and lists it in `table.built["skipped"]`.
        branches: For games: `require` refuses those without the values of their moves, `compute` keeps them.
        widen: Give `step_index` at least 32 bits, for games of more than 65,536 moves. Otherwise arrays keep the type
            of their own `step_index`.
        episodes: Which episodes of runs and stores: `played` by agents, or `recorded` into datasets. By default, those
            that were played if there are any; `table.built["left_out_episodes"]` counts the others.
        shard_bytes: Part the rows into files of at most this size, for tables that do not fit into memory.
        overwrite: Replace a table that is there, in one step: whoever looks finds the old or the new one. Who has the
            old one open keeps its rows, and is told to open it again when asking for its runs.
        mmap: Give the new table mapped, not loaded: where only its folder is wanted.
        progress: Whether a bar is drawn; by default where there is a terminal and it takes long.

    Returns:
        The table, opened as `Table.open` does; mapped, where it does not fit into memory.

    Raises:
        Exists: There is something at `out`.
        NotFound, WrongType, Damaged: What the source has cannot be read, or no rows can be made of it.
    """
    path = as_path(out)
    if shard_bytes is not None and (not isinstance(shard_bytes, int) or shard_bytes < 1):
        raise WrongType(f"shard_bytes is a number of bytes, not {shard_bytes!r}")
    options = Options(sources.as_mapping(columns), where, at, rate, branches, widen, episodes)
    with placing.new_folder(path, overwrite=overwrite) as folder:
        plan = sources.plan(source, options)
        built = _told(source, plan, options)
        write(folder, plan, built, shard_bytes=shard_bytes, workers=workers, errors=errors, progress=progress)
    return reopened(path, progress, mmap=mmap)


def append(
    path: GivenPath,
    source: Any,
    *,
    columns: Any = None,
    where: str | None = None,
    at: str | None = None,
    rate: float | None = None,
    workers: int | None = None,
    errors: str = "raise",
    branches: str | None = None,
    widen: bool = False,
    episodes: str | None = None,
    mmap: bool = False,
    progress: bool | None = None,
) -> Table:
    """Add the rows of another source to a table; only they are written, and they count all at once.

    What is not said here of how to read the source is as the table was built; only functions have to be given again.

    Args:
        path: The table.
        source: As for `build`, with the other arguments.
        columns: As for `build`.
        where: As for `build`; an empty text for all runs.
        at: As for `build`.
        rate: As for `build`.
        workers: As for `build`.
        errors: As for `build`.
        branches: As for `build`.
        widen: Where a game has more moves than `step_index` counts, write the table anew with a wider one, which takes
            the place of the old one in one step. Else such a game is refused.
        episodes: As for `build`.
        mmap: As for `build`.
        progress: As for `build`.

    Returns:
        The table as it is then. Those that are open keep what they had.

    Raises:
        WrongType: The rows, or what is known of the runs, differ from those of the table; says how.
        StoreLocked: Somebody else is adding.
    """
    folder = TableFolder(as_path(path))
    table = Table.open(folder.path, mmap=True)
    if not table._opened.is_ours:
        raise WrongType(f"another program made {folder.path}; merge it into a new table, and add rows there")
    before = table.built
    options = Options(
        sources.as_mapping(columns if columns is not None else before.get("columns")),
        (before.get("where") if where is None else where) or None,
        at if at is not None or rate is not None else before.get("at"),
        rate if at is not None or rate is not None else before.get("rate"),
        branches or before.get("branches") or games.REQUIRE,
        widen or (STEP in table.columns and table.dtype[STEP].itemsize > games.STEP[STEP].itemsize),
        episodes or before.get("episodes"),
    )
    plan = sources.plan(source, options)
    check_same(folder.path, table.dtype, known_of(table), plan.dtype, plan.known)
    more: dict[str, Any] = {"workers": workers, "errors": errors, "progress": progress}
    try:
        with TableWriter(folder, columns=plan.known) as writer:
            table._opened.index.file.check_folder()  # nobody replaces it now, and nobody did since it was looked at
            skipped = fill(writer, plan, **more)
            writer.state = replace(writer.state, built=_with(writer.state.built, source, plan, skipped))
    except TooNarrow:
        if not widen:
            raise
        _grow(folder, source, plan, more)
    return reopened(folder.path, progress, mmap=mmap)


def _grow(folder: TableFolder, source: Any, plan: Plan, more: Mapping[str, Any]) -> None:
    """Write a table anew, with more room for `step_index`, and more rows at its end."""
    with placing.new_folder(folder.path, overwrite=True) as beside:
        old = Table.open(folder.path, mmap=True)
        wide = npy.of_description(
            [
                [name, *rest] if name != STEP else [name, plan.dtype[STEP].str]
                for name, *rest in npy.described(old.dtype)
            ]
        )
        state = old._opened.state
        columns = known_of(old) | {name: kind for name, kind in plan.known.items() if name in LATER}
        with TableWriter(beside, wide, columns, shard_bytes=state.shard_bytes, built=state.built) as writer:
            writer.state = replace(writer.state, owner=state.owner, created=state.created)  # it is the same table
            for rows, runs in TableItem(old).blocks(wide):
                writer.add(rows, runs)
            skipped = fill(writer, plan, **more)
            writer.state = replace(writer.state, built=_with(state.built, source, plan, skipped))


def write(
    folder: TableFolder,
    plan: Plan,
    built: Mapping[str, Any],
    *,
    shard_bytes: int | None,
    workers: int | None,
    errors: str,
    progress: bool | None,
) -> None:
    """Make a table of a plan in an empty folder."""
    with TableWriter(folder, plan.dtype, plan.known, shard_bytes=shard_bytes, built=built) as writer:
        skipped = fill(writer, plan, workers=workers, errors=errors, progress=progress)
        writer.state = replace(writer.state, built=dict(built) | _skipped(skipped))


def fill(writer: TableWriter, plan: Plan, *, workers: int | None, errors: str, progress: bool | None) -> list[Skipped]:
    """Add all that a plan reads; gives what was skipped."""
    skipped: list[Skipped] = []
    total = sum(item.size for item in plan.items)
    is_bytes = plan.unit == "bytes"
    wanted = progress if is_bytes or progress is not None else sys.stderr.isatty() and total >= _MANY
    with watching("building", total, wanted, unit=plan.unit) as watch:
        blocks = reading.read_all(
            plan, workers=workers, errors=errors, skipped=skipped, watch=watch or (lambda _more: None)
        )
        for rows, runs in blocks:
            mine = rows if rows.dtype == writer.dtype else converted(rows, writer.dtype)
            writer.add(mine, [dict.fromkeys(plan.known) | run for run in runs])
    return skipped


def check_same(
    path: Path,
    dtype: np.dtype[Any],
    known: Mapping[str, str],
    new: np.dtype[Any],
    new_known: Mapping[str, str],
) -> None:
    """See that rows and runs are those of a table, but for the width of numbers that count.

    Raises:
        WrongType: They are not; says what differs.
    """
    if widest(dtype) != widest(new):
        raise WrongType(f"these rows are not those of {path}: {sources.differences(dtype, new)}")
    if {*known} - {*LATER} != {*new_known} - {*LATER}:
        raise WrongType(
            f"what is known of these runs is not what {path} knows: "
            f"{', '.join(sorted(new_known))} and not {', '.join(sorted(known))}"
        )


def widest(dtype: np.dtype[Any], *, to: str = "<u8") -> np.dtype[Any]:
    """Give a type with `run_id` and `step_index` as wide as can be."""
    parts = [
        [name, to] if name in (RUN, STEP) and dtype[name].kind in "iu" else [name, *rest]
        for name, *rest in npy.described(dtype)
    ]
    return npy.of_description(parts)


def reopened(path: Path, progress: bool | None, *, mmap: bool) -> Table:
    """Open a table, into memory where it fits."""
    try:
        return Table.open(path, mmap=mmap, progress=progress)
    except MemoryError:
        return Table.open(path, mmap=True)


def _told(source: Any, plan: Plan, options: Options) -> dict[str, Any]:
    """Give what the table tells of how it was built."""
    told = {
        "source": _named(source),
        "columns": sources.spelled(options.columns),
        "where": options.where,
        "at": options.at,
        "rate": options.rate,
    }
    return {name: value for name, value in (told | dict(plan.about)).items() if value is not None}


def _named(source: Any) -> Any:
    if isinstance(source, (str, os.PathLike)):
        return os.fspath(source)
    if isinstance(source, (list, tuple)) and all(isinstance(one, (str, os.PathLike)) for one in source):
        return [os.fspath(one) for one in source[:_TOLD]]
    if isinstance(source, (np.ndarray, Mapping)):
        return "arrays in memory"
    return repr(source)[:_TOLD]


def _skipped(skipped: list[Skipped]) -> dict[str, Any]:
    if not skipped:
        return {}
    return {"skipped": [one._asdict() for one in skipped[:_TOLD]], "skipped_count": len(skipped)}


def _with(built: Mapping[str, Any], source: Any, plan: Plan, skipped: list[Skipped]) -> dict[str, Any]:
    """Give what a table tells after rows were added."""
    left_out = {name: said for name, said in plan.about.items() if name in LEFT_OUT}
    mine = {"source": _named(source)} | left_out | _skipped(skipped)
    return dict(built) | {"appended": [*built.get("appended", []), mine][-_TOLD:]}
