"""Which reel each episode goes into, and what its arrays are: decided for a whole run before its first step is copied.

Arrays of a reel keep their type and shape, and its times only grow. So episodes that differ, or were played at the same
time, go into several.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from playhead.catalog.mosaic import ARRAYS, REFS, Stretch, Telemetry
from playhead.integrations.incoming import Refused
from playhead.integrations.mosaic import blobs, kinds
from playhead.integrations.mosaic.kinds import Kind, Kinds
from playhead.integrations.mosaic.source import SourceRun, stamp_of
from playhead.ref import FrameRef
from playhead.signal import keys

_MOST_REELS = 64  # in which episodes go apart because of their times

FACTS = ("episode_seed", "worker_id", "game_id")  # columns of its first step that are facts of an episode

Tick = Callable[[int], None]


class Numbers:
    """The numbers of the steps of an episode, each of which counts once for an agent: the first step of it wins."""

    def __init__(self) -> None:
        self._last: dict[str | None, int] = {}

    def take(self, row: Mapping[str, Any]) -> tuple[str | None, int] | None:
        """Give agent and number of a step; None where there was such a step before, or it has no number."""
        number, agent = row.get("step_index"), row.get("agent_id")
        agent = None if agent in (None, "") else str(agent)
        if type(number) is not int or number <= self._last.get(agent, -1):
            return None
        self._last[agent] = number
        return agent, number


def ending_of(row: Mapping[str, Any]) -> str:
    """Tell how an episode ended whose last step this is."""
    return "terminated" if row.get("terminated") else "truncated" if row.get("truncated") else "closed"


@dataclass(slots=True)
class ReelPlan:
    """One reel.

    Attributes:
        kinds: Its arrays.
        last_ns: The end of its last episode.
    """

    kinds: Kinds
    last_ns: int

    def dtypes(self) -> dict[str, np.dtype[Any]]:
        """Give the types of its arrays."""
        return {name: kind.resolved(name) for name, kind in self.kinds.items()}


@dataclass(slots=True)
class Filed:
    """Where in the replay file an episode lies.

    Attributes:
        first: Columns of its first step, as the database has them.
        start: Its first step in the file.
        stop: The step behind its last one.
        how: How it ended.
    """

    first: Mapping[str, Any]
    start: int
    stop: int
    how: str


@dataclass(slots=True)
class Plan:
    """What becomes of a run.

    Attributes:
        reels: The reels.
        chosen: For each episode the place of its reel; None where its steps are in the replay file already.
        filed: For each episode where it lies in the replay file, if it lies there in one piece.
        odd: Columns of steps, whose arrays differ from those of all other steps of the episode: they stay as they are.
        types: For each column the types of what else than arrays is in it.
        arrays: How many arrays there are in BLOBs.
        kept: How many BLOBs hold none, or an odd one.
        dangling: How many steps have a ref to a replay file that is not there.
    """

    reels: list[ReelPlan] = field(default_factory=list)
    chosen: list[int | None] = field(default_factory=list)
    filed: list[Filed | None] = field(default_factory=list)
    odd: set[tuple[int, str]] = field(default_factory=set)
    types: dict[str, set[type]] = field(default_factory=dict)
    arrays: int = 0
    kept: int = 0
    dangling: int = 0


def plan(telemetry: Telemetry, run: SourceRun, tick: Tick) -> Plan:
    """Look at every step of a run.

    Args:
        telemetry: The database.
        run: The run.
        tick: Told how many steps were looked at.

    Raises:
        Refused: A step is of a time that cannot be recorded.
    """
    made = Plan(types={name: set() for name in telemetry.columns})
    for stretch in run.stretches:
        found, is_in_file = _look(telemetry, run, stretch, made)
        tick(stretch.steps)
        made.chosen.append(None if is_in_file else _place(made, found, stretch))
    made.filed = _apart(made.filed)
    return made


def _apart(filed: Sequence[Filed | None]) -> list[Filed | None]:
    """Leave out episodes that reach into each other, as where several were played at the same time."""
    last: Filed | None = None
    mixed: set[int] = set()
    for one in sorted((one for one in filed if one is not None), key=lambda one: one.start):
        if last is not None and one.start < last.stop:
            mixed |= {id(one), id(last)}
        if last is None or one.stop > last.stop:
            last = one
    return [None if one is None or id(one) in mixed else one for one in filed]


def _look(telemetry: Telemetry, run: SourceRun, stretch: Stretch, made: Plan) -> tuple[Kinds, bool]:
    """Describe the arrays of an episode; tell whether all of its steps are in the replay file."""
    known: Kinds = {}
    is_in_file = run.file is not None
    numbers, filed = Numbers(), _Filing()
    late: Mapping[str, Any] | None = None
    for place, row in telemetry.steps(stretch):
        is_new = numbers.take(row) is not None
        if late is None and is_new and (stamp_of(row.get("timestamp")) or 0) > keys.MOST:
            late = row
        at, is_dangling = _follow(run, row)
        made.dangling += is_dangling
        is_in_file = is_in_file and at is not None
        if at is not None and is_new:
            filed.add(at, row)
        for column, content in row.items():
            fitting = blobs.read(column, content) if is_new else blobs.Field({}, content)
            if fitting.values:
                merged = kinds.merge(known, {name: Kind.of(value) for name, value in fitting.values.items()})
                if merged is None:
                    made.odd.add((place, column))
                    fitting = blobs.Field({}, content)
                else:
                    known = merged
                    made.arrays += len(fitting.values) if column in ARRAYS else 0
            made.kept += column in ARRAYS and content is not None and not fitting.values
            if fitting.rest is not None:
                made.types[column].add(type(fitting.rest))
    if late is not None and not is_in_file:
        raise Refused(
            f"step {late.get('step_index')} of {stretch.episode_id} is of the time {late.get('timestamp')!r}, and "
            "times in nanoseconds have 64 bits, until April 2262. Correct it in the database, and migrate again"
        )
    made.filed.append(filed.result if is_in_file else None)
    return known, is_in_file


class _Filing:
    """Follows an episode through the replay file."""

    def __init__(self) -> None:
        self._found: Filed | None = None
        self._is_in_order = True

    def add(self, at: int, row: Mapping[str, Any]) -> None:
        """Take the next step of it, which is at some place in the file."""
        how = ending_of(row)
        if self._found is None:
            self._found = Filed({name: row.get(name) for name in FACTS}, at, at + 1, how)
            return
        self._is_in_order = self._is_in_order and at >= self._found.stop
        self._found.stop, self._found.how = at + 1, how

    @property
    def result(self) -> Filed | None:
        """Where it lies; None where its steps are not in order."""
        return self._found if self._is_in_order else None


def _follow(run: SourceRun, row: dict[str, Any]) -> tuple[int | None, bool]:
    """Give where in the replay file of its run a step is, if it is there; tell whether its ref leads nowhere."""
    if any(row.get(column) is not None for column in ARRAYS):
        return None, False
    texts = [row[column] for column in REFS if isinstance(row.get(column), str)]
    refs = [FrameRef.parse(text) for text in texts]
    found = [ref.index for ref in refs if ref is not None and ref.run_id == run.id and ref.index < run.file_steps]
    is_whole = len(found) == len(refs)
    return min(found) if found and is_whole else None, not is_whole


def _place(made: Plan, found: Kinds, stretch: Stretch) -> int:
    began, ended = stamp_of(stretch.began) or 0, stamp_of(stretch.ended) or 0
    for number, reel in enumerate(made.reels):
        merged = kinds.merge(reel.kinds, found)
        if merged is None:
            continue
        if reel.last_ns < began or len(made.reels) >= _MOST_REELS:
            reel.kinds, reel.last_ns = merged, max(reel.last_ns + stretch.steps, ended)
            return number
    made.reels.append(ReelPlan(found, ended))
    return len(made.reels) - 1
