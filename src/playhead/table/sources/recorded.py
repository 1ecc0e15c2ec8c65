"""The episodes of many runs and datasets, of which those of one are open at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, overload

from playhead.dataset import Dataset, LocalDataset
from playhead.episode import DiskEpisode, Episode
from playhead.run import Run


class Recorded(Sequence[Episode]):
    """The episodes of runs, but for those that an edit dropped, and then those of datasets that no run recorded.

    Args:
        runs: The runs.
        datasets: The datasets.
    """

    def __init__(self, runs: Iterable[Run], datasets: Iterable[Dataset] = ()) -> None:
        self._owners: list[Run | Dataset] = []
        self._places: list[tuple[int, int]] = []
        self._open: tuple[int, Sequence[Any]] = (-1, ())
        dropped: dict[Path, frozenset[str]] = {}
        known: set[str | None] = set()
        for run in runs:
            found = run.episodes
            kept = []
            for place, episode in enumerate(found) if isinstance(found, list) else ():
                if not isinstance(episode, DiskEpisode):
                    kept.append(place)
                    continue
                folder = episode.path.parents[1]
                if folder not in dropped:
                    dropped[folder] = frozenset(LocalDataset(folder).edited.dropped)
                known.add(episode.uid)
                if episode.uid not in dropped[folder]:
                    kept.append(place)
            self._add(run, kept if isinstance(found, list) else range(len(found)))  # else all of them were played
        for dataset in datasets:
            self._add(dataset, [place for place, episode in enumerate(dataset) if episode.uid not in known])

    def _add(self, owner: Run | Dataset, places: Iterable[int]) -> None:
        self._places += [(len(self._owners), place) for place in places]
        self._owners.append(owner)

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, key: int) -> Episode: ...

    @overload
    def __getitem__(self, key: slice) -> list[Episode]: ...

    def __getitem__(self, key: int | slice) -> Episode | list[Episode]:
        """Open an episode."""
        if isinstance(key, slice):
            return [self[place] for place in range(*key.indices(len(self)))]
        number, place = self._places[key]
        if self._open[0] != number:
            owner = self._owners[number]
            self._open = number, owner.episodes if isinstance(owner, Run) else owner
        episode: Episode = self._open[1][place]
        return episode
