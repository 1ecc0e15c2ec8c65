"""The steps of agents in the catalogue, as their reels say.

The one way in: read on in a reel from where the index ends, and commit the steps together with the new end. It runs in
the background while a run records, at the next open after a crash, and for every reel on `rebuild`.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable
from enum import Enum
from functools import partial
from typing import Any

import numpy as np
import orjson

from playhead import infos, layout, strictjson
from playhead.catalog import replay
from playhead.catalog.database import Connection
from playhead.catalog.replay import EpisodeFigures
from playhead.errors import Damaged, NotFound, StoreTooNew, foreseen
from playhead.home import Home
from playhead.lanes.arrays import older
from playhead.lanes.arrays.kind import ArrayKind
from playhead.lanes.arrays.reel import Reel
from playhead.lanes.arrays.rows import TERMINATED, TRUNCATED
from playhead.lanes.arrays.sealing import episode_id
from playhead.lanes.arrays.spans import Span

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

    def check_older(self) -> None:
        """See that files of earlier versions, whose readers take them by their names, are of this reel.

        Raises:
            Misplaced: One is of another.
        """
        reel = self._opened()
        if reel is not None and older.unnamed(reel.parts):
            older.check(reel.files, reel.parts)

    def catch_up(self) -> bool:
        """Index all steps that are in the reel now; tell whether there were any."""
        found = False
        while self.advance():
            found = True
        return found

    def advance(self) -> bool:
        """Index the next steps; tell whether there were some.

        Raises:
            Damaged: A value of the reel is none that the catalogue can hold.
        """
        try:
            return self._advance()
        except Damaged:
            raise
        except (OverflowError, TypeError, ValueError, StoreTooNew) as error:
            # What a reel says may be anything, since it may come from elsewhere: a number that SQLite has no room for,
            # a text that is no JSON, a note of the wrong kind. It must not keep a store with other runs from opening.
            files = self._home.layout.replay.reel(self._id)
            where = files.file if files.file.exists() else files.journal
            run_id = layout.run_of_reel(self._id)
            remedy = f"Restore the replay of the run {run_id} from a copy; all other runs can be used"
            raise Damaged(where, "steps that the catalogue can hold", str(error), remedy) from error

    def _advance(self) -> bool:
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
            # Nested: also in a batch, a reel is indexed or not.
            with self._home.database.write() as connection, connection.begin_nested():
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
            replay.add_steps(connection, self._columns(connection, reel, rows, start, stop, spans, keys))
        replay.set_facts(connection, known.key, stop, facts)
        return len(reel.stretch(stop)) > 0

    def _columns(
        self,
        connection: Connection,
        reel: Reel,
        rows: Any,
        start: int,
        stop: int,
        spans: list[Span],
        keys: dict[int, int],
    ) -> list[list[Any]]:
        known = {span.number: (span.start, span.began_ns or 0, keys[span.number]) for span in spans}
        there, numbers = np.unique(rows["episode"], return_inverse=True)
        unknown = [number for number in there.tolist() if number not in known]
        if unknown:
            raise Damaged(reel.files.file, f"a note of episode {unknown[0]}, which has steps", "none")
        origins, begins, key_of = np.array([known[number] for number in there.tolist()], np.int64).T
        flags = rows["flags"].astype(np.int64)
        groups, same = reel.groups, reel.same
        for name, flag in (("frames", _FRAME), ("observations", _OBSERVATION)):
            stored = same.get(name, name)
            if stored in groups:
                flags |= np.where(rows["has"] >> groups.index(stored) & 1, flag, 0)
        rewards: list[float | None] = rows["reward"].tolist()
        for place in np.flatnonzero(np.isnan(rows["reward"])).tolist():
            rewards[place] = None
        shapes, values = infos.taken_apart(reel.infos(start, stop), partial(self._shape, connection))
        return [
            key_of[numbers].tolist(),
            rows["agent"].tolist(),
            rows["step"].tolist(),
            (np.arange(start, stop) - origins[numbers]).tolist(),
            _actions(reel, start, stop),
            rewards,
            flags.tolist(),
            (rows["ts_ns"] - begins[numbers]).tolist(),
            shapes,
            values,
        ]

    def _shape(self, connection: Connection, names: tuple[str, ...]) -> int:
        key = self._shapes.get(names)
        if key is None:
            self._shapes[names] = key = replay.shape_key(connection, infos.as_text(names))
        return key

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
        found = [
            infos.as_text(dict(zip(columns, map(_texts, row), strict=True)))
            for row in zip(*columns.values(), strict=True)
        ]
    if present is not None:
        found = [value if there else None for value, there in zip(found, present.tolist(), strict=True)]
    return found


def _spelled(values: Any, kind: ArrayKind) -> list[Any]:
    sort = values.dtype.kind
    if kind.shape == () and sort in "bi":
        integers: list[int] = values.tolist()
        return integers
    if kind.shape == () and sort == "u":
        return [value if value <= infos.MOST_INTEGER else str(value) for value in values.tolist()]
    if kind.shape == () and sort == "f":
        with np.errstate(over="ignore"):  # of more than 64 bits
            return [None if math.isnan(value) else value for value in values.astype(np.float64).tolist()]
    if sort not in "biuf" or values.dtype.itemsize > 8 or not values.dtype.isnative:
        return [infos.as_text(_texts(value)) for value in values.tolist()]
    is_finite = np.isfinite(values).reshape(len(values), -1).all(axis=1).tolist()
    rows = np.ascontiguousarray(values)
    return [
        orjson.dumps(row, option=orjson.OPT_SERIALIZE_NUMPY).decode() if finite else infos.as_text(row.tolist())
        for row, finite in zip(rows, is_finite, strict=True)
    ]


def _texts(value: Any) -> Any:
    """Turn bytes, which are texts here, into text, at any depth of lists."""
    if isinstance(value, list):
        return [_texts(part) for part in value]
    return value.decode(errors="replace") if isinstance(value, bytes) else value


class Compared(Enum):
    """How the catalogue stands to the files of a reel."""

    SAME = "it says the same"
    BEHIND = "the files hold more"
    OTHER = "it says other things, or more than the files hold"


def compare(home: Home, reel_id: str) -> Compared:
    """Compare what the catalogue says of a reel with its files; one that cannot be read counts as the same."""
    with home.database.read() as connection:
        known = replay.look_of_reel(connection, reel_id)
    try:
        with (
            foreseen(home.layout.replay.path),
            contextlib.closing(Reel(home.layout.replay.reel(reel_id))) as reel,
        ):
            found = (
                reel.length,
                strictjson.encode(strictjson.plain(reel.facts)).decode(),
                [(span.number, span.start, span.length, span.how, span.ended_ns) for span in reel.spans],
                list(reel.agents),
            )
    except (Damaged, NotFound, StoreTooNew):
        return Compared.SAME
    if known == found:
        return Compared.SAME
    if known is None:
        return Compared.BEHIND
    # An episode that goes on, or begins, is what indexing adds; all before it stays.
    settled = known[2][:-1]
    is_prefix = known[0] <= found[0] and settled == found[2][: len(settled)] and len(known[2]) <= len(found[2])
    return Compared.BEHIND if is_prefix else Compared.OTHER


def index_run(home: Home, run: int, run_id: str, known: Iterable[str] | None = None) -> None:
    """Index all reels of a run.

    Args:
        home: The store.
        run: The key of the run.
        run_id: The run.
        known: The reels, where the caller knows them already.

    Raises:
        Damaged: One of them cannot be indexed, or not all of it; all others are.
    """
    problems: list[Damaged] = []
    for reel_id in home.layout.replay.reels_of(run_id) if known is None else known:
        with contextlib.closing(ReplayIndex(home, run, reel_id)) as index:
            try:
                with foreseen(home.layout.replay.path):
                    index.check_older()
                    index.catch_up()
            except Damaged as problem:
                problems.append(problem)
    if problems:
        raise problems[0]
