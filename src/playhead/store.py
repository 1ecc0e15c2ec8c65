"""Store: open or create; hands out runs."""

from __future__ import annotations

import contextlib
import numbers
import os
import platform
import shutil
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from playhead import clock, disk, facts, filesystem, layout, recovery, strictjson
from playhead import ref as refs
from playhead.backlog import AGAIN_SECONDS
from playhead.catalog import episodes as catalog_episodes
from playhead.catalog import readonly
from playhead.catalog import replay as catalog_replay
from playhead.catalog import runs as catalog_runs
from playhead.catalog.query import RunQuery
from playhead.claims import Claim
from playhead.errors import Closed, Exists, NotAStore, NotFound, PlayheadError, StoreLocked, WrongType
from playhead.home import Home
from playhead.layout import RunFolder
from playhead.recording import Options, RunWriter, unfinished
from playhead.ref import FrameRef, TraceRef
from playhead.run import Run
from playhead.runs import Runs
from playhead.wording import counted

if TYPE_CHECKING:
    import pyarrow as pa

    from playhead.artifacts import Artifacts
    from playhead.datasets import StoredDataset
    from playhead.replay import FrameResolver, ReplayEpisode
    from playhead.tables import Tables

FORMAT = 1
NEEDED_VERSION = "0.1.0"

Progress = Callable[[Iterable[RunFolder]], Iterable[RunFolder]]


