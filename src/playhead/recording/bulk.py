"""The reels and traces of a run: begun, flushed and closed with it."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Any

from playhead.catalog.runs import RunRow
from playhead.errors import Closed, Exists
from playhead.home import Home

if TYPE_CHECKING:
    from playhead.lanes.arrays.writer import ReelWriter
    from playhead.replay_index import ReplayIndex
    from playhead.trace import TraceWriter


class Bulk:
    """What a run records that has threads and files of its own.

    Args:
        home: The store.
        row: The run.
    """

    def __init__(self, home: Home, row: RunRow) -> None:
        self._home = home
        self._row = row
        self._lock = threading.Lock()
        self._reels: list[tuple[ReelWriter, ReplayIndex]] = []
        self._traces: dict[str, TraceWriter] = {}

    def new_reel(self, **options: Any) -> ReelWriter:
        """Begin a reel; the options are those of `replays.new_reel`."""
        from playhead import replays
        from playhead.replay_index import ReplayIndex

        reel = replays.new_reel(self._home, self._row.id, **options)
        with self._lock:
            self._reels.append((reel, ReplayIndex(self._home, self._row.key, reel.id)))
        return reel

    def new_trace(self, name: str, **options: Any) -> TraceWriter:
        """Begin a trace, or go on with it; the options are those of `traces.new_trace`.

        Raises:
            Exists: This run has recorded one of this name since it began or was resumed.
        """
        from playhead import traces

        with self._lock:
            if name in self._traces:
                raise Exists(f"the run {self._row.id} has recorded the trace {name!r}; give this one another name")
            self._traces[name] = made = traces.new_trace(self._home, self._row.id, name, **options)
        return made

    def index(self) -> bool:
        """Bring the catalogue nearer to what was played; tell whether there is more."""
        more = False
        for _, index in list(self._reels):
            more |= index.advance()
        return more

    def flush(self, *, sync: bool = False) -> None:
        """Write down all that was recorded."""
        for reel, _ in list(self._reels):
            reel.flush(sync=sync)
        self.flush_traces(sync=sync)

    def flush_traces(self, *, sync: bool = False) -> None:
        """Write down all steps of traces."""
        for trace in list(self._traces.values()):
            with contextlib.suppress(Closed):  # what has ended is in its file
                trace.flush(sync=sync)

    def close(self) -> None:
        """Complete all of them."""
        with contextlib.ExitStack() as each:  # one that cannot be closed does not keep the others open
            for reel, _ in self._reels:
                each.callback(reel.close)
            for trace in self._traces.values():
                each.callback(trace.close)

    def let_go(self) -> None:
        """Close what reads on in the journals for the catalogue."""
        for _, index in self._reels:
            index.close()
