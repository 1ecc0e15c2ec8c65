"""Episodes of datasets that are open."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import NamedTuple

from playhead import clock
from playhead.catalog.listing import Listed
from playhead.dataset import Dataset, EditedDataset
from playhead.episode import DiskEpisode, Episode
from playhead.errors import Damaged, NotFound
from playhead.layout import DatasetFolder, EpisodeFolder
from playhead.web.episodes import tracks
from playhead.web.episodes.addresses import Address
from playhead.web.episodes.episode import Identity, OpenEpisode, hashed, identity_of


class _Folder(NamedTuple):
    """Where an episode of a dataset lies; its signals are safe in threads."""

    folder: EpisodeFolder
    address: Address

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Tell what was removed from what is damaged."""
        try:
            yield
        except (Damaged, NotFound, OSError) as error:
            if not os.path.isdir(self.folder.root):
                raise NotFound(f"the episode {self.address} was removed") from error
            raise

    def agents(self) -> list[str]:
        """Give nobody: in datasets nobody acts."""
        return []

    def infos(self, start: int, stop: int) -> list[bytes]:
        """Give nothing for each row."""
        return [b""] * (stop - start)


class OpenFolder:
    """An episode of a dataset that is open.

    Args:
        address: Its address.
        listed: What the catalogue says of it.
        folder: Where it lies.
        root: Where the dataset lies.
    """

    def __init__(self, address: Address, listed: Listed, folder: EpisodeFolder, root: DatasetFolder) -> None:
        self._folder = folder
        self._edits = os.fspath(root.edits)
        self.identity = self._state()
        episode = DiskEpisode(folder.root)
        found = tracks.of_dataset(episode, address)
        self._stamps = sum(track.stamps.nbytes for track in found.values())
        begins = [int(track.stamps[0]) for track in tracks.walk(found) if len(track)]
        edited: Episode = next(iter(EditedDataset(_One(episode), root.path)), episode)
        self.episode = OpenEpisode(
            address,
            listed,
            edited,
            found,
            origin_ns=min(begins, default=listed.created_ns or 0),
            identity=hashed(str(address), *self.identity),
            is_final=True,
            owner=_Folder(folder, address),
        )
        self.used_ns = clock.elapsed_ns()

    @property
    def weight(self) -> int:
        """The bytes of stamps and values that were read into memory."""
        return self._stamps + int(self.episode.kept.get("bytes", 0))

    def is_gone(self) -> bool:
        """Tell whether its files were removed."""
        return not os.path.isdir(self._folder.root)

    def is_same(self) -> bool:
        """Tell whether its files are those that were opened."""
        return self._state() == self.identity

    def _state(self) -> Identity:
        try:
            names = sorted(os.listdir(self._folder.root))
        except FileNotFoundError:
            names = []
        files = (identity_of(f"{self._folder.root}/{name}") for name in names)
        return *zip(names, files, strict=True), identity_of(self._edits)


class _One(Dataset):
    """A dataset of one episode, to apply its edits."""

    def __init__(self, episode: DiskEpisode) -> None:
        self._episode = episode

    def __len__(self) -> int:
        return 1

    def _episode_at(self, position: int) -> DiskEpisode:  # noqa: ARG002
        return self._episode