class Store:
    """One folder that holds everything recorded into it. Made by `playhead.open`.

    May be used from many threads and processes at once; a context manager that closes itself.
    """

    def __init__(self, home: Home, scratch: Path | None = None) -> None:
        self._home = home
        self._scratch = scratch
        self._closed = False
        self._resolver: FrameResolver | None = None

    @property
    def path(self) -> Path:
        """The store's folder."""
        return self._home.layout.root

    @property
    def mode(self) -> str:
        """`a` where the store can be changed, else `r`."""
        return "a" if self._home.database.mode == "a" and self._scratch is None else "r"

    @property
    def runs(self) -> Runs:
        """All runs, oldest first; call it to narrow."""
        self._check()
        return Runs(self._home, RunQuery())

    def run(
        self,
        project: str,
        name: str,
        *,
        config: Mapping[str, Any] | Any = None,
        tags: Iterable[str] = (),
        notes: str = "",
        run_id: str | None = None,
        resume: bool = False,
        environment: bool = True,
        capture_console: bool = False,
        system_metrics: float | None = None,
        sync_every: float | None = None,
    ) -> RunWriter:
        """Begin a run, or go on with one.

        Args:
            project: What the run belongs to.
            name: What it is called; runs may share a name.
            config: Parameters: a mapping, a dataclass or a namespace.
            tags: Words to find it by.
            notes: Free text.
            run_id: An id of your own; without it, one is made of the time.
            resume: Go on after the last step of the run with this id, or of the newest of this name.
            environment: Note git, packages and machine.
            capture_console: Also write what is printed into the run's text log.
            system_metrics: Seconds between samples of CPU, memory and GPU (extra `system`); None for none.
            sync_every: Seconds after which what was logged is put on the medium; by default that is left to the kernel,
                which a kill of the process does not hurt but a power cut does.

        Raises:
            Exists: A run with this id is there; resume it, or leave `run_id` out.
            StoreLocked: The run to resume is still being recorded; other processes of its job use `attach`. Or another
                process has held the catalogue for a minute; then nothing has changed.
            BadName: A name cannot be stored.
        """
        self._check_writable()
        unfinished.wait()
        if self._home.backlog.has_left:
            recovery.recover(self._home)
            self._home.backlog.has_left = False
        project, name = layout.check_name(project, "project"), layout.check_name(name, "run name")
        options = Options(environment, capture_console, system_metrics, sync_every)
        options.check()
        if resume:
            found = self._to_resume(project, name, run_id)
            if found is not None:
                return self._resume(found, options)
        meta = {
            "id": layout.check_run_id(_new_id() if run_id is None else run_id),
            "project": project,
            "name": name,
            "created_at": clock.now(),
            "python": platform.python_version(),
            "platform": f"{platform.system()} {platform.release()} ({platform.machine()})",
            "hostname": socket.gethostname(),
            "pid": os.getpid(),
            **_config(config),
            "tags": sorted({layout.check_label(tag, "tag") for tag in layout.several(tags, "tags")}),
            "notes": strictjson.plain(str(notes)),
        }
        return self._begin(meta, options)

    def _begin(self, meta: dict[str, Any], options: Options) -> RunWriter:
        run_id = meta["id"]
        folder = self._home.layout.run(meta["project"], meta["name"], run_id)
        self._home.database.check_unlocked()
        try:
            claim = Claim.make(self._home.layout, run_id, folder)
        except FileExistsError:
            raise self._existing(run_id) from None
        with self._home.database.read() as connection:
            taken = catalog_runs.find(connection, run_id) is not None
        if taken or folder.path.exists():
            claim.release()
            raise self._existing(run_id)
        with self._settled_on_error(claim):
            _make_run_folder(folder)
            started = {"id": run_id, "status": "running", "started_at": meta["created_at"]}
            facts.write(folder.status, started, named=False)
            facts.write(folder.meta, meta)  # last: it makes the folder a run
            return RunWriter(self._home, self._home.index(folder), claim, options)

    @contextlib.contextmanager
    def _settled_on_error(self, claim: Claim) -> Iterator[None]:
        """Bring a run to rest, and give its claim up, if its recording cannot begin."""
        try:
            yield
        except BaseException:
            # The first error is the one to report; where this fails too, the next open does it.
            try:
                recovery.settle(self._home, claim)
                self._home.release(claim)
            except (OSError, PlayheadError):
                claim.leave()
            raise

    def _existing(self, run_id: str) -> Exists:
        if self.runs.deleted.get(run_id) is not None:
            return Exists(
                f"the run {run_id!r} is in the recycle bin of {self.path}; "
                f"call store.runs.deleted[{run_id!r}].restore() to go on with it, or choose another run_id"
            )
        return Exists(
            f"a run with the id {run_id!r} exists in {self.path}; pass resume=True to go on with it, "
            "store.attach(run_id) to record into it beside its process, or another run_id"
        )

    def _to_resume(self, project: str, name: str, run_id: str | None) -> Run | None:
        if run_id is not None:
            return self.runs.get(run_id)
        newest = self.runs(
            project, where=f"name = '{name.replace(chr(39), chr(39) * 2)}'", order="-created_at", limit=1
        )
        return next(iter(newest), None)

    def _resume(self, run: Run, options: Options) -> RunWriter:
        folder = RunFolder(run.path)
        self._home.database.check_unlocked()
        recovery.recover_claim(self._home, self._home.layout.recording_entry(run.id, 1))
        try:
            claim = Claim.make(self._home.layout, run.id, folder)
        except FileExistsError:
            raise StoreLocked(
                f"the run {run.id} is being recorded by another process; call store.attach({run.id!r}) there to join it"
            ) from None
        with self._settled_on_error(claim):
            recovery.settle_lists(self._home, folder, run.id)
            facts.check_status(folder, run.id)
            started = facts.known(folder.status, facts.STATUS).get("started_at", clock.now())
            said = {"id": run.id, "status": "running", "started_at": started, "resumed_at": clock.now()}
            facts.write(folder.status, said)
            return RunWriter(self._home, self._home.index(folder), claim, options)

    def attach(self, run_id: str) -> RunWriter:
        """Record into a run that another process of the same job is recording, such as an actor or a rank.

        The process gets an event file of its own; leaving it does not end the run.

        Raises:
            NotFound: There is no such run.
            Closed: The run has ended.
        """
        self._check_writable()
        run = self.runs[str(run_id)]  # a number would be a position
        if run.status != "running":
            raise Closed(
                f"the run {run_id} is {run.status}; go on with it by store.run(…, run_id={run_id!r}, resume=True)"
            )
        folder = RunFolder(run.path)
        self._home.database.check_unlocked()
        part = 2
        while True:
            try:
                disk.create(folder.events(part), b"")
                break
            except FileExistsError:
                part += 1
        claim = Claim.make(self._home.layout, run_id, folder, part)
        with self._settled_on_error(claim):
            return RunWriter(self._home, run._row, claim, Options())

    def sql(self, query: str, parameters: readonly.Parameters = (), *, timeout: float | None = None) -> pa.Table:
        """Ask the catalogue in SQL; only reading is possible.

        Args:
            query: A SELECT, with `?` or `:name` for parameters. Tables: runs, series, points, run_values, run_tags,
                media, episode_folders, artifacts, artifact_versions, artifact_uses; views: experiments, metrics,
                episodes and steps (what agents played).
            parameters: Their values.
            timeout: Seconds after which the query is stopped.

        Returns:
            An Arrow table; `.to_pylist()` gives rows as dicts.

        Raises:
            BadQuery: The query is wrong or does more than read.
            QueryStopped: It took longer than `timeout`.
        """
        self._check()
        from playhead import arrow

        return arrow.table(*readonly.query(self._home.database, query, parameters, timeout=timeout))

    @property
    def datasets(self) -> list[str]:
        """The names of the datasets."""
        self._check()
        return self._home.layout.datasets()

    def dataset(self, name: str) -> StoredDataset:
        """Open a dataset of episodes, to read and to record; the first episode makes it.

        Args:
            name: Its name.

        Raises:
            BadName: The name cannot be stored.
        """
        self._check()
        from playhead import datasets

        return datasets.open_dataset(self._home, layout.check_name(name, "dataset name"))

    @property
    def tables(self) -> Tables:
        """The training tables, by name: `store.tables["pong"]`; `store.tables.build("pong", source)` makes one."""
        self._check()
        from playhead.tables import Tables

        return Tables(self._home.layout, self.mode)

    @property
    def artifacts(self) -> Artifacts:
        """The artifacts: `store.artifacts["policy:latest"]`; iterate to list them."""
        self._check()
        from playhead.artifacts import Artifacts

        return Artifacts(self._home)

    def resolve(self, ref: str) -> Any:
        """Give the value at an address: `h5://run_id/frames/1523`, `ep://teleop/{uid}/joint/17`, `trace://run_id/fit/730`.

        Of a trace, these are the keyframes: others are recomputed by `run.traces.open(name, step=…)`.

        Raises:
            BadRef: The text is no address.
            NotFound: Nothing is there; the message says what is missing.
            Damaged: What is there cannot be read.
        """
        self._check()
        found = refs.parse(ref)
        if isinstance(found, FrameRef):
            return self._frames[found]
        if isinstance(found, TraceRef):
            from playhead import traces

            return traces.resolve(self._home, found)
        from playhead import datasets

        return datasets.resolve(self._home, found)

    @property
    def _frames(self) -> FrameResolver:
        """What reads replays by reference; it keeps files open from one to the next."""
        if self._resolver is None:
            from playhead.replay import FrameResolver

            self._resolver = FrameResolver(self._home.layout.replay.path)
        return self._resolver

    def step_of(self, ref: str) -> dict[str, Any]:
        """Give the step that an address such as `h5://run_id/frames/1523` belongs to: a row of `steps` as a dict.

        Raises:
            BadRef: The text is no address.
            NotFound: There is no such step.
        """
        self._check()
        from playhead import replays

        return replays.step_of(self._home, ref)

    def episode(self, episode_id: str) -> ReplayEpisode:
        """Give an episode that an agent played by its id, such as `run_abc123-ep0042`.

        Raises:
            NotFound: There is none.
        """
        self._check()
        from playhead import replays

        return replays.episode(self._home, episode_id)

    def recent_steps(self, run: Run | str, n: int = 100, *, arrays: bool = True) -> list[dict[str, Any]]:
        """Give the newest steps of a run, oldest first: rows of `steps` as dicts, with `frame` and `observation`.

        Args:
            run: The run, or its id.
            n: How many.
            arrays: False to leave the arrays out.
        """
        self._check()
        from playhead import replays

        found = run if isinstance(run, Run) else self.runs[run]
        return replays.recent_steps(self._home, found._row.key, n, self._frames if arrays else None)

    def compact(self) -> list[str]:
        """Seal what crashed recordings left in journals into HDF5 files; give the ids of these replays.

        Nothing needs it: journals are read as they are. Files of others are only made by it, or when the run goes on.
        """
        self._check_writable()
        from playhead import replays

        return replays.compact(self._home)

    def purge(self, *, older_than: float = 0.0) -> list[str]:
        """Empty the recycle bin: remove for good what was deleted, and nothing else.

        Args:
            older_than: Only what has been in the bin for this many seconds.

        Returns:
            The ids of the runs that were removed.

        Raises:
            WrongType: If `older_than` is not a number of seconds, or is negative.
        """
        self._check_writable()
        if not isinstance(older_than, numbers.Real) or not older_than >= 0:
            raise WrongType(f"older_than is a number of seconds, 0 or more, not {older_than!r}")
        gone = []
        for run in list(self.runs.deleted):
            if clock.now() - (run.deleted_at or 0) >= older_than:
                try:
                    run.purge()
                except (NotFound, StoreLocked):
                    if RunFolder(run.path).deleted.exists():
                        raise
                    continue  # somebody has restored or purged it in the meantime
                gone.append(run.id)
        return gone

    def info(self) -> dict[str, Any]:
        """Describe the store: format, catalogue, counts, what is live, bytes."""
        self._check()
        from playhead import holdings

        home = self._home
        marker = facts.load(self._home.layout.marker)
        with self._home.database.read() as connection:
            counts = catalog_runs.counts(connection)
            datasets = catalog_episodes.counts(connection)
            played = catalog_replay.counts(connection)
        return {
            "path": str(self.path),
            "format": marker.get("format", FORMAT),
            "id": marker.get("id"),
            "file_system": filesystem.type_of(self.path),
            "network": self._home.database.network,
            **counts,
            "datasets": len(datasets),
            "episodes": sum(found.episodes for found in datasets),
            **played,
            "traces": sum(len(home.layout.traces(run_id).files()) for run_id in home.layout.traced_runs()),
            "tables": len(home.layout.tables()),
            "artifacts": len(artifacts := self.artifacts.list()),
            "artifact_versions": sum(row.versions for row in artifacts),
            "live": sorted(holdings.published(run._row for run in self.runs(status="running"))),
            "bytes": filesystem.size_of(self.path),
        }

    def _check(self) -> None:
        if self._closed:
            raise Closed(f"the store {self.path} is closed")
        if not self._home.layout.marker.exists():
            raise NotAStore(f"the store {self.path} was moved or deleted while it was open; open it where it is now")
        self._home.database.check_same()

    def _check_writable(self) -> None:
        self._check()
        self._home.check_writable()

    def close(self) -> None:
        """Give the catalogue back. Closing twice is fine."""
        if self._closed:
            return
        self._closed = True
        unfinished.wait()
        if self._resolver is not None:
            self._resolver.close()
        self._home.backlog.settle()
        if self._home.backlog.has_left:
            with contextlib.suppress(OSError, PlayheadError), self._home.database.patient(AGAIN_SECONDS):
                recovery.recover(self._home)  # else the next open does it
        self._home.database.checkpoint()
        self._home.database.close()
        if self._scratch is not None:
            shutil.rmtree(self._scratch)

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._closed:
            return f"<Store {self.path}, closed>"
        return f"<Store {self.path}, {counted(len(self.runs), 'run')}, mode {self.mode!r}>"


def _new_id() -> str:
    return f"{clock.local(clock.now_ns()):%Y%m%d_%H%M%S}_{os.urandom(3).hex()}"


def _config(config: Any) -> dict[str, Any]:
    exact = strictjson.plain({} if config is None else config, words=False)
    if not isinstance(exact, dict):
        raise WrongType(f"config is a mapping, a dataclass or a namespace, not {type(config).__name__}")
    texts = strictjson.special_texts(exact)
    return {"config": strictjson.plain(exact)} | ({facts.CONFIG_TEXTS: texts} if texts else {})


def _make_run_folder(folder: RunFolder) -> None:
    while True:
        disk.make_folders(folder.path.parent)
        try:
            disk.make_folder(folder.path)
        except FileNotFoundError:
            continue  # a purge took the empty folder above away in between
        disk.sync_folder(folder.path.parent)
        return
