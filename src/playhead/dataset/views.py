"""Datasets made of others: some of their episodes, several in a row, changed ones, kept ones."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable
from itertools import accumulate

from playhead.dataset.contract import Dataset
from playhead.episode import Episode
from playhead.errors import Empty


class FilterDataset(Dataset):
    """The episodes of another dataset for which a function says yes.

    Args:
        source: The other dataset.
        predicate: Asked once for each episode, when the first of them is needed.
    """

    def __init__(self, source: Dataset, predicate: Callable[[Episode], bool]) -> None:
        self._source = source
        self._predicate = predicate
        self._kept: list[int] | None = None

    def _positions(self) -> list[int]:
        if self._kept is None:
            self._kept = [position for position, episode in enumerate(self._source) if self._predicate(episode)]
        return self._kept

    def __len__(self) -> int:
        return len(self._positions())

    def _episode_at(self, position: int) -> Episode:
        return self._source[self._positions()[position]]


class ConcatDataset(Dataset):
    """Several datasets, one after the other.

    Args:
        *datasets: At least one.
    """

    def __init__(self, *datasets: Dataset) -> None:
        if not datasets:
            raise Empty("there must be at least one dataset to put one after the other")
        self._datasets: list[Dataset] = []
        for dataset in datasets:
            self._datasets += dataset._datasets if isinstance(dataset, ConcatDataset) else [dataset]

    def _ends(self) -> list[int]:
        return list(accumulate(map(len, self._datasets)))

    def __len__(self) -> int:
        return self._ends()[-1]

    def _episode_at(self, position: int) -> Episode:
        ends = self._ends()
        part = bisect_right(ends, position)
        return self._datasets[part][position - (ends[part - 1] if part else 0)]


class TransformedDataset(Dataset):
    """The episodes of another dataset, each changed by a function when it is asked for.

    Args:
        source: The other dataset.
        function: Takes an episode and gives one, such as an `EpisodeView` of derived signals.
    """

    def __init__(self, source: Dataset, function: Callable[[Episode], Episode]) -> None:
        self._source = source
        self._function = function

    def __len__(self) -> int:
        return len(self._source)

    def _episode_at(self, position: int) -> Episode:
        return self._function(self._source[position])


class CachedDataset(Dataset):
    """Another dataset, of which the episodes used last stay open with all that was read of them.

    Args:
        source: The other dataset.
        episodes: How many are kept.
    """

    def __init__(self, source: Dataset, episodes: int = 128) -> None:
        self._source = source
        self._most = episodes
        self._kept: OrderedDict[int, Episode] = OrderedDict()
        self._turn = threading.Lock()

    def __len__(self) -> int:
        return len(self._source)

    def _episode_at(self, position: int) -> Episode:
        with self._turn:
            found = self._kept.get(position)
            if found is None:
                found = self._kept[position] = self._source[position]
            self._kept.move_to_end(position)
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
            return found

    def __getstate__(self) -> dict[str, object]:
        return {"_source": self._source, "_most": self._most}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__ |= state
        self._kept = OrderedDict()
        self._turn = threading.Lock()
