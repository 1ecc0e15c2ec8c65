"""The reels and traces of a run: begun, flushed and closed with it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from sys import getrefcount
from typing import TYPE_CHECKING, Any

from playhead import clock
from playhead.catalog.runs import RunRow
from playhead.checksums import Seals
from playhead.errors import Closed, Damaged, Exists
from playhead.home import Home

if TYPE_CHECKING:
    from playhead.lanes.arrays.writer import ReelWriter
    from playhead.replay_index import ReplayIndex
    from playhead.trace import TraceWriter


def _count(holder: Any, key: Any) -> int:
    return getrefcount(holder[key])


_LONE = _count((object(),), 0)  # what is counted where only the holder has it

# How far the catalogue may be behind what is played. Each time takes some milliseconds, for which whoever plays waits.
INDEX_SECONDS = 2


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
        self._completed: set[int] = set()  # the ids of what was completed here, since nobody else had it
        self._indexed_ns = 0
        self._asked = self._answered = 0  # how often all had to be indexed, and how often it was

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
        # What is needed at the end is loaded now: code that Python compiles then hides a Ctrl-C from the exit status.
        from playhead import run_seals, traces  # noqa: F401

        with self._lock:
            if name in self._traces:
                raise Exists(f"the run {self._row.id} has recorded the trace {name!r}; give this one another name")
            self._traces[name] = made = traces.new_trace(self._home, self._row.id, name, **options)
        return made

    def lengths(self) -> list[int]:
        """Count the steps of each reel and trace."""
        return [reel.row for reel, _ in list(self._reels)] + [len(trace) for trace in list(self._traces.values())]

    def _held(self) -> Iterator[tuple[ReelWriter | TraceWriter, bool]]:
        """Walk over all that was not completed here: each, and whether others hold it, who may record into it."""
        holders: list[tuple[Any, Any]] = [(pair, 0) for pair in list(self._reels)]
        holders += [(self._traces, name) for name in list(self._traces)]
        for holder, key in holders:
            is_held = _count(holder, key) != _LONE
            if id(holder[key]) not in self._completed:
                yield holder[key], is_held

    def is_held(self) -> bool:
        """Tell whether somebody may still record into a reel or a trace."""
        return any(is_held for _, is_held in self._held())

    def _complete(self) -> None:
        """Complete what nobody can record into any more."""
        for one, is_held in self._held():
            if not is_held:
                one.close()
                self._completed.add(id(one))

    def index(self) -> bool:
        """Bring the catalogue nearer to what was played, if that is due; tell whether there is more."""
        asked, now = self._asked, clock.elapsed_ns()
        if asked == self._answered and now - self._indexed_ns < INDEX_SECONDS * clock.SECOND:
            return False
        self._complete()
        more = False
        problems: list[Damaged] = []
        for _, index in list(self._reels):
            try:
                more |= index.advance()
            except Damaged as problem:  # one that cannot be indexed does not keep the others back
                problems.append(problem)
        if problems:
            raise problems[0]
        if not more:
            self._indexed_ns, self._answered = now, asked
        return more

    def _ask(self) -> None:
        self._asked += 1

    def flush(self, *, sync: bool = False) -> None:
        """Write down all that was recorded; the next `index` is due at once."""
        for reel, _ in list(self._reels):
            reel.flush(sync=sync)
        self.flush_traces(sync=sync)
        self._ask()

    def flush_traces(self, *, sync: bool = False) -> None:
        """Write down all steps of traces."""
        for trace in list(self._traces.values()):
            with contextlib.suppress(Closed):  # what has ended is in its file
                trace.flush(sync=sync)

    def close(self) -> None:
        """Complete all of them; the next `index` is due at once."""
        with contextlib.ExitStack() as each:  # one that cannot be closed does not keep the others open
            each.callback(self._ask)  # called last
            for reel, _ in self._reels:
                each.callback(reel.close)
            for trace in self._traces.values():
                each.callback(trace.close)

    def seals(self) -> Seals:
        """Return what the files are that were sealed here."""
        if not self._reels and not self._traces:
            return {}
        from playhead import run_seals

        reels = {reel.id for reel, _ in self._reels}
        return run_seals.of(self._home.layout, self._row.id, reels, list(self._traces))

    def let_go(self) -> None:
        """Close what reads on in the journals for the catalogue."""
        for _, index in self._reels:
            index.close()
