"""Which runs are published on this machine, and what dead processes left behind."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

from playhead import disk
from playhead.errors import Damaged, NotFound
from playhead.lanes.live import segments
from playhead.lanes.live.form import Figures
from playhead.lanes.live.metadata import Metadata
from playhead.lanes.live.reader import ENDED, LiveReader


@dataclass(frozen=True, slots=True)
class LiveRun:
    """A run that is published now.

    Attributes:
        run_id: What `LiveReader` takes.
        state: `live`; `quiet` where another program publishes it, which does not say whether it still runs.
        width: Of its frames.
        height: Of its frames.
        figures: Reward, rolling return and steps a second.
        metadata: Step, episode and more, where its writer says so.
    """

    run_id: str
    state: str
    width: int
    height: int
    figures: Figures
    metadata: Metadata


def runs() -> list[LiveRun]:
    """List the runs that are published on this machine, by their id; those of dead processes are left out."""
    return [run for run, _ in _found() if run.state != ENDED]


def remove_stale() -> list[str]:
    """Remove the shared memory that dead processes left; give the runs.

    Only what such a process made with this library is removed, and only where the process can be looked up.
    """
    segments.sweep_drafts()
    removed = []
    for run, identity in _found():
        writer, path = run.metadata.writer, segments.path_of(run.run_id)
        is_dead = writer is not None and writer.is_here() and not writer.is_alive()
        if is_dead and segments.identity_of(path) == identity:
            with contextlib.suppress(PermissionError):  # somebody else's
                disk.remove(path)
                removed.append(run.run_id)
    return removed


def _found() -> Iterator[tuple[LiveRun, tuple[int, int]]]:
    """Look at all rings; give each with the file that it is."""
    for name in segments.paths():
        try:
            with LiveReader(name) as reader:
                height, width, _ = reader.shape
                found = LiveRun(name, reader.state, width, height, reader.figures, reader.metadata)
        except (NotFound, Damaged, PermissionError):  # it went meanwhile, is no ring, or is somebody else's
            continue
        yield found, reader.identity
