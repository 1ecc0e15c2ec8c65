"""Traces under the lens."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from playhead import owner, traces
from playhead.care.finding import DAMAGE, NOTE, SIGN, Finding, Thing, of_damage
from playhead.care.ground import Ground
from playhead.errors import Damaged
from playhead.lanes.keyframes import whose

LANE = "traces"


def things(ground: Ground) -> Iterator[Thing]:
    """Tell of every trace."""
    for run_id in ground.layout.traced_runs():
        for name, file in ground.layout.traces(run_id).files().items():
            yield Thing(LANE, f"{run_id}/{name}", partial(check, ground, file), file)


def check(ground: Ground, file: Path, full: bool) -> Iterator[Finding]:
    """Look at one trace."""
    if file.exists() and not file.stat().st_size:
        yield Finding(DAMAGE, LANE, file, "a trace", "an empty file", "Restore it from a copy")
        return
    damage = list(traces.verify_file(file)) if full else []
    yield from (of_damage(LANE, error) for error in damage)
    if not damage:
        yield from _whose(ground, file, full)


def _whose(ground: Ground, file: Path, full: bool) -> Iterator[Finding]:
    """See that a trace is the one that its name says."""
    try:
        facts = traces.facts_of(file, cheaply=not full)
        renamed = None if facts is None else whose.check(file, facts)
    except Damaged as error:
        yield of_damage(LANE, error)
        return
    if facts is not None and facts.get(owner.FIELD) is None:
        found = "nothing: an earlier version or another program made it"
        yield Finding(NOTE, LANE, file, "a trace that says whose it is", found)
    elif renamed is not None:
        found = f"one that was recorded as {renamed!r}: it was renamed by hand"
        yield Finding(NOTE, LANE, file, "a trace of this name", found, ground.command("repair"), SIGN)
