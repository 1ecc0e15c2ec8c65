"""RunWriter: what a training script holds while it records.

When `log` returns, the event is in the kernel, in one append to the run's `events.jsonl`: killing the process loses
nothing. `flush(sync=True)`, or `sync_every`, also puts it on the medium. A background thread indexes the events into
the catalogue, notes the environment, gives signs of life and, where asked, samples the machine.
"""

from __future__ import annotations

from playhead.recording.ending import end
from playhead.recording.options import Options
from playhead.recording.run_writer import RunWriter

__all__ = ["Options", "RunWriter", "end"]
