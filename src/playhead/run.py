"""Run: what was recorded by one program's life, to read, tag, delete and restore."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playhead import checksums, claims, clock, disk, facts, layout, markup, strictjson, typed
from playhead.catalog import episodes as catalog_episodes
from playhead.catalog import points, samples
from playhead.catalog import runs as catalog_runs
from playhead.catalog.runs import RunRow
from playhead.catalog.typed_rows import items_in, object_in
from playhead.claims import Claim
from playhead.errors import Damaged, NotFound, StoreLocked, WrongType
from playhead.home import Home
from playhead.layout import RunFolder

if TYPE_CHECKING:
    import pyarrow as pa

    from playhead.holdings import Holdings
    from playhead.lanes.scalars.signal import MetricSignal
    from playhead.traces import Traces


_CURVE, _MOST_METRICS = 60, 12  # of what a notebook shows
_MAY_WAKE_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True)
class Media:
    """An image of a run."""

    key: str
    step: int | None
    ts_ns: int
    caption: str | None
    path: Path


class Run:
    """One run of a store, as recorded so far.

    Metrics are read by name, as signals: `run["loss"].values`. Fields such as `status` are those of the moment in which
    the run was looked up; `reload()` looks again.
    """

    __slots__ = ("_home", "_row")

    def __init__(self, home: Home, row: RunRow) -> None:
        self._home = home
        self._row = row

    @property
    def id(self) -> str:
        """The id, unique in the store."""
        return self._row.id

    @property
    def project(self) -> str:
        """The project."""
        return self._row.project

    @property
    def name(self) -> str:
        """The name, which runs may share."""
        return self._row.name

    @property
    def status(self) -> str:
        """`running`, `finished`, `failed` or `interrupted`."""
        return self._row.status

    @property
    def exit_reason(self) -> str | None:
        """Why the run failed or was interrupted."""
        return self._row.exit_reason

    @property
    def created_at(self) -> float:
        """When the run was made, in seconds since 1970."""
        return self._row.created_at

    @property
    def ended_at(self) -> float | None:
        """When it ended."""
        return self._row.ended_at

    @property
    def duration(self) -> float | None:
        """How many seconds it ran, or has been running.

        If its recorder is gone and nobody has settled the run yet, up to its last sign of life.
        """
        if self.status == "running" and claims.is_recorded(self._home.layout, self.id):
            return max(0.0, clock.now() - self.created_at)
        return self._row.duration_seconds

    @property
    def best(self) -> float | None:
        """The best value of the primary metric."""
        return self._row.best_metric_value

    @property
    def best_step(self) -> int | None:
        """The step of the best value."""
        return self._row.best_metric_step

    @property
    def primary_metric(self) -> str | None:
        """The metric by which this run is judged."""
        return self._row.best_metric_name

    @property
    def points(self) -> int:
        """How many metric values were logged."""
        return self._row.metric_count

    @property
    def is_deleted(self) -> bool:
        """Whether the run is in the recycle bin."""
        return self._row.deleted_at is not None

    @property
    def deleted_at(self) -> float | None:
        """When it was put into the recycle bin."""
        return self._row.deleted_at

    @property
    def path(self) -> Path:
        """The folder with the run's files."""
        return self._folder.path

    @property
    def _folder(self) -> RunFolder:
        return self._home.layout.run_at(self._row.run_dir)

    @property
    def config(self) -> dict[str, Any]:
        """The config that was given at the start."""
        with self._home.database.understood():
            config = object_in(self._row.config)
        if not any(f'"{word}"' in self._row.config for word in strictjson.SPECIAL):
            return dict(config)
        return dict(strictjson.restore_except(config, facts.texts_in_config(self._folder)))

    @property
    def tags(self) -> list[str]:
        """The tags, sorted."""
        with self._home.database.understood():
            return sorted(items_in(self._row.tags))

    @property
    def notes(self) -> str:
        """Free text."""
        return self._row.notes

    @property
    def environment(self) -> dict[str, Any]:
        """Where and with what the run ran: git, packages, machine."""
        return facts.known(self._folder.environment, facts.ENVIRONMENT)

    @property
    def episodes(self) -> Sequence[Any]:
        """The episodes that this run recorded: what agents played, and what was recorded into datasets and finished.

        They are in order of their begin.
        """
        from playhead import datasets, replays

        played = replays.of_run(self._home, self._row.key)
        recorded = datasets.of_run(self._home, self.id)
        if not recorded:
            return played
        in_order = sorted([*played, *recorded], key=lambda episode: episode.created_ts_ns or 0)
        return replays.RunEpisodes(self, in_order)

    @property
    def datasets(self) -> dict[str, int]:
        """The datasets into which this run recorded, and how many episodes."""
        with self._home.database.read() as connection:
            return dict(Counter(known.dataset for known in catalog_episodes.of_run(connection, self.id)))

    @property
    def traces(self) -> Traces:
        """The traces that this run recorded, by name: `run.traces["fit"]`, `run.traces.open("fit", step=update)`."""
        from playhead import traces

        return traces.of_run(self._home, self.id)

    @property
    def artifacts_created(self) -> list[dict[str, Any]]:
        """The versions of artifacts that this run made, in order, each with its name and size."""
        from playhead.artifact import index

        return index.made_by(self._folder)

    @property
    def artifacts_used(self) -> list[dict[str, Any]]:
        """The versions of artifacts that this run used, in order, each with its name and size."""
        from playhead.artifact import index

        return index.used_by(self._folder)

    @property
    def holdings(self) -> Holdings:
        """What the run has besides metrics: episodes, traces, artifacts, and whether it is live."""
        from playhead import holdings

        return holdings.of_run(self._home, self._row)

    def summary(self, values: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        """Give the summary values, after setting those that are given.

        Args:
            values: Values to set, by name.
            more: Further ones.

        Raises:
            WrongType: If `best_metric_name` or `best_metric_mode`, which set the primary metric, cannot be one.
        """
        given = strictjson.plain(strictjson.items(values, "summary values") | more, words=False)
        for name, misfit in typed.fit(facts.SUMMARY, given).misfits.items():
            raise WrongType(f"{name!r} of a summary sets the primary metric: {misfit}")
        if given:
            self._change(self._folder.summary, given)
        return facts.load(self._folder.summary)

    def logs(self) -> str:
        """Give the text log."""
        try:
            with open(disk.open_to_read(self._folder.logs), encoding="utf-8", errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    @property
    def media(self) -> list[Media]:
        """The images, in the order they were logged.

        One whose recorded path leads out of the run's folder is left out; `playhead verify` reports it.
        """
        from playhead.signal.listed import Listed

        with self._home.database.read() as connection:
            rows = catalog_runs.media_of(connection, self._row.key)
        folder, found = self.path, []
        for row in rows:
            with contextlib.suppress(Damaged):  # a store may come from a stranger
                path = folder / layout.inside(row.path, folder)
                found.append(Media(row.key, row.step, row.ts_ns, row.caption, path))
        return Listed(found)

    def metric_names(self) -> list[str]:
        """List the names of the metrics."""
        with self._home.database.read() as connection:
            return sorted({row.name for row in catalog_runs.metrics_of(connection, self._row.key)})

    def metrics_summary(self) -> list[Any]:
        """List each metric and stage with how many points it has, its last, smallest and largest value.

        The rows have `name`, `stage`, `part`, `points`, `last_value`, `last_step`, `min_value`, `min_step`, `max_value`
        and `max_step`. No point is read for it.
        """
        with self._home.database.read() as connection:
            return list(catalog_runs.metrics_of(connection, self._row.key))

    def samples(self, series: Any, count: int) -> list[float | None]:
        """Give a few values spread over the life of a metric, enough to draw its curve; None is NaN.

        Args:
            series: A row that `metrics_summary` gave.
            count: How many values at most.
        """
        with self._home.database.read() as connection:
            return samples.of_series(connection, series.key, series.points, count)

    def __iter__(self) -> Iterator[str]:
        return iter(self.metric_names())

    def __contains__(self, name: object) -> bool:
        return name in self.metric_names()

    def __getitem__(self, name: str) -> MetricSignal:
        """Give a metric as a signal.

        Raises:
            NotFound: It was never logged; the message lists what was.
        """
        from playhead.lanes.scalars.signal import MetricSignal

        with self._home.database.read() as connection:
            rows = points.read(connection, self._row.key, name)
        if not rows:
            raise NotFound.among("metric", name, self.metric_names())
        with self._home.database.understood():
            return MetricSignal(name, rows)

    def metrics(self, names: Iterable[str] | None = None, *, format: str = "arrow") -> pa.Table | Any:
        """Give all points as a table with the columns name, stage, part, ts_ns, step and value.

        Args:
            names: Only these metrics.
            format: `arrow` for an Arrow table, `pandas` for a data frame (extra `pandas`).
        """
        if format not in ("arrow", "pandas"):
            raise WrongType(f"format is 'arrow' or 'pandas', not {format!r}")
        wanted = None if names is None else layout.several(names, "the names of metrics")
        from playhead import arrow

        with self._home.database.read() as connection:
            rows = points.read_all(connection, self._row.key, wanted)
        with self._home.database.understood():
            table = arrow.metrics_table(rows)
        return arrow.to_pandas(table) if format == "pandas" else table

    def tag(self, *tags: str) -> None:
        """Add tags."""
        checked = [layout.check_label(tag, "tag") for tag in tags]
        self._edit(lambda meta: {"tags": sorted({*(meta.get("tags") or []), *checked})})

    def untag(self, *tags: str) -> None:
        """Remove tags; one that is not there is fine."""
        self._edit(lambda meta: {"tags": sorted({*(meta.get("tags") or [])} - {*tags})})

    def note(self, text: str) -> None:
        """Set the notes."""
        self._edit(lambda _meta: {"notes": strictjson.plain(str(text))})

    def _edit(self, change: Any) -> None:
        self._change(self._folder.meta, lambda meta: {**change(meta), "edited_at": clock.now()})

    def _change(self, path: Path, change: Any) -> None:
        """Change keys of a JSON file of this run, then the catalogue."""
        with self._editing():
            content = facts.load(path)
            facts.check(path, facts.META if path == self._folder.meta else facts.SUMMARY, content)
            with checksums.following(self._folder, path):
                facts.write(path, content | (change(content) if callable(change) else change))

    @contextlib.contextmanager
    def _editing(self) -> Iterator[None]:
        """Let one editor at a time change the run's files, and bring the catalogue up to date after it.

        A claim names the run until that is done: after a crash in between, the next open does it.
        """
        self._home.check_writable()
        with self._locked():
            claim = Claim.for_editing(self._home.layout, self.id, self._folder)
            try:
                yield
            finally:
                try:
                    self._take_in()
                except BaseException:
                    claim.leave()
                    raise
                self._home.release(claim)
        self.reload()

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Keep all others from editing or purging the run.

        Raises:
            NotFound: It is gone.
        """
        try:
            with disk.locked(self._folder.path):
                yield
        except FileNotFoundError:
            if self._folder.meta.exists():
                raise
            raise self._gone() from None

    def _gone(self) -> NotFound:
        return NotFound(f"the run {self.id} is gone: {self.path} was moved or purged")

    def _take_in(self) -> None:
        """Bring the catalogue up to date with the JSON files of the run."""
        self._home.index(self._folder)

    def reload(self) -> None:
        """Look the run up again."""
        with self._home.database.read() as connection:
            row = catalog_runs.find(connection, self.id)
        if row is None:
            raise NotFound(f"the run {self.id} is gone: it was purged")
        self._row = row

    def delete(self, reason: str = "") -> None:
        """Put the run into the recycle bin: hidden, and as it was after `restore`."""
        if not self.is_deleted:
            marker = {"id": self.id, "deleted_at": clock.now(), "reason": strictjson.plain(str(reason))}
            with self._editing():
                facts.write(self._folder.deleted, marker | {"original_status": self.status})

    def restore(self) -> None:
        """Take the run out of the recycle bin."""
        with self._editing():
            disk.remove(self._folder.deleted)
            disk.sync_folder(self._folder.path)

    def purge(self) -> None:
        """Remove a deleted run for good.

        Raises:
            StoreLocked: It is not in the recycle bin, or is still being recorded.
            NotFound: It is gone.
        """
        self._home.check_writable()
        from playhead import replays, traces

        self._check_deleted()
        if any(claim.is_live() for claim in claims.of_run(self._home.layout, self.id)):
            raise StoreLocked(f"the run {self.id} is still being recorded; stop it first")
        self._check_given_up()
        disk.make_folders(self._home.layout.trash)
        with self._locked(), self._without_recorder():
            self._check_deleted()  # somebody may have restored it while this waited for the lock
            claim = Claim.for_editing(self._home.layout, self.id, self._folder)
            with self._home.database.write() as connection:
                catalog_runs.remove(connection, self.id)
            # Out of sight in one step, then away at leisure.
            disk.rename(self._folder.path, self._home.layout.trash / self.id)
            disk.sync_folder(self._folder.path.parent)  # else a power cut brings it back, and nobody knows of it
        disk.remove_tree(self._home.layout.trash / self.id)
        replays.remove(self._home, self.id)
        traces.remove(self._home, self.id)
        self._home.release(claim)
        # The folders of the name and the project go when their last run does.
        any(not disk.remove_empty(parent) for parent in list(self._folder.path.parents)[:3])

    def _check_deleted(self) -> None:
        if self._folder.deleted.exists():
            return
        if not self._folder.meta.exists():
            raise self._gone()
        raise StoreLocked(f"the run {self.id} is not in the recycle bin; delete it first")

    def _check_given_up(self) -> None:
        """Refuse to remove a run whose recorder fell silent on another machine, as long as it may only be frozen."""
        wait = _MAY_WAKE_SECONDS - (clock.now() - (self.ended_at or 0.0))
        if self.exit_reason == claims.NO_SIGN_OF_LIFE and wait > 0:
            raise StoreLocked(
                f"the run {self.id} was given up because its recorder on another machine gave no sign of life, and the "
                f"file system does not tell whether that process still exists; purge it in {wait / 3600:.0f} hours"
            )

    @contextlib.contextmanager
    def _without_recorder(self) -> Iterator[None]:
        """Hold every event file: claims are lost, and clocks wrong, but nobody records without that lock.

        Raises:
            StoreLocked: If a process holds one.
        """
        with contextlib.ExitStack() as held:
            for part in self._folder.parts():
                path = self._folder.events(part)
                if not held.enter_context(disk.locked(path, wait=False, patience=disk.PATIENCE)):
                    raise StoreLocked(
                        f"a process holds {path}: the run {self.id} is still being recorded; stop it first"
                    )
            yield

    def _repr_html_(self) -> str:
        best = "" if self.best is None else f"best {self.primary_metric} {self.best:.6g}"
        length = "" if self.duration is None else f"{self.duration:.3g} s"
        about = [self.status, self.project, length, f"{self.points:,} points", best, *self.tags]
        metrics = [
            [
                markup.text(row.name + (f" ({row.stage})" if row.stage else "")),
                markup.curve(self.samples(row, _CURVE)),
                markup.text(row.last_value),
                markup.soft(f"{row.points:,} points"),
            ]
            for row in self.metrics_summary()[:_MOST_METRICS]
        ]
        return markup.block(
            self.name,
            markup.line(markup.soft(self.id), *map(markup.soft, about)),
            markup.facts(self.holdings.lines()),
            markup.facts({f"config.{name}": value for name, value in self.config.items()}),
            markup.table(metrics),
        )

    def show(self, *, height: int = 720) -> Any:
        """Show the run's page within a notebook, as `playhead.show` does."""
        import playhead

        return playhead.show(self, height=height)

    def __repr__(self) -> str:
        best = "" if self.best is None else f", best {self.primary_metric} {self.best:.6g}"
        return (
            f"<{type(self).__name__} {self.id} {self.project}/{self.name}, {self.status}, {self.points} points{best}>"
        )
