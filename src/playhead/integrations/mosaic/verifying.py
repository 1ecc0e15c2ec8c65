"""Reading back what was taken over of a run, and comparing it with the database value by value."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest
from typing import Any

from playhead.catalog.mosaic import ARRAYS, REFS, Telemetry
from playhead.errors import Damaged
from playhead.home import Home
from playhead.integrations.mosaic import blobs, rest
from playhead.integrations.mosaic.source import SourceRun
from playhead.lanes.arrays.adopted import AdoptedEpisode
from playhead.lanes.arrays.reel import Reel
from playhead.layout import RunFolder
from playhead.ref import make_frame_ref

Refs = tuple[str | None, str | None]  # to the frame and the observation of a step
Place = tuple[int, str | None, str | None]  # the same, behind the place of the step in the database

_BLOCK = 1 << 20


class Differs(Exception):
    """What is in the store is not what is in the source; the message says where."""


def verify(
    home: Home, telemetry: Telemetry, run: SourceRun, folder: RunFolder, tick: Callable[[int], None]
) -> Iterator[Place]:
    """Compare a run in a store with its source, step by step.

    Args:
        home: The store.
        telemetry: The database.
        run: The run.
        folder: Its folder in the store, or where it is being built.
        tick: Told how many steps were compared.

    Yields:
        For each step of which arrays were copied its place in the database, and its refs.

    Raises:
        Differs: Something is missing, or another value.
        Damaged: A file of the store cannot be read.
    """
    _compare_file(home, run)
    stored = rest.rows_in(folder.path / rest.FOLDER / rest.STEPS) if run.stretches else iter(())
    with contextlib.closing(_Reels(home)) as reels:
        for stretch in run.stretches:
            for place, row in telemetry.steps(stretch):
                found = next(stored, None)
                if found is None:
                    raise Differs(f"{stretch.episode_id}: the store has fewer steps than the database")
                where = f"step {row.get('step_index')} of {stretch.episode_id}"
                frame, observation = _compare_step(reels, row, found, where)
                if frame or observation:
                    yield place, frame, observation
            tick(stretch.steps)
    if next(stored, None) is not None:
        raise Differs("the store has more steps than the database")
    _compare_episodes(run, folder)


def _compare_file(home: Home, run: SourceRun) -> None:
    if run.file is None:
        return
    copied = home.layout.replay.reel(run.id).file
    if not copied.exists():
        raise Differs(f"{copied} is missing, the copy of {run.file}")
    with open(run.file, "rb") as one, open(copied, "rb") as other:
        while True:
            block = one.read(_BLOCK)
            if block != other.read(_BLOCK):
                raise Differs(f"{copied} is not {run.file}, of which it was to be a copy")
            if not block:
                return


def check_adopted(home: Home, run: SourceRun, episodes: Iterable[AdoptedEpisode]) -> None:
    """See that the replay of an adopted file has the episodes that the database knows.

    Raises:
        Differs: It has others.
    """
    with contextlib.closing(Reel(home.layout.replay.reel(run.id))) as reel:
        found = {(span.start, span.length, span.how) for span in reel.spans}
    for one in episodes:
        if (one.start, one.length, one.how) not in found:
            raise Differs(f"the replay has no episode of steps {one.start} to {one.stop - 1}")


def _compare_episodes(run: SourceRun, folder: RunFolder) -> None:
    path = folder.path / rest.FOLDER / rest.EPISODES
    for given, found in zip_longest(run.rollups, rest.rows_in(path) if run.rollups else ()):
        if given is None or found is None or not all(_same(value, found.get(name)) for name, value in given.items()):
            raise Differs(f"what is noted of {(given or found or {}).get('episode_id')} differs")


class _Reels:
    """The reels of a run, opened as they come."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._opened: dict[str, Reel] = {}

    def __getitem__(self, reel_id: str) -> Reel:
        if reel_id not in self._opened:
            self._opened[reel_id] = Reel(self._home.layout.replay.reel(reel_id))
        return self._opened[reel_id]

    def close(self) -> None:
        for reel in self._opened.values():
            reel.close()


def _compare_step(reels: _Reels, row: dict[str, Any], found: dict[str, Any], where: str) -> Refs:
    """Compare one step; give the refs to its frame and its observation, where these were copied."""
    reel_id, position = found.get(rest.REEL), found.get(rest.ROW)
    refs: dict[str, str] = {}
    for column, content in row.items():
        kept = found.get(column)
        if column in ARRAYS and not _same(content, kept):
            _compare_arrays(reels, blobs.read(column, content), kept, reel_id, position, f"{column} of {where}")
            name = "frames" if column == "render_payload" else "observations"
            refs[name] = make_frame_ref(str(reel_id), name, int(position))  # type: ignore[arg-type]
        elif column not in ARRAYS and not _same(content, kept) and not (column in REFS and kept is None):
            raise Differs(f"{column} of {where} is {content!r} in the database, and {kept!r} in the store"[:400])
    return refs.get("frames"), refs.get("observations")


def _compare_arrays(reels: _Reels, given: blobs.Field, kept: Any, reel_id: Any, position: Any, where: str) -> None:
    if reel_id is None or position is None or not given.values or not _same(given.rest, kept):
        raise Differs(f"{where} is not in the store")
    for name, value in given.values.items():
        try:
            stored = reels[reel_id].row(name, position)
        except (LookupError, Damaged) as error:
            raise Differs(f"{name}, {where}, cannot be read from the store: {error}") from error
        if stored is None or not blobs.equal(value, stored):
            raise Differs(f"{name}, {where}, has other values in the store")


def _same(given: Any, kept: Any) -> bool:
    if type(given) is not type(kept):
        return False
    return bool(given == kept) or (isinstance(given, float) and math.isnan(given) and math.isnan(kept))
