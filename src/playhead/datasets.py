"""The datasets of a store: folders of episodes that the catalogue lists."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Self

from playhead import episode_index
from playhead.catalog import episodes as catalog_episodes
from playhead.dataset import DatasetWriter, EditedDataset, LocalDataset, LocalDatasetWriter
from playhead.episode import DiskEpisode, DiskEpisodeWriter, Unfinished
from playhead.errors import NotFound, OutOfRange
from playhead.home import Home
from playhead.ref import EpisodeRef
from playhead.wording import counted


class StoredDataset(EditedDataset, DatasetWriter):
    """A dataset of a store: the finished episodes with their edits applied, as they are now, and a place for new ones.

    Made by `store.dataset(name)`. `drop`, `undrop` and `set_static` write an edit and give a new view; `unfinished`
    lists what was cut short.
    """

    def __init__(self, home: Home, name: str) -> None:
        self._home = home
        self.name = name
        self._place = home.layout.dataset(name)
        self._recordings = LocalDataset(self._place.path)
        super().__init__(self._recordings, self._place.path)

    @property
    def path(self) -> Path:
        """The folder."""
        return self._place.path

    def new_episode(
        self,
        *,
        uid: str | None = None,
        created_ts_ns: int | None = None,
        run_id: str | None = None,
        sync: bool = True,
    ) -> DiskEpisodeWriter:
        """Begin an episode; the writer is a context manager.

        Args:
            uid: Its identity; without it, a new one.
            created_ts_ns: When it began, for recordings that come from elsewhere.
            run_id: The run that records it; `run.new_episode` fills it in.
            sync: Wait for the medium at its end. Without it, `dataset.sync()` waits once for many.

        Raises:
            ReadOnly: The store is open for reading.
        """
        return new_episode(self._home, self.name, uid=uid, created_ts_ns=created_ts_ns, run_id=run_id, sync=sync)

    def sync(self) -> None:
        """Wait until all episodes that have ended are on the medium, so that a power cut loses none."""
        LocalDatasetWriter(self.path).sync()

    def _write(self, record: dict[str, Any]) -> Self:
        self._home.check_writable("change it")
        return super()._write(record)

    @property
    def unfinished(self) -> list[Unfinished]:
        """The episodes whose recording has not come to its end; `recover()` makes a normal one of each."""
        return [CataloguedUnfinished(self._home, self.name, found.path) for found in self._recordings.unfinished]

    def _has(self, uid: str) -> bool:
        with self._home.database.read() as connection:
            known = catalog_episodes.by_uid(connection, self.name, uid) is not None
        return known or super()._has(uid)

    def by_uid(self, uid: str) -> DiskEpisode:
        """Find an episode by its identity, dropped or not.

        Raises:
            NotFound: There is none.
        """
        with self._home.database.read() as connection:
            known = catalog_episodes.by_uid(connection, self.name, uid)
        if known is None:
            return self._recordings.by_uid(uid)
        return DiskEpisode(self._place.episode(episode_index.locate(self._home, self.name, uid, known.number)).path)

    def ref(self, uid: str, signal: str, position: int) -> EpisodeRef:
        """Give the address of a sample; `str()` of it goes into files and messages."""
        return EpisodeRef(self.name, uid, signal, position)

    def reload(self) -> Self:
        """Look again at what is there."""
        return type(self)(self._home, self.name)

    def _again(self) -> Self:
        return self.reload()

    def __reduce__(self) -> tuple[Any, ...]:
        return EditedDataset, (self._recordings, self.path)

    def __repr__(self) -> str:
        more = f", {len(self._recordings.unfinished)} unfinished" if self._recordings.unfinished else ""
        dropped = f", {len(self.dropped)} dropped" if self.dropped else ""
        return f"<Dataset {self.name!r} of {self._home.layout.root}, {counted(len(self), 'episode')}{more}{dropped}>"


def new_episode(
    home: Home,
    name: str,
    *,
    uid: str | None = None,
    created_ts_ns: int | None = None,
    run_id: str | None = None,
    sync: bool = True,
    held: object = None,
) -> DiskEpisodeWriter:
    """Begin an episode in a dataset, however many it has; see `StoredDataset.new_episode`.

    Args:
        home: The store.
        name: The dataset.
        uid: Its identity; without it, a new one.
        created_ts_ns: When it began, for recordings that come from elsewhere.
        run_id: The run that records it.
        sync: Wait for the medium at its end.
        held: What must not be let go of as long as somebody holds the writer.
    """
    home.check_writable("record")

    def ended(writer: DiskEpisodeWriter, _outcome: str, _held: object = held) -> None:
        _learn(home, name, int(writer.path.name))

    place = LocalDatasetWriter(home.layout.dataset(name).path, sync=sync)
    writer = place.new_episode(uid=uid, created_ts_ns=created_ts_ns, run_id=run_id, dataset=name, notify=ended)
    _learn(home, name, int(writer.path.name))
    return writer


def _learn(home: Home, name: str, number: int) -> None:
    """Let the catalogue know how an episode stands, now or as soon as it can be written."""
    home.backlog.do(("episode", name, number), partial(episode_index.update, home, name, [number]))


class CataloguedUnfinished(Unfinished):
    """An unfinished episode of a store; the catalogue hears what becomes of it."""

    def __init__(self, home: Home, dataset: str, path: Path) -> None:
        super().__init__(path)
        self._home = home
        self._dataset = dataset

    def recover(self, *, salvage: bool = False) -> DiskEpisode:
        """Make a normal episode of what was recorded; see `Unfinished.recover`.

        Raises:
            ReadOnly: The store is open for reading.
        """
        self._home.check_writable("recover what was cut short")
        try:
            return super().recover(salvage=salvage)
        finally:
            episode_index.update(self._home, self._dataset, [int(self.path.name)])

    def discard(self) -> None:
        """Remove what was recorded, for good; see `Unfinished.discard`.

        Raises:
            ReadOnly: The store is open for reading.
        """
        self._home.check_writable("change it")
        super().discard()
        episode_index.update(self._home, self._dataset, [int(self.path.name)])


def open_dataset(home: Home, name: str) -> StoredDataset:
    """Open a dataset; where the store can be written, the catalogue first learns what it does not know yet.

    Folders appear without a word from us: copied by hand, or made just before a crash.
    """
    if home.database.mode == "a":
        episode_index.reconcile(home, name)
    return StoredDataset(home, name)


def of_run(home: Home, run_id: str) -> list[DiskEpisode]:
    """Open the finished episodes that a run recorded, in order of time."""
    with home.database.read() as connection:
        rows = catalog_episodes.of_run(connection, run_id)
    numbers = [episode_index.locate(home, row.dataset, row.uid, row.number) if row.uid else row.number for row in rows]
    found = [home.layout.dataset(row.dataset).episode(number) for row, number in zip(rows, numbers, strict=True)]
    return [DiskEpisode(folder.path) for folder in found if folder.path.is_dir() and not folder.is_unfinished()]


def resolve(home: Home, ref: EpisodeRef) -> Any:
    """Give the value of a sample.

    Raises:
        NotFound: There is no such dataset, episode, signal or sample.
    """
    if ref.dataset not in home.layout.datasets():
        raise NotFound.among("dataset", ref.dataset, home.layout.datasets())
    episode = StoredDataset(home, ref.dataset).by_uid(ref.uid)
    if ref.signal not in episode.signals:
        raise NotFound.among("signal", ref.signal, episode.signals)
    try:
        return episode.signals[ref.signal][ref.index][0]
    except OutOfRange as error:
        raise NotFound(f"no sample {ref}: {error}") from error
