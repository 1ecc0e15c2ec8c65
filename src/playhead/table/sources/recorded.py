"""The episodes of many runs and datasets, of which those of one are open at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, overload

from playhead.dataset import Dataset, LocalDataset
from playhead.episode import DiskEpisode, Episode
from playhead.errors import WrongType
from playhead.replay import ReplayEpisode
from playhead.replays import RunEpisodes
from playhead.run import Run

PLAYED, RECORDED = "played", "recorded"  # by an agent, step by step; into a dataset
KINDS = (PLAYED, RECORDED)


class Recorded(Sequence[Episode]):
    """The episodes of runs, but for those that an edit dropped, and then those of datasets that no run recorded.

    Args:
        runs: The runs.
        datasets: The datasets.
    """

    def __init__(self, runs: Iterable[Run], datasets: Iterable[Dataset] = ()) -> None:
        self._owners: list[Run | Dataset] = []
        self._places: list[tuple[int, int]] = []
        self._kinds: list[str] = []
        self._open: tuple[int, Sequence[Any]] = (-1, ())
        dropped: dict[Path, frozenset[str]] = {}
        known: set[str | None] = set()
        for run in runs:
            found = run.episodes
            if not isinstance(found, RunEpisodes):  # all of them were played
                self._add(run, range(len(found)), [PLAYED] * len(found))
                continue
            kept, kinds = [], []
            for place, episode in enumerate(found):
                if isinstance(episode, DiskEpisode):
                    folder = episode.path.parents[1]
                    if folder not in dropped:
                        dropped[folder] = frozenset(LocalDataset(folder).edited.dropped)
                    known.add(episode.uid)
                    if episode.uid in dropped[folder]:
                        continue
                kept.append(place)
                kinds.append(kind_of(episode))
            self._add(run, kept, kinds)
        for dataset in datasets:
            places = [place for place, episode in enumerate(dataset) if episode.uid not in known]
            self._add(dataset, places, [RECORDED] * len(places))

    def _add(self, owner: Run | Dataset, places: Iterable[int], kinds: Iterable[str]) -> None:
        self._places += [(len(self._owners), place) for place in places]
        self._kinds += kinds
        self._owners.append(owner)

    @property
    def counts(self) -> Mapping[str, int]:
        """How many episodes there are of each kind."""
        return Counter(self._kinds)

    def only(self, kind: str) -> Recorded:
        """Return the episodes of one kind."""
        part = Recorded([])
        part._owners = self._owners
        part._places = [place for place, mine in zip(self._places, self._kinds, strict=True) if mine == kind]
        part._kinds = [kind] * len(part._places)
        return part

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


def kind_of(episode: Episode) -> str:
    """Return whether an agent played an episode, or a dataset holds it."""
    return PLAYED if isinstance(episode, ReplayEpisode) else RECORDED


def of_kind(
    parts: Sequence[Sequence[Episode]], wanted: str | None
) -> tuple[list[Sequence[Episode]], str | None, Mapping[str, int]]:
    """Keep episodes of one kind, because the rows of one table have the same columns.

    Args:
        parts: The episodes.
        wanted: `played` or `recorded`. By default, those that agents played if runs have any, beside the datasets and
            episodes that the caller named one by one.

    Returns:
        What is kept of each part, the kind if one was chosen, and how many episodes of other kinds were left out.

    Raises:
        WrongType: If there is no such kind.
    """
    if wanted is not None and wanted not in KINDS:
        raise WrongType(f"episodes are {' or '.join(map(repr, KINDS))}, not {wanted!r}")
    if wanted is None and not any(isinstance(part, Recorded) and part.counts[PLAYED] for part in parts):
        return list(parts), None, {}
    kind = wanted or PLAYED
    kept: list[Sequence[Episode]] = []
    others: Counter[str] = Counter()
    for part in parts:
        if isinstance(part, Recorded):
            kept.append(part.only(kind))
            others.update({other: count for other, count in part.counts.items() if other != kind})
        elif wanted is None:
            kept.append(part)
        else:
            kept.append([episode for episode in part if kind_of(episode) == kind])
            others.update({other: len(part) - len(kept[-1]) for other in KINDS if other != kind})
    return kept, kind if wanted or +others else None, dict(+others)
