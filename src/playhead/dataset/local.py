"""LocalDataset: episodes in a folder, in blocks of a thousand."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playhead import disk
from playhead.dataset import settling
from playhead.dataset.contract import Dataset, DatasetWriter
from playhead.dataset.edits import EditedDataset
from playhead.episode import DiskEpisode, DiskEpisodeWriter, Unfinished
from playhead.episode.writer import ABORTED
from playhead.errors import Exists, NotFound
from playhead.layout import DatasetFolder
from playhead.paths import GivenPath, as_folder
from playhead.wording import counted


def _folder_of(root: GivenPath) -> DatasetFolder:
    return DatasetFolder(as_folder(root, "a dataset"))


class LocalDataset(Dataset):
    """The finished episodes of a folder, as they were when it was opened. A folder that is missing is empty.

    Args:
        root: The folder, of Playhead or of any generation of Positronic.
    """

    def __init__(self, root: GivenPath) -> None:
        self._folder = _folder_of(root)
        self._numbers: list[int] = []
        self._unfinished: list[int] = []
        doubtful = settling.doubtful(self._folder)
        for number in self._folder.numbers():
            episode = self._folder.episode(number)
            is_unfinished = episode.is_unfinished() or (number in doubtful and settling.is_lost(episode))
            (self._unfinished if is_unfinished else self._numbers).append(number)

    @property
    def path(self) -> Path:
        """The folder."""
        return self._folder.path

    def __len__(self) -> int:
        return len(self._numbers)

    def _episode_at(self, position: int) -> DiskEpisode:
        return DiskEpisode(self._folder.episode(self._numbers[position]).root)

    @property
    def unfinished(self) -> list[Unfinished]:
        """The episodes whose recording has not come to its end; `recover()` makes a normal one of each."""
        return [Unfinished(self._folder.episode(number).path) for number in self._unfinished]

    @property
    def edited(self) -> EditedDataset:
        """The same episodes with the later facts of `edits.jsonl` applied."""
        return EditedDataset(self, self.path)

    def by_uid(self, uid: str) -> DiskEpisode:
        """Find an episode by its identity.

        Raises:
            NotFound: There is none.
        """
        for position in range(len(self)):
            if self._uid_at(position) == uid:
                return self._episode_at(position)
        raise NotFound(f"no episode with the uid {uid!r} among the {len(self)} of {self.path}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path,)

    def __repr__(self) -> str:
        more = f", {len(self._unfinished)} unfinished" if self._unfinished else ""
        return f"<{type(self).__name__} {os.fspath(self.path)}, {counted(len(self), 'episode')}{more}>"


class LocalDatasetWriter(DatasetWriter):
    """Records episodes into a folder; several processes may at once. A number is never used twice.

        with LocalDatasetWriter("teleop") as writer, writer.new_episode() as episode:
            episode.append("joint", [0.1, 0.2], stamp)

    Args:
        root: The folder, made by the first episode.
        sync: Wait for the medium at the end of each episode. Without it, `sync` and the end of the `with` block wait
            once for all of them: much quicker for thousands of short ones.
    """

    def __init__(self, root: GivenPath, *, sync: bool = True) -> None:
        self._folder = _folder_of(root)
        self._syncs = sync
        if not sync:
            settling.begin_unsynced(self._folder)
        self._next = self._folder.highest() + 1

    def new_episode(
        self,
        *,
        uid: str | None = None,
        created_ts_ns: int | None = None,
        run_id: str | None = None,
        dataset: str | None = None,
        notify: Callable[[DiskEpisodeWriter, str], None] | None = None,
    ) -> DiskEpisodeWriter:
        """Begin an episode.

        Args:
            uid: Its identity; without it, a new one.
            created_ts_ns: When it began, for recordings that come from elsewhere.
            run_id: The run that records it.
            dataset: The name of the dataset in its store.
            notify: Called with the writer and `finished`, `unfinished` or `aborted` at its end.
        """
        while True:
            number, self._next = self._next, self._next + 1
            ended: list[DiskEpisodeWriter] = []

            def at_end(outcome: str, number: int = number, ended: list[DiskEpisodeWriter] = ended) -> None:
                if outcome == ABORTED:
                    disk.make_folder(self._folder.episode(number).tombstone)
                if notify is not None:
                    notify(ended[0], outcome)

            try:
                writer = DiskEpisodeWriter(
                    self._folder.episode(number).path,
                    uid=uid,
                    created_ts_ns=created_ts_ns,
                    run_id=run_id,
                    dataset=dataset,
                    notify=at_end,
                    sync=self._syncs,
                )
            except Exists:
                continue  # another process was quicker
            ended.append(writer)
            return writer

    def sync(self) -> None:
        """Wait until all episodes that have ended are on the medium, so that a power cut loses none."""
        settling.sync(self._folder)

    def __exit__(self, *exception: object) -> None:
        """Wait for the medium, if the episodes did not."""
        if not self._syncs:
            self.sync()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {os.fspath(self._folder.path)}, next episode {self._next}>"
