"""From event files into the catalogue.

The one way in: read on in a file from where the index ends, and commit the points together with the new end. It runs in
the background while a run records, at the next open after a crash, and for every run on `rebuild`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from math import isnan
from pathlib import Path
from typing import Any, TypeGuard

from playhead import owner
from playhead.catalog import points
from playhead.catalog import runs as catalog_runs
from playhead.catalog.database import Database
from playhead.catalog.points import SeriesBatch, SeriesState
from playhead.lanes.scalars import events
from playhead.strictjson import SPECIAL

CHUNK = 1 << 20  # bytes of events a transaction; it bounds the memory of indexing

_FLOATS = frozenset((float,))
_INTEGERS = frozenset((int,))
_FAR = 2**63


class EventIndex:
    """The index of one event file. Not safe in threads.

    Args:
        database: The catalogue.
        run: The key of the run.
        part: The recording process.
        path: The event file.
        run_id: The id of the run, which the file must not deny.
    """

    def __init__(self, database: Database, run: int, part: int, path: Path, run_id: str) -> None:
        self._owner = owner_of(run_id, part)
        self._database = database
        self._run = run
        self._part = part
        self._path = path
        self._known: dict[tuple[str, str], SeriesState] | None = None
        self._offset = -1

    @property
    def end(self) -> int | None:
        """Up to which byte of the file all is indexed; None if that is not known now."""
        return None if self._offset < 0 else self._offset

    def catch_up(self) -> bool:
        """Index all whole lines that are in the file now; return whether there were any.

        Raises:
            Misplaced: If the file is that of another run or process.
        """
        found = False
        while self.advance():
            found = True
        return found

    def advance(self) -> bool:
        """Index the next stretch of lines; tell whether there was one."""
        if self._offset < 0:
            owner.check(self._path, events.owner_of(self._path), self._owner)
            with self._database.read() as connection:
                self._offset = points.position(connection, self._run, self._part)[0]
        data, size, skipped = events.read(self._path, self._offset, CHUNK)
        if not size:
            return False
        start, self._offset = self._offset, -1  # unknown until the commit
        known, self._known = self._known, None
        with self._database.write() as connection:
            offset, last_ns, last_step = points.position(connection, self._run, self._part)
            if offset != start:  # another process was here first
                return True
            found, bad = events.parse(data if offset else events.without_owner(data), last_ns)
            if known is None:
                known = points.states(connection, self._run, self._part)
            points.add(connection, self._run, self._part, _batches(found), known)
            points.add_media(connection, _media(found, self._run, self._part))
            last_step = next(_steps_backwards(found), last_step)
            last_ns = found[-1][0] if found else last_ns
            end, bad = start + size, bad + skipped
            points.advance(connection, self._run, self._part, offset=end, last_ns=last_ns, last_step=last_step, bad=bad)
            catalog_runs.settle_best(connection, self._run)
        self._known, self._offset = known, end
        return True


def owner_of(run_id: str, part: int) -> owner.Fields:
    """Return whose the event file of a process of a run is."""
    return {"run": run_id, "part": part}


def _steps_backwards(found: list[events.Event]) -> Iterator[int]:
    return (step for _, _, data in reversed(found) if _is_step(step := data.get(events.STEP)))


def _media(found: list[events.Event], run: int, part: int) -> list[dict[str, object]]:
    return [
        {
            "run": run,
            "part": part,
            "ts_ns": stamp,
            "kind": kind,
            "key": str(data["key"]),
            "path": str(data["path"]),
            "step": step if _is_step(step := data.get("step")) else None,
            "caption": caption if isinstance(caption := data.get("caption"), str) else None,
        }
        for stamp, kind, data in found
        if kind == events.IMAGE and "key" in data and "path" in data
    ]


def _batches(found: list[events.Event]) -> Iterable[SeriesBatch]:
    """Turn events into one batch of points a series.

    Events of one shape, those with the same names and stage, are taken apart column by column: nearly all events of a
    run share a few shapes, and a column costs a tenth of its values one by one.
    """
    shapes: defaultdict[tuple[Any, ...], list[events.Event]] = defaultdict(list)
    for event in found:
        if event[1] == events.METRICS:
            data = event[2]
            stage = data.get(events.STAGE, "")
            shapes[stage if isinstance(stage, str) else "", *data].append(event)
    batches: dict[tuple[str, str], SeriesBatch] = {}
    for (stage, *names), group in shapes.items():
        stamps = [event[0] for event in group]
        steps = _steps([event[2].get(events.STEP) for event in group])
        for name in names:
            if name not in (events.STEP, events.STAGE):
                values = [event[2][name] for event in group]
                batch = _batch(name, stage, stamps, steps, values)
                _add(batches, batch)
    return batches.values()


def _batch(name: str, stage: str, stamps: list[int], steps: list[int], values: list[Any]) -> SeriesBatch:
    if _FLOATS.issuperset(map(type, values)) and not any(map(isnan, values)):
        return SeriesBatch(name, stage, stamps, steps, values)
    batch = SeriesBatch(name, stage, [], [], [])
    for stamp, step, value in zip(stamps, steps, values, strict=True):
        number = _number(value)
        if number is not None:  # else it is text among the metrics of another program
            batch.stamps.append(stamp)
            batch.steps.append(step)
            batch.values.append(None if isnan(number) else number)
    return batch


def _add(batches: dict[tuple[str, str], SeriesBatch], batch: SeriesBatch) -> None:
    """Add points of a series, some of which may have come with events of another shape."""
    before = batches.get((batch.name, batch.stage))
    if before is not None:
        stamps = before.stamps + batch.stamps
        order = sorted(range(len(stamps)), key=stamps.__getitem__)
        steps, values = before.steps + batch.steps, before.values + batch.values
        ordered = [[column[place] for place in order] for column in (stamps, steps, values)]
        batch = SeriesBatch(batch.name, batch.stage, *ordered)  # type: ignore[arg-type]
    if batch.stamps:
        batches[batch.name, batch.stage] = batch


def _steps(steps: list[Any]) -> list[int]:
    plain = _INTEGERS.issuperset(map(type, steps)) and max(steps) < _FAR and min(steps) >= -_FAR
    return steps if plain else [step if _is_step(step) else 0 for step in steps]


def _is_step(step: object) -> TypeGuard[int]:
    """Tell a step from what the lines of other programs may hold in its place."""
    return isinstance(step, int) and -_FAR <= step < _FAR


def _number(value: object) -> float | None:
    if isinstance(value, str):
        return SPECIAL.get(value)
    try:
        return float(value) if isinstance(value, (int, float)) else None
    except OverflowError:  # an integer of over 300 digits, which is no float
        return None
