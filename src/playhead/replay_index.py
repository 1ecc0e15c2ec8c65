"""The steps of agents in the catalogue, as their reels say.

The one way in: read on in a reel from where the index ends, and commit the steps together with the new end. It runs in
the background while a run records, at the next open after a crash, and for every reel on `rebuild`.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import orjson

from playhead import layout, strictjson
from playhead.catalog import replay
from playhead.catalog.database import Connection
from playhead.catalog.replay import EpisodeFigures
from playhead.home import Home
from playhead.lanes.arrays.kind import ArrayKind
from playhead.lanes.arrays.reel import Reel, Span
from playhead.lanes.arrays.rows import TERMINATED, TRUNCATED
from playhead.lanes.arrays.sealing import episode_id

BATCH = 8192  # steps a transaction

_FRAME, _OBSERVATION = 4, 8
_MOST_NUMBERS = 64  # of an action that is spelled out in SQL


class ReplayIndex:
    """The index of one reel. Not safe in threads.

    Args:
        home: The store.
        run: The key of the run.
        reel_id: The reel.
    """

    def __init__(self, home: Home, run: int, reel_id: str) -> None:
        self._home = home
        self._run = run
        self._id = reel_id
        self._reel: Reel | None = None
        self._shapes: dict[tuple[str, ...], int] = {}
        self._known_notes = -1

    def catch_up(self) -> bool:
        """Index all steps that are in the reel now; tell whether there were any."""
        found = False
        while self.advance():
            found = True
        return found

    def advance(self) -> bool:
        """Index the next steps; tell whether there were some."""
        reel = self._opened()
        if reel is None:
            return False
        reel.refresh()
        if not reel.length:
            return False
        with self._home.database.read() as connection:
            known = replay.reel(connection, self._id)
        notes = sum(len(part.notes) for part in reel.parts)
        if known is not None and known.steps >= reel.length and notes == self._known_notes:
            return False
        try:
            with self._home.database.write() as connection:
                more = self._index(connection, reel)
        except BaseException:
            self._shapes.clear()  # keys that were never committed
            raise
        self._known_notes = -1 if more else notes
        return more

    def _opened(self) -> Reel | None:
        if self._reel is None:
            files = self._home.layout.replay.reel(self._id)
            if not files.exist():
                return None
            self._reel = Reel(files)
        return self._reel

    def _index(self, connection: Connection, reel: Reel) -> bool:
        number = layout.number_of_reel(self._id)
        facts = strictjson.encode(strictjson.plain(reel.facts)).decode()
        known = replay.put_reel(connection, self._run, self._id, number, facts)
        readable = reel.stretch(known.steps)
        start, stop = readable.start, min(readable.stop, readable.start + BATCH)
        last = replay.last_episode(connection, known.key)
        first = 0 if last is None else last.number
        spans = [span for span in reel.spans if span.number >= first and span.start < stop]
        rows = reel.rows(start, stop) if stop > start else None
        totals = {} if last is None else {last.number: (last.total_reward, last.terminated, last.truncated)}
        figures = [_figures(known.key, self._id, span, stop, start, rows, totals.get(span.number)) for span in spans]
        replay.put_episodes(connection, figures)
        replay.put_agents(connection, known.key, reel.agents)
        if rows is not None:
            keys = replay.episode_keys(connection, known.key, first)
            replay.add_steps(connection, list(self._steps(connection, reel, rows, start, stop, spans, keys)))
        replay.set_facts(connection, known.key, stop, facts)
        return len(reel.stretch(stop)) > 0

    def _steps(
        self,
        connection: Connection,
        reel: Reel,
        rows: Any,
        start: int,
        stop: int,
        spans: list[Span],
        keys: dict[int, int],
    ) -> Iterable[tuple[Any, ...]]:
        numbers = rows["episode"]
        origins = np.zeros(int(numbers.max()) + 1, np.int64)
        begins = np.zeros_like(origins)
        key_of = np.zeros_like(origins)
        for span in spans:
            origins[span.number], begins[span.number] = span.start, span.began_ns or 0
            key_of[span.number] = keys[span.number]
        flags = rows["flags"].astype(np.int64)
        groups, same = reel.groups, reel.same
        for name, flag in (("frames", _FRAME), ("observations", _OBSERVATION)):
            stored = same.get(name, name)
            if stored in groups:
                flags |= np.where(rows["has"] >> groups.index(stored) & 1, flag, 0)
        rewards = [None if math.isnan(reward) else reward for reward in rows["reward"].tolist()]
        infos = self._infos(connection, reel.infos(start, stop))
        return zip(
            key_of[numbers].tolist(),
            rows["agent"].tolist(),
            rows["step"].tolist(),
            (np.arange(start, stop) - origins[numbers]).tolist(),
            _actions(reel, start, stop),
            rewards,
            flags.tolist(),
            (rows["ts_ns"] - begins[numbers]).tolist(),
            *infos,
            strict=True,
        )

    def _infos(self, connection: Connection, texts: list[bytes]) -> tuple[list[int | None], list[str | None]]:
        """Take the names of infos apart from their values."""
        if not any(texts):
            return [None] * len(texts), [None] * len(texts)
        shapes: list[int | None] = []
        values: list[str | None] = []
        parsed = orjson.loads(b"[" + b",".join(text or b"null" for text in texts) + b"]")
        for text, found in zip(texts, parsed, strict=True):
            if not isinstance(found, dict) or not found:
                shapes.append(None)
                values.append(text.decode() if text else None)
                continue
            names = tuple(found)
            key = self._shapes.get(names)
            if key is None:
                key = replay.shape_key(connection, orjson.dumps(names).decode())
                self._shapes[names] = key
            shapes.append(key)
            values.append(orjson.dumps(list(found.values())).decode())
        return shapes, values

    def close(self) -> None:
        """Give files back."""
        if self._reel is not None:
            self._reel.close()
            self._reel = None


def _figures(
    reel: int,
    reel_id: str,
    span: Span,
    stop: int,
    start: int,
    rows: Any,
    before: tuple[float | None, bool, bool] | None,
) -> EpisodeFigures:
    total, terminated, truncated = before or (0.0, False, False)
    low, high = max(span.start, start), min(span.start + span.length, stop)
    if rows is not None and low < high:
        mine = rows[low - start : high - start]
        total = (math.nan if total is None else total) + float(mine["reward"].sum())
        flags = int(np.bitwise_or.reduce(mine["flags"]))
        terminated, truncated = terminated or bool(flags & TERMINATED), truncated or bool(flags & TRUNCATED)
    is_whole = span.start + span.length <= stop
    return EpisodeFigures(
        reel=reel,
        number=span.number,
        id=episode_id(reel_id, span.number),
        first=span.start,
        steps=max(0, high - span.start),
        total_reward=None if total is None or math.isnan(total) else total,
        terminated=terminated,
        truncated=truncated,
        how=span.how if is_whole else None,
        began_ns=span.began_ns or 0,
        ended_ns=span.ended_ns if is_whole else None,
        facts=strictjson.encode(strictjson.plain(span.facts or {})).decode(),
    )


def _actions(reel: Reel, start: int, stop: int) -> list[Any]:
    """Give actions as SQL holds them: a number, or JSON; nothing where there is none, or a large one."""
    kinds = [kind for name, kind in reel.kinds.items() if kind.group == "actions"]
    if not kinds or sum(int(np.prod(kind.shape)) for kind in kinds) > _MOST_NUMBERS:
        return [None] * (stop - start)
    present = reel.present(kinds[0].name, start, stop)
    if len(kinds) == 1 and kinds[0].name == "actions":
        found = _spelled(reel.read("actions", start, stop), kinds[0])
    else:
        columns = {kind.name.partition(".")[2]: reel.read(kind.name, start, stop).tolist() for kind in kinds}
        plain = {name: [_text(value) for value in values] for name, values in columns.items()}
        found = [
            strictjson.encode(strictjson.plain(dict(zip(plain, values, strict=True)))).decode()
            for values in zip(*plain.values(), strict=True)
        ]
    if present is not None:
        found = [value if there else None for value, there in zip(found, present.tolist(), strict=True)]
    return found


def _spelled(values: Any, kind: ArrayKind) -> list[Any]:
    if kind.shape == () and values.dtype.kind in "biu":
        plain: list[Any] = values.tolist()
        return plain
    if kind.shape == ():
        return [_text(value) for value in values.tolist()]
    if values.dtype.kind in "biuf":
        return [orjson.dumps(row, option=orjson.OPT_SERIALIZE_NUMPY).decode() for row in values]
    return [strictjson.encode(strictjson.plain(_text(row.tolist()))).decode() for row in values]


def _text(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, complex):
        return str(value)
    if isinstance(value, float) and math.isnan(value):
        return None
    return value


def index_run(home: Home, run: int, run_id: str, known: Iterable[str] | None = None) -> None:
    """Index all reels of a run.

    Args:
        home: The store.
        run: The key of the run.
        run_id: The run.
        known: The reels, where the caller knows them already.
    """
    for reel_id in home.layout.replay.reels_of(run_id) if known is None else known:
        index = ReplayIndex(home, run, reel_id)
        with contextlib.closing(index):
            index.catch_up()
