"""From event files into the catalogue.

The one way in: read on in a file from where the index ends, and commit the points together with the new end. It runs in
the background while a run records, at the next open after a crash, and for every run on `rebuild`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import isnan
from pathlib import Path

from playhead.catalog import points
from playhead.catalog import runs as catalog_runs
from playhead.catalog.database import Database
from playhead.catalog.points import SeriesBatch, SeriesState
from playhead.lanes.scalars import events
from playhead.strictjson import SPECIAL

CHUNK = 1 << 20  # bytes of events a transaction; it bounds the memory of indexing


class EventIndex:
    """The index of one event file. Not safe in threads.

    Args:
        database: The catalogue.
        run: The key of the run.
        part: The recording process.
        path: The event file.
    """

    def __init__(self, database: Database, run: int, part: int, path: Path) -> None:
        self._database = database
        self._run = run
        self._part = part
        self._path = path
        self._known: dict[tuple[str, str], SeriesState] | None = None
        self._offset = -1

    def catch_up(self) -> bool:
        """Index all whole lines that are in the file now; tell whether there were any."""
        found = False
        while self._advance():
            found = True
        return found

    def _advance(self) -> bool:
        if self._offset < 0:
            with self._database.read() as connection:
                self._offset = points.position(connection, self._run, self._part)[0]
        data = events.read(self._path, self._offset, CHUNK)
        if not data:
            return False
        start, self._offset = self._offset, -1  # unknown until the commit
        known, self._known = self._known, None
        with self._database.write() as connection:
            offset, last_ns, last_step = points.position(connection, self._run, self._part)
            if offset != start:  # another process was here first
                return True
            found, bad = events.parse(data, last_ns)
            if known is None:
                known = points.states(connection, self._run, self._part)
            last_step = next(_steps_backwards(found), last_step)
            batches, media = _sorted_out(found, self._run, self._part)
            points.add(connection, self._run, self._part, batches, known)
            points.add_media(connection, media)
            last_ns = found[-1].ts_ns if found else last_ns
            end = start + len(data)
            points.advance(connection, self._run, self._part, offset=end, last_ns=last_ns, last_step=last_step, bad=bad)
            catalog_runs.settle_best(connection, self._run)
        self._known, self._offset = known, end
        return True


def _steps_backwards(found: list[events.Event]) -> Iterator[int]:
    return (step for event in reversed(found) if isinstance(step := event.data.get(events.STEP), int))


def _sorted_out(
    found: list[events.Event], run: int, part: int
) -> tuple[Iterable[SeriesBatch], list[dict[str, object]]]:
    batches: dict[tuple[str, str], SeriesBatch] = {}
    media: list[dict[str, object]] = []
    for stamp, kind, data in found:
        if kind == events.METRICS:
            _add_metrics(batches, stamp, data)
        elif kind == events.IMAGE and "path" in data and "key" in data:
            named = {"key": str(data["key"]), "path": str(data["path"])}
            shown = {"step": data.get("step"), "caption": data.get("caption")}
            media.append({"run": run, "part": part, "ts_ns": stamp, "kind": kind, **named, **shown})
    return batches.values(), media


def _add_metrics(batches: dict[tuple[str, str], SeriesBatch], stamp: int, data: dict[str, object]) -> None:
    step = data.pop(events.STEP, None)
    if not isinstance(step, int):
        step = 0
    stage = data.pop(events.STAGE, "")
    if not isinstance(stage, str):
        stage = ""
    for name, value in data.items():
        number = value if type(value) is float else _number(value)
        if number is None:
            continue  # text among the metrics of another program
        batch = batches.get((name, stage))
        if batch is None:
            batch = batches[name, stage] = SeriesBatch(name, stage, [], [], [])
        batch.stamps.append(stamp)
        batch.steps.append(step)
        batch.values.append(None if isnan(number) else number)


def _number(value: object) -> float | None:
    if isinstance(value, str):
        return SPECIAL.get(value)
    return float(value) if isinstance(value, (int, float)) else None
