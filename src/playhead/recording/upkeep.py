"""What a run's background thread does while the caller records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from playhead import backlog, clock, disk, facts, forks, strictjson
from playhead.catalog.runs import RunRow
from playhead.claims import HEARTBEAT_SECONDS, Claim
from playhead.errors import NotFound
from playhead.home import Home
from playhead.lanes.scalars.events import EventWriter
from playhead.lanes.scalars.index import EventIndex
from playhead.recording.bulk import Bulk
from playhead.recording.lead import Lead
from playhead.recording.options import Options

INDEX_SECONDS = 0.5


class Upkeep:
    """Indexes what was recorded, notes the environment, gives signs of life, samples the machine and syncs.

    Attributes:
        interval: Seconds between two rounds.
        patience: Seconds to wait for others who hold the catalogue.

    Args:
        home: The store.
        row: The run.
        claim: What says that it is recorded.
        options: How.
        events: What it logs.
        logs: Its text log, kept here so that garbage collection does not close it before the run has ended.
        index: What reads on in that.
        lead: How far the events may be ahead of the index.
        bulk: Its reels and traces.
        log: Records a sample of the machine, if the run has not ended.
        sync: Puts what was logged on the medium.
    """

    def __init__(
        self,
        home: Home,
        row: RunRow,
        claim: Claim,
        options: Options,
        *,
        events: EventWriter,
        logs: disk.Appender,
        index: EventIndex,
        lead: Lead,
        bulk: Bulk,
        log: Callable[[Mapping[str, float]], None],
        sync: Callable[[], None],
    ) -> None:
        self._home = home
        self._key = row.key
        self._folder = home.layout.run_at(row.run_dir)
        self._claim = claim
        self._events, self._index, self._bulk, self._logs = events, index, bulk, logs
        self._lead = lead
        self._log, self._sync = log, sync
        self._working_folder = Path.cwd()
        self._environment_due = options.environment and claim.part == 1
        self._best_written: dict[str, Any] = {}
        self._is_best_due = False
        self._is_indexing = True  # the catalogue could be written when this was last tried
        self._recorded: list[int] = []
        self.is_judged_otherwise = False  # another metric is the primary one now
        self.patience = backlog.FIRST_SECONDS
        self._sampler = options.sampler()
        self._beats = _Every(HEARTBEAT_SECONDS)
        self._samples = _Every(options.system_metrics)
        self._syncs = _Every(options.sync_every)
        self.interval = min(INDEX_SECONDS, options.sync_every or INDEX_SECONDS, options.system_metrics or INDEX_SECONDS)

    def is_busy(self) -> bool:
        """Tell whether something was recorded since this was last asked."""
        before, self._recorded = self._recorded, [self._events.size, *self._bulk.lengths()]
        return self._recorded != before

    def is_late(self) -> bool:
        """Return whether the index of what is logged is far behind, and can be written."""
        return self._is_indexing and self._lead.is_late(self._events.size)

    def work(self) -> bool:
        """Do what is due; tell whether there is more.

        A catalogue that cannot be written is behind, and no error of whoever records.

        Raises:
            NotFound: The folder of the run is gone.
        """
        if self._environment_due:
            self._environment_due = False
            with forks.Working():  # a child would wait for ever for a module that is half loaded when it is forked
                from playhead.capture import environment

            found = environment.capture(self._working_folder)
            facts.write(self._folder.environment, strictjson.plain(found), named=False)
        if not self._events.is_there():
            raise NotFound(
                f"the folder of the run, {self._folder.path}, was moved or deleted while it was being recorded"
            )
        now = clock.elapsed_ns()
        if self._beats.is_due(now):
            self._claim.beat()
        if self._sampler is not None and self._samples.is_due(now):
            self._log(self._sampler.sample())
        if self._syncs.is_due(now):
            self._sync()
        return self._bring_forward()

    def _bring_forward(self) -> bool:
        """Bring the catalogue nearer to what is recorded; where it cannot be written, that is done later."""
        more = self._is_indexing = False
        with self._home.backlog.tolerating(self._claim.path, self.patience):
            self._home.database.check_same()
            more = self._index.advance()
            if self._index.end is not None:
                self._lead.note(self._index.end, self._events.size)
            if more or self._is_best_due or self.is_judged_otherwise:
                self._is_best_due, self.is_judged_otherwise = True, False
                self._write_best()
                self._is_best_due = False
            more = self._bulk.index() or more
            self._is_indexing = True
        if not self._is_indexing:
            self._lead.lift()
        self._home.backlog.settle()
        return more

    def _write_best(self) -> None:
        """Copy a new best value into `summary.json`, where people and other programs look for it."""
        best = self._home.best_of(self._key)
        if best != self._best_written:
            self._home.write_summary(self._folder, best, named=False)
            self._best_written = best

    def close(self) -> None:
        """Stop sampling the machine."""
        if self._sampler is not None:
            self._sampler.close()


class _Every:
    """Tells whether it is time again; None is never."""

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self._last = clock.elapsed_ns()

    def is_due(self, now: int) -> bool:
        if self._seconds is None or now - self._last < self._seconds * clock.SECOND:
            return False
        self._last = now
        return True
