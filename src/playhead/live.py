"""Live: the newest frame of whatever runs now, for anybody on this machine who wants to look.

    from playhead import live

    with live.LiveWriter(run.id) as writer:
        for frame, reward, ended in playing():
            writer.step(frame, reward, ended)

    reader = live.LiveReader(live.runs()[0].run_id)
    reader.latest().picture

The newest frame wins: a writer never waits, and a frame that nobody looked at in time is gone. What is to last is
recorded. Linux on x86-64 only.

`FastLaneWriter` and `FastLaneReader` are the same rings under the calls that users of the MOSAIC program know.
"""

from __future__ import annotations

from playhead.lanes.live.fastlane import (
    FastLaneConfig,
    FastLaneFrame,
    FastLaneMetrics,
    FastLaneReader,
    FastLaneWriter,
)
from playhead.lanes.live.form import Figures
from playhead.lanes.live.metadata import Metadata
from playhead.lanes.live.reader import ENDED, LIVE, QUIET, LiveFrame, LiveReader
from playhead.lanes.live.running import LiveRun, remove_stale, runs
from playhead.lanes.live.writer import LiveWriter

__all__ = [
    "ENDED",
    "LIVE",
    "QUIET",
    "FastLaneConfig",
    "FastLaneFrame",
    "FastLaneMetrics",
    "FastLaneReader",
    "FastLaneWriter",
    "Figures",
    "LiveFrame",
    "LiveReader",
    "LiveRun",
    "LiveWriter",
    "Metadata",
    "remove_stale",
    "runs",
]
