"""How sources become rows: one after another here, or several at a time in processes of their own."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from typing import Any, NamedTuple

import numpy as np

from playhead.catalog.fitting import Fitting
from playhead.errors import MissingExtra, PlayheadError, WrongType
from playhead.table.sources.contract import Block, Failure, Item, Plan, Rows, Run

ERRORS = ("raise", "skip")
_GROUP = 16 << 20  # bytes that one task of another process reads
_MOST_ITEMS = 256
_LARGE = 256 << 20  # bytes of one item above which it is read here, a part at a time
_WORTH = 512 << 20  # bytes above which processes, which take seconds to start, are used without being asked for


class Skipped(NamedTuple):
    """Something that could not be read, or not to its end.

    Attributes:
        source: What.
        why: The error.
        kept: How many runs of it had been read whole before, and are in the table.
    """

    source: str
    why: str
    kept: int


class Shard(NamedTuple):
    """What became of some sources.

    Attributes:
        rows: Their rows; `run_id` is filled in when they are added to a table.
        runs: The runs that the rows are of, with `num_steps` each.
        skipped: What could not be read.
        failure: The error at which reading stopped.
    """

    rows: Rows
    runs: list[Run]
    skipped: list[Skipped]
    failure: Failure | None = None


def decoded(
    items: Sequence[Item],
    dtype: np.dtype[Any],
    known: Mapping[str, str],
    *,
    where: str | None = None,
    errors: str = "raise",
) -> Shard:
    """Read sources into one shard: nothing else is read, written or remembered, so that any executor may run it.

    Args:
        items: What to read, in this order.
        dtype: Of a row.
        known: The columns of `runs`.
        where: Which runs to take.
        errors: `skip` to go on behind what cannot be read; else the shard ends there, and names the failure.
    """
    skipped: list[Skipped] = []
    found: list[Block] = []
    failure = None
    try:
        for item in items:
            found += whole_runs(item, dtype, known, where=where, errors=errors, skipped=skipped)
    except (PlayheadError, OSError) as error:
        failure = Failure.of(error)
    rows = np.concatenate([block.rows for block in found]) if found else np.empty(0, dtype)
    return Shard(rows, [run for block in found for run in block.runs], skipped, failure)


def whole_runs(
    item: Item,
    dtype: np.dtype[Any],
    known: Mapping[str, str],
    *,
    where: str | None,
    errors: str,
    skipped: list[Skipped],
) -> Iterator[Block]:
    """Read one thing; where something may have to be left out, a run comes only when all of it was read."""
    if where is None and errors == "raise":
        yield from item.blocks(dtype)
        return
    fits = None if where is None else Fitting(known, where)
    kept, begun = 0, []
    try:
        for rows, runs in item.blocks(dtype):
            begun.append(rows)
            if not runs:
                continue
            together = rows if len(begun) == 1 else np.concatenate(begun)
            begun, taken = [], list(runs)
            if fits is not None:
                mask = fits.mask(runs)
                together = together[np.repeat(mask, [run["num_steps"] for run in runs])]
                taken = [run for run, is_wanted in zip(runs, mask, strict=True) if is_wanted]
            if taken:
                kept += len(taken)
                yield Block(together, taken)
    except MissingExtra:
        raise
    except (PlayheadError, OSError) as error:
        if errors == "raise":
            raise
        skipped.append(Skipped(item.name, str(error), kept))


def read_all(
    plan: Plan, *, workers: int | None, errors: str, skipped: list[Skipped], watch: Callable[[int], None]
) -> Iterator[Block]:
    """Read all sources of a plan, in their order, whatever the number of processes.

    Raises:
        WrongType: The number of workers or what is done at errors makes no sense.
    """
    if errors not in ERRORS:
        raise WrongType(f"errors is one of {', '.join(ERRORS)}, not {errors!r}")
    if plan.where is not None:
        Fitting(plan.known, plan.where)  # a mistake in it is said before hours of work
    count = _workers(plan, workers)
    if count > 1:
        yield from _in_processes(plan, count, errors, skipped, watch)
        return
    for item in plan.items:
        yield from whole_runs(item, plan.dtype, plan.known, where=plan.where, errors=errors, skipped=skipped)
        watch(item.size)


def _workers(plan: Plan, wanted: int | None) -> int:
    if wanted is not None and (not isinstance(wanted, int) or wanted < 1):
        raise WrongType(f"workers is a number of processes from 1 on, not {wanted!r}")
    can = bool(plan.items) and all(item.travels for item in plan.items)
    if wanted is None:
        is_worth = can and plan.unit == "bytes" and sum(item.size for item in plan.items) >= _WORTH
        return min(len(os.sched_getaffinity(0)), len(plan.items)) if is_worth else 1
    if wanted > 1 and not can:
        raise WrongType(
            "other processes cannot read this source: it lies in memory, or a column is made by a function without a "
            "name in a module. Pass workers=1, or define the function at the top of a module"
        )
    return min(wanted, max(1, len(plan.items)))


def _in_processes(
    plan: Plan, workers: int, errors: str, skipped: list[Skipped], watch: Callable[[int], None]
) -> Iterator[Block]:
    waiting: deque[tuple[list[Item], Future[Shard] | None]] = deque()
    groups = _groups(plan)
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_end_with_parent) as pool:
        try:
            while True:
                while len(waiting) <= workers + 1 and (group := next(groups, None)) is not None:
                    is_large = len(group) == 1 and plan.unit == "bytes" and group[0].size > _LARGE
                    task = (
                        None
                        if is_large
                        else pool.submit(decoded, group, plan.dtype, plan.known, where=plan.where, errors=errors)
                    )
                    waiting.append((group, task))
                if not waiting:
                    return
                group, task = waiting.popleft()
                if task is None:
                    yield from whole_runs(
                        group[0], plan.dtype, plan.known, where=plan.where, errors=errors, skipped=skipped
                    )
                else:
                    shard = task.result()
                    if shard.failure is not None:
                        raise shard.failure.error()
                    skipped += shard.skipped
                    yield Block(shard.rows, shard.runs)
                watch(sum(item.size for item in group))
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _end_with_parent() -> None:
    """See that this process ends when its parent was killed; it would wait for work for ever."""
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_wait_and_end, args=(parent.sentinel,), daemon=True).start()


def _wait_and_end(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)


def _groups(plan: Plan) -> Iterator[list[Item]]:
    """Put small things together, so that a task is worth its while."""
    group: list[Item] = []
    size = 0
    for item in plan.items:
        mine = item.size if plan.unit == "bytes" else _GROUP // 8
        if group and (size + mine > _GROUP or len(group) >= _MOST_ITEMS):
            yield group
            group, size = [], 0
        group.append(item)
        size += mine
    if group:
        yield group
