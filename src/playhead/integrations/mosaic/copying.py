"""From MOSAIC's database to the reels of a run, and to the Parquet files with all that is no array."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from playhead import disk, replays, strictjson
from playhead.catalog.mosaic import Stretch, Telemetry
from playhead.errors import BadKey, OutOfOrder, WrongShape, WrongType
from playhead.home import Home
from playhead.integrations.incoming import Refused
from playhead.integrations.mosaic import blobs, documents, rest
from playhead.integrations.mosaic.planning import Numbers, Plan, Tick, ending_of
from playhead.integrations.mosaic.source import SourceRun, stamp_of
from playhead.lanes.arrays import adopted
from playhead.lanes.arrays.adopted import AdoptedEpisode
from playhead.lanes.arrays.config import ReplayConfig
from playhead.lanes.arrays.writer import ReelWriter, note_in_index
from playhead.layout import RunFolder
from playhead.tape import Crew

Rollups = Mapping[str, Mapping[str, Any]]

_CODEC = "lzf"  # what MOSAIC writes, so that it reads our files


def adopt(home: Home, run: SourceRun, plan: Plan) -> None:
    """Copy the replay file of a run, byte by byte, to where its refs look for it, and say which episodes it has."""
    if run.file is None:
        return
    folder = home.layout.replay
    files = folder.reel(run.id)
    disk.make_folders(folder.path)
    disk.sweep(files.file)
    if disk.clone(run.file, files.file):
        disk.sync_file(files.file)
        disk.sync_folder(folder.path)
    else:
        disk.copy(run.file, files.file)
    episodes = adopted_episodes(run, plan)
    if episodes:
        adopted.write(files.episodes, episodes)
    note_in_index(folder, files)


def adopted_episodes(run: SourceRun, plan: Plan) -> list[AdoptedEpisode]:
    """Give the episodes that lie in the replay file of a run, as the database knows them."""
    rollups = _rollups(run)
    found = [
        AdoptedEpisode(one.start, one.stop - one.start, one.how, _facts(stretch, one.first, rollups))
        for stretch, one in zip(run.stretches, plan.filed, strict=True)
        if one is not None
    ]
    return sorted(found, key=lambda one: one.start)


def copy(home: Home, telemetry: Telemetry, run: SourceRun, plan: Plan, folder: RunFolder, tick: Tick) -> None:
    """Record all steps of a run that are not in its replay file.

    Args:
        home: The store.
        telemetry: The database.
        run: The run.
        plan: What becomes of it.
        folder: Its folder, which is there.
        tick: Told how many steps were copied.

    Raises:
        Refused: A step cannot be recorded.
    """
    aside = folder.path / rest.FOLDER
    disk.make_folders(aside, durable=False)
    types = dict(plan.types) | {rest.REEL: {str}, rest.ROW: {int}}
    with rest.writing(aside / rest.STEPS, types) as kept, contextlib.closing(_Copy(home, run, plan)) as copying:
        for stretch, chosen in zip(run.stretches, plan.chosen, strict=True):
            copying.episode(telemetry, stretch, chosen, kept)
            tick(stretch.steps)
    with rest.writing(aside / rest.EPISODES, rest.types_of(run.rollups)) as kept:
        for rollup in run.rollups:
            kept.add(rollup)


def _rollups(run: SourceRun) -> Rollups:
    return {str(rollup.get("episode_id")): rollup for rollup in run.rollups}


def _facts(stretch: Stretch, first: Mapping[str, Any], rollups: Rollups) -> dict[str, Any]:
    """Give what is known of an episode beside its steps, of which the first is given."""
    found = {"episode_id": stretch.episode_id, "seed": first.get("episode_seed")}
    found |= {name: first.get(name) for name in ("worker_id", "game_id")}
    with contextlib.suppress(blobs.Unreadable):
        found["metadata"] = blobs.decode(rollups.get(str(stretch.episode_id), {}).get("metadata"))
    return {name: strictjson.plain(value) for name, value in found.items() if value not in (None, {}, "")}


class _Copy:
    def __init__(self, home: Home, run: SourceRun, plan: Plan) -> None:
        self._home = home
        self._run = run
        self._rollups = _rollups(run)
        self._plan = plan
        self._dtypes = [reel.dtypes() for reel in plan.reels]
        self._crew: Crew | None = None
        self._reels: dict[int, ReelWriter] = {}
        self._last: dict[int, int] = {}

    def _reel(self, chosen: int) -> ReelWriter:
        if chosen not in self._reels:
            facts = {"program": documents.PROGRAM, "reel": chosen, "env_id": self._run.name}
            config = ReplayConfig(codec=_CODEC)
            if self._crew is None:
                self._crew = Crew(config.interval / 2)
            self._reels[chosen] = replays.new_reel(
                self._home, self._run.id, facts=facts, config=config, crew=self._crew
            )
        return self._reels[chosen]

    def episode(self, telemetry: Telemetry, stretch: Stretch, chosen: int | None, kept: rest.RestWriter) -> None:
        numbers, is_begun, how = Numbers(), False, "closed"
        for place, row in telemetry.steps(stretch):
            number = numbers.take(row)
            if chosen is None or number is None:  # it has no arrays, or is there already
                kept.add(row)
                continue
            fields = {column: self._field(place, column, content) for column, content in row.items()}
            try:
                if not is_begun:
                    self._begin(chosen, stretch, row)
                    is_begun = True
                position = self._step(chosen, number, row, fields)
            except (BadKey, OutOfOrder, WrongShape, WrongType) as error:
                raise Refused(f"step {row.get('step_index')} of {stretch.episode_id}: {error}") from error
            how = ending_of(row)
            where = {rest.REEL: self._reels[chosen].id, rest.ROW: position}
            kept.add({column: found.rest for column, found in fields.items()} | where)
        if chosen is not None and is_begun:
            self._reels[chosen].end(how, ts_ns=self._last[chosen])

    def _field(self, place: int, column: str, content: Any) -> blobs.Field:
        is_odd = (place, column) in self._plan.odd
        return blobs.Field({}, content) if is_odd else blobs.read(column, content)

    def _begin(self, chosen: int, stretch: Stretch, row: Mapping[str, Any]) -> None:
        began = max(stamp_of(row.get("timestamp")) or 0, self._last.get(chosen, 0) + 1)
        self._reel(chosen).begin(_facts(stretch, row, self._rollups), ts_ns=began)

    def _step(
        self, chosen: int, number: tuple[str | None, int], row: Mapping[str, Any], fields: Mapping[str, blobs.Field]
    ) -> int:
        stamp = self._last[chosen] = max(stamp_of(row.get("timestamp")) or 0, self._last.get(chosen, 0) + 1)
        dtypes = self._dtypes[chosen]
        arrays = {
            name: np.ascontiguousarray(value.array).astype(dtypes[name]).reshape(value.array.shape)
            for found in fields.values()
            for name, value in found.values.items()
        }
        reward = row.get("reward")
        return self._reels[chosen].step(
            arrays,
            reward if isinstance(reward, (int, float)) else math.nan,
            bool(row.get("terminated")),
            bool(row.get("truncated")),
            _info(row.get("info")),
            agent=number[0],
            step=number[1],
            ts_ns=stamp,
            owned=True,
        )

    def close(self) -> None:
        """Seal the reels."""
        with contextlib.ExitStack() as closing:  # each, whatever happens to the others
            if self._crew is not None:
                closing.callback(self._crew.stop)
            for reel in self._reels.values():
                closing.callback(reel.close)


def _info(content: Any) -> bytes:
    """Give an info as a JSON object; what is none is nothing here, and stays among the rest."""
    if content is None:
        return b""
    try:
        found = strictjson.plain(strictjson.decode(content))
    except (strictjson.JSONDecodeError, TypeError, RecursionError):
        return b""
    return strictjson.encode(found) if isinstance(found, dict) and found else b""
