"""RunWriter: a run that is being recorded."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from playhead import checksums, clock, disk, layout, strictjson
from playhead.catalog import points
from playhead.catalog.runs import RunRow
from playhead.claims import Claim
from playhead.errors import Closed, Forked, PlayheadError, StoreLocked, WrongType
from playhead.home import Home
from playhead.lanes import media
from playhead.lanes.scalars.events import DIGEST, IMAGE, EventWriter, integer_step
from playhead.lanes.scalars.index import EventIndex, owner_of
from playhead.recording import unfinished
from playhead.recording.bulk import Bulk
from playhead.recording.ending import ENDINGS, ending, note
from playhead.recording.lead import Lead
from playhead.recording.leaving import Watch, raise_late
from playhead.recording.options import Options
from playhead.recording.upkeep import Upkeep
from playhead.run import Run
from playhead.writer import BackgroundWriter

if TYPE_CHECKING:
    from playhead.artifact import Artifact, ArtifactVersion
    from playhead.artifacts import Paths
    from playhead.episode import DiskEpisodeWriter
    from playhead.lanes.arrays.config import ReplayConfig
    from playhead.lanes.arrays.writer import ReelWriter
    from playhead.lanes.keyframes.retention import Retention
    from playhead.lanes.scalars.signal import MetricSignal
    from playhead.tape import Crew
    from playhead.trace import TraceWriter
    from playhead.trace.identity import Step
    from playhead.traces import Traces

_Made = TypeVar("_Made")

FINISH_SECONDS = 10.0  # how long the end of a run waits for others who hold the catalogue


class RunWriter(Run):
    """A run that is being recorded; a context manager.

    Leaving it marks the run `finished`; by an exception `failed`, with the reason; by Ctrl-C or SIGTERM `interrupted`.
    All methods may be called from any thread of the process that made it. After the end those that record raise
    `Closed`; in a forked child they raise `Forked`. One that nobody holds any more, nor what it records into, ends.
    """

    def __init__(self, home: Home, row: RunRow, claim: Claim, options: Options) -> None:
        super().__init__(home, row)
        self._claim = claim
        self._lock = threading.RLock()
        self._ended: Closed | None = None
        self._is_begun = False
        self._index = EventIndex(home.database, row.key, claim.part, self._folder.events(claim.part), row.id)
        self._events = self._open_events()
        self._lead = Lead(self._events.size)
        self._logs = disk.Appender(self._folder.logs, exclusive=False)
        self._bulk = Bulk(home, row)
        self._upkeep = Upkeep(
            home,
            row,
            claim,
            options,
            events=self._events,
            logs=self._logs,
            index=self._index,
            lead=self._lead,
            bulk=self._bulk,
            log=_weakly(self._log_sample),
            sync=_weakly(self._sync),
        )
        self._console = options.console(_weakly(self._console_line))
        self._sampled_bytes = 0
        self._watch = Watch(_weakly(self._progress))
        self._background = BackgroundWriter(
            self._upkeep.work,
            self._upkeep.interval,
            f"playhead-{claim.run_id}",
            is_busy=self._upkeep.is_busy,
            is_late=self._upkeep.is_late,
        )
        self._background.start()
        if self._console is not None:
            self._console.start()
        unfinished.add(self)
        self._is_begun = True
        self._watch.begin()

    def _open_events(self) -> EventWriter:
        path = self._folder.events(self._claim.part)
        last_ns = last_step = 0
        if path.exists():
            self._index.catch_up()
            with self._home.database.read() as connection:
                _, last_ns, last_step = points.position(connection, self._row.key, self._claim.part)
        try:
            whose = owner_of(self._row.id, self._claim.part)
            return EventWriter(path, after_ns=last_ns, last_step=last_step, whose=whose)
        except BlockingIOError as error:
            raise StoreLocked(f"the run {self.id} is being recorded by another process; use store.attach") from error

    # -- recording --------------------------------------------------------------------------------------------------

    def log(self, values: Mapping[str, Any], step: int | None = None, stage: str | None = None) -> None:
        """Record metric values of one instant; durable against a kill of the process when it returns.

        Args:
            values: Numbers by name; NumPy and torch scalars too. NaN and the infinities are kept.
            step: The step; without it, one more than the last.
            stage: A word such as `train` or `eval` that tells values of one name apart.

        Raises:
            WrongType: A value is not a number.
            Closed: The run has ended.
        """
        with self._lock:
            if self._ended is not None:
                raise self._ended.with_traceback(None)
            if self._background.error is not None:
                self._background.check()
            start = self._events.metrics(values, step, stage)
        if start > self._lead.limit:
            self._lead.hold(start, self._background.wake)

    def log_text(self, text: str) -> None:
        """Add lines to the text log, each with date, time and zone."""
        text = strictjson.plain(str(text))
        with self._lock:  # nobody ends the run in between
            self._check()
            self._append_text(text)

    def _append_text(self, text: str) -> None:
        lines = text.split("\n") if text else [""]
        with self._lock:
            time = clock.local(self._events.now_ns()).isoformat(timespec="microseconds")
            self._logs.append("".join(f"{time} | {line}\n" for line in lines).encode())

    def _log_sample(self, values: Mapping[str, float]) -> None:
        with self._lock:
            if self._ended is None:
                before = self._events.size
                self._events.metrics(values, self._events.step)
                self._sampled_bytes += self._events.size - before

    def _progress(self) -> tuple[int, ...]:
        """Count what the caller has recorded."""
        return self._events.size - self._sampled_bytes, *self._bulk.lengths()

    def _console_line(self, line: str) -> None:
        self._append_text(strictjson.plain(line))

    def log_image(self, key: str, image: Any, caption: str | None = None, step: int | None = None) -> None:
        """Record an image.

        Args:
            key: Its name; images of one key are shown as a series.
            image: An array of height × width, or × 1, 3 or 4 channels, uint8 or floats from 0 to 1; a PIL image; or the
                path of a file.
            caption: Text shown with it.
            step: The step; without it, the newest one.
        """
        self._check()
        key = layout.check_label(key, "image key")
        path = media.save_image(self._folder.media, key, image)
        digest = checksums.digest_of(path)
        with self._lock:
            self._check()
            step = self._events.step if step is None else integer_step(step)
            data = {"key": key, "path": f"{self._folder.media.name}/{path.name}", "step": step, "caption": caption}
            self._events.other(IMAGE, data | {DIGEST: digest})

    def set_primary_metric(self, name: str, mode: str = "max") -> None:
        """Say by which metric the run is judged: its best value is kept, of all that were and will be logged.

        NaN is never the best; of equal values the first is.

        Args:
            name: The metric.
            mode: `max` or `min`.
        """
        self._check()
        if mode not in ("max", "min"):
            raise WrongType(f"mode is 'max' or 'min', not {mode!r}")
        self._change(
            self._folder.summary,
            {"best_metric_name": layout.check_label(name, "metric name"), "best_metric_mode": mode},
        )
        self._upkeep.is_judged_otherwise = True

    def new_episode(self, dataset: str, *, uid: str | None = None, sync: bool = True) -> DiskEpisodeWriter:
        """Begin an episode of this run in a dataset of the store; the writer is a context manager.

        Args:
            dataset: The name of the dataset, made by its first episode.
            uid: The episode's identity; without it, a new one.
            sync: Wait for the medium at its end. Without it, `store.dataset(name).sync()` waits once for many.

        Raises:
            Closed: The run has ended.
        """
        self._check()
        from playhead import datasets

        name = layout.check_name(dataset, "dataset name")
        return datasets.new_episode(self._home, name, uid=uid, run_id=self.id, sync=sync, held=self)

    def new_reel(
        self,
        *,
        facts: Mapping[str, Any] | None = None,
        stacks: Mapping[str, int] | None = None,
        config: ReplayConfig | None = None,
        crew: Crew | None = None,
    ) -> ReelWriter:
        """Begin a reel: what one environment records in this run. Ending the run closes it.

        Environments are recorded by `playhead.integrations.gymnasium.Recorder`, which calls this.

        Args:
            facts: What does not change, as JSON: the environment, its spaces. A resumed run goes on with the first reel
                of the same facts.
            stacks: For arrays of which a row is the newest of several that one observation is made of, how many.
            config: How it is recorded and sealed.
            crew: The thread that writes, where several reels share one.

        Raises:
            Closed: The run has ended.
        """
        self._check()
        return self._bulk.new_reel(facts=facts, stacks=stacks, config=config, crew=crew)

    def trace(
        self,
        name: str = "trace",
        step: Step | None = None,
        *,
        bucket: int | None = None,
        retention: Retention | None = None,
        parameters: Mapping[str, Any] | None = None,
        form: str = "trace",
    ) -> TraceWriter:
        """Begin a trace of this run, or in a resumed run go on with it; a context manager. Ending the run closes it.

        Args:
            name: Its name.
            step: Makes a state of the one before, `step(state, input)`. It is never called here: what is noted of it
                warns whoever recomputes states with another.
            bucket: How many keyframes a tier has; see `playhead.tiers`.
            retention: Another way to choose keyframes, instead of a bucket; see `playhead.retention`.
            parameters: What the function is told besides state and input: a learning rate. As JSON.
            form: `trace`, or for a small one that people read, `json` or `json.gz`.

        Raises:
            Closed: The run has ended.
            Exists: This run has recorded one of this name since it began or was resumed.
            StoreLocked: Another process of the run records it.
        """
        self._check()
        return self._bulk.new_trace(
            name, step=step, bucket=bucket, retention=retention, parameters=parameters, form=form
        )

    def log_artifact(
        self,
        artifact: Artifact | str,
        path: Paths | None = None,
        *,
        type: str = "model",
        aliases: Iterable[str] = (),
        metadata: Mapping[str, Any] | None = None,
        tags: Iterable[str] = (),
        exclude: Iterable[str] = (),
        progress: bool | None = None,
    ) -> ArtifactVersion:
        """Save files as a new version of an artifact, made by this run.

        When it returns, the version is on the medium. Contents that the store has already take no space.

        Args:
            artifact: A name, or an `Artifact` to which files were added.
            path: A file, a folder, or several of them.
            type: `model`, `dataset`, `config`, `code` or `custom`, where a name is given.
            aliases: Words that name this version from now on, such as `best`; `latest` always names the newest.
            metadata: Values of your own, as JSON.
            tags: Words to find it by.
            exclude: Patterns of what is left out of folders, such as `*.tmp` or `logs/*`.
            progress: Draw a bar; None for where there is a terminal and it takes long.

        Raises:
            NotFound: There is no such file.
            WrongType: There is something that cannot be saved; the message says why.
            Damaged: A file changed while it was read.
            Closed: The run has ended.
        """
        self._check()
        from playhead import artifacts

        draft = artifacts.drafted(artifact, path, type=type, metadata=metadata, tags=tags, exclude=exclude)
        return artifacts.log(self._home, self._folder, self.id, draft, aliases=aliases, progress=progress)

    def use_artifact(self, ref: str, *, verify: bool = True, progress: bool | None = None) -> ArtifactVersion:
        """Look a version of an artifact up, check it, and note that this run used it.

        Args:
            ref: `policy:latest`, `policy:v3`, `policy:best`, or `model/policy:v3` where types share a name.
            verify: Read all of its files; False leaves that to `download`, which does it in any case.
            progress: Draw a bar; None for where there is a terminal and it takes long.

        Raises:
            BadRef: The text names no version.
            NotFound: There is none, or it is deleted; the message lists what exists.
            Damaged: A file is not what was saved.
            Closed: The run has ended.
        """
        self._check()
        from playhead import artifacts

        version = artifacts.usable(self._home, ref)
        if verify:
            version.check(progress=progress)
        artifacts.use(self._home, self._folder, self.id, self._row.key, version, clock.now())
        return version

    def flush(self, *, sync: bool = False) -> None:
        """Bring the catalogue up to date with all that was logged and played.

        If another process holds the catalogue for over two seconds, it stays behind, and no error is raised.

        Args:
            sync: Also wait until it is on the medium, so that a power cut loses nothing.
        """
        self._check()
        self._bulk.flush(sync=sync)
        if sync:
            self._sync()
        self._background.run_now()

    def _sync(self) -> None:
        with self._lock:
            self._events.sync()
            self._logs.sync()
            disk.sync_folder(self._folder.path)

    # -- reading ----------------------------------------------------------------------------------------------------

    def _catch_up(self) -> None:
        """Let the catalogue know all that was recorded, so that it can be read.

        Raises:
            StoreLocked: Another process holds the catalogue. It may also be damaged, or on a full disk.
        """
        if self._ended is None:
            self.flush()
            if self._home.backlog.trouble is not None:
                raise self._home.backlog.trouble

    def reload(self) -> None:
        """Look the run up again, in a catalogue that can be read."""
        with self._home.backlog.tolerating(None):
            super().reload()

    def _take_in(self) -> None:
        self._home.backlog.do(self._files_key, super()._take_in)

    @property
    def _files_key(self) -> tuple[str, str]:
        return "files", self.id

    @property
    def _end_key(self) -> tuple[str, str]:
        return "end", self.id

    @property
    def episodes(self) -> Sequence[Any]:
        """The episodes recorded so far; see `Run.episodes`."""
        self._catch_up()
        return super().episodes

    @property
    def traces(self) -> Traces:
        """The traces recorded so far, by name; see `Run.traces`."""
        if self._ended is None:
            self._bulk.flush_traces()
        return super().traces

    @property
    def status(self) -> str:
        """`running`, or how the run ended."""
        return "running" if self._ended is None else super().status

    def __getitem__(self, name: str) -> MetricSignal:
        """Give a metric as a signal, with all that was logged so far."""
        self._catch_up()
        return super().__getitem__(name)

    def metric_names(self) -> list[str]:
        """List the names of the metrics logged so far."""
        self._catch_up()
        return super().metric_names()

    def metrics(self, names: Iterable[str] | None = None, *, format: str = "arrow") -> Any:
        """Give all points so far as a table; see `Run.metrics`."""
        self._catch_up()
        return super().metrics(names, format=format)

    def summary(self, values: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        """Set summary values, and give all of them; see `Run.summary`."""
        if values or more:
            self._check()
        return super().summary(values, **more)

    # -- the end ----------------------------------------------------------------------------------------------------

    def _check(self) -> None:
        if self._ended is not None:
            raise self._ended.with_traceback(None)
        self._background.check()

    def finish(self, status: str = "finished", reason: str | None = None) -> None:
        """End the run: everything logged is indexed, then the status is set. Ending twice is fine.

        If the catalogue cannot be written for ten seconds, the next open of the store indexes the rest.

        Args:
            status: `finished`, `failed` or `interrupted`.
            reason: Why, for the latter two.
        """
        if status not in ENDINGS:
            raise WrongType(f"a run ends as {', '.join(ENDINGS)}, not as {status!r}")
        with self._lock:
            if self._ended is not None:
                if isinstance(self._ended, Forked):
                    raise self._ended
                return
            self._ended = Closed(f"the run {self.id} has ended and records nothing more")
        unfinished.discard(self)
        self._watch.hold_back()
        try:
            try:
                if self._console is not None:
                    self._console.stop()
            finally:
                self._settle(status, reason)
        finally:
            self._watch.stop()
            raise_late()

    def _settle(self, status: str, reason: str | None) -> None:
        try:
            try:
                self._bulk.close()
            finally:
                self._upkeep.patience = FINISH_SECONDS
                self._background.stop()
        except BaseException:
            # The claim stays, so that the next open indexes what this one could not; the first error is reported.
            with contextlib.suppress(OSError, PlayheadError):
                self._let_go(status, reason)
            raise
        self._let_go(status, reason)
        self._settle_lists()
        checksums.note_part(self._folder, self._claim.part, self._bulk.seals())
        if self._home.backlog.trouble is None:
            self._home.release(self._claim)
        else:
            self._claim.leave()
            self._home.backlog.leave(self._claim.path, self._files_key, self._end_key)

    def _settle_lists(self) -> None:
        if self._home.layout.artifacts.path.is_dir():
            from playhead.artifact import lists  # loaded if there are some

            lists.settle(self._home, self._folder, self.id)

    def _let_go(self, status: str, reason: str | None) -> None:
        self._bulk.let_go()
        try:
            self._sync()  # before anything says that the run has ended, or what its files are
        finally:
            self._events.close()
            self._logs.close()
            self._upkeep.close()
        if self._claim.part == 1:
            ended_at = self._events.now_ns() / clock.SECOND
            note(self._folder, status, reason, ended_at)
            with self._home.backlog.tolerating(self._end_key):
                self._home.index(self._folder, values=False)
                self._home.database.check_same()  # a rebuild may have come in between
        if self._home.backlog.trouble is None:
            self.reload()
        elif self._claim.part == 1:  # what will be looked up once the catalogue has learnt it
            self._row = self._row._replace(status=status, exit_reason=reason, ended_at=ended_at)

    def close(self) -> None:
        """End the run as finished."""
        self.finish()

    def __enter__(self) -> RunWriter:
        self._check()
        self._watch.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.finish(*ending(error))

    def __del__(self) -> None:
        # Its thread and what watches the program know it only weakly. From here on the thread holds it, and ends it.
        if getattr(self, "_is_begun", False) and self._ended is None:
            unfinished.end_dropped(self)

    def _abandon(self) -> None:
        """Let go in a forked child: the files and the thread are the parent's."""
        self._lock = threading.RLock()
        self._ended = Forked(
            f"the run {self.id} belongs to the process that made it, and this is a forked child; "
            f"call store.attach({self.id!r}) here to record into it"
        )
        self._events.close()
        self._logs.close()


def _weakly(method: Callable[..., _Made]) -> Callable[..., _Made]:
    """Call a method of an object that others may let go of; nothing happens if they have."""
    known = weakref.WeakMethod(method)

    def call(*arguments: Any) -> Any:
        bound = known()
        return None if bound is None else bound(*arguments)

    return call
