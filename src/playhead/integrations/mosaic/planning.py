"""Which reel each episode goes into, and what its arrays are: decided for a whole run before its first step is copied.

Arrays of a reel keep their type and shape, and its times only grow. So episodes that differ, or were played at the same
time, go into several.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from playhead.catalog.mosaic import ARRAYS, REFS, Stretch, Telemetry
from playhead.integrations.mosaic import blobs, kinds
from playhead.integrations.mosaic.kinds import Kind, Kinds
from playhead.integrations.mosaic.source import SourceRun, stamp_of
from playhead.ref import FrameRef

_MOST_REELS = 64  # in which episodes go apart because of their times

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
class Plan:
    """What becomes of a run.

    Attributes:
        reels: The reels.
        chosen: For each episode the place of its reel; None where its steps are in the replay file already.
        odd: Columns of steps, whose arrays differ from those of all other steps of the episode: they stay as they are.
        types: For each column the types of what else than arrays is in it.
        arrays: How many arrays there are in BLOBs.
        kept: How many BLOBs hold none, or an odd one.
        dangling: How many steps have a ref to a replay file that is not there.
    """

    reels: list[ReelPlan] = field(default_factory=list)
    chosen: list[int | None] = field(default_factory=list)
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
    """
    made = Plan(types={name: set() for name in telemetry.columns})
    for stretch in run.stretches:
        found, is_in_file = _look(telemetry, run, stretch, made)
        tick(stretch.steps)
        made.chosen.append(None if is_in_file else _place(made, found, stretch))
    return made


def _look(telemetry: Telemetry, run: SourceRun, stretch: Stretch, made: Plan) -> tuple[Kinds, bool]:
    """Describe the arrays of an episode; tell whether all of its steps are in the replay file."""
    known: Kinds = {}
    is_in_file = run.file is not None
    numbers = Numbers()
    for place, row in telemetry.steps(stretch):
        is_new = numbers.take(row) is not None
        is_here, is_dangling = _follow(run, row)
        made.dangling += is_dangling
        is_in_file = is_in_file and is_here
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
    return known, is_in_file


def _follow(run: SourceRun, row: dict[str, Any]) -> tuple[bool, bool]:
    """Tell whether a step is in the replay file of its run, and whether its ref leads nowhere."""
    if any(row.get(column) is not None for column in ARRAYS):
        return False, False
    texts = [row[column] for column in REFS if isinstance(row.get(column), str)]
    refs = [FrameRef.parse(text) for text in texts]
    found = [ref is not None and ref.run_id == run.id and ref.index < run.file_steps for ref in refs]
    return bool(found) and all(found), not all(found)


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
