"""Dataset and DatasetWriter: the contract, and all that follows from it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self, final, overload

import numpy as np
from numpy.typing import NDArray

from playhead.episode import Episode, EpisodeWriter
from playhead.errors import Damaged
from playhead.signal import keys
from playhead.wording import counted


class Dataset(Sequence[Episode], ABC):
    """Episodes in order. `dataset[i]` is one, `dataset[a:b:c]` and `dataset[[i, j]]` are lists.

    An implementation gives `__len__` and `_episode_at`; the rest follows.
    """

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def _episode_at(self, position: int) -> Episode:
        """Open the episode at a position, which exists."""

    @final
    def _uid_at(self, position: int) -> str | None:
        """Give the uid of an episode; None where it has none, or is too damaged to tell: whoever opens it hears so."""
        try:
            return self._episode_at(position).uid
        except Damaged:
            return None

    @overload
    def __getitem__(self, key: int | np.integer[Any]) -> Episode: ...
    @overload
    def __getitem__(self, key: slice | Sequence[int] | NDArray[Any]) -> list[Episode]: ...
    @final
    def __getitem__(self, key: Any) -> Episode | list[Episode]:
        """Give an episode, or a list of several.

        Raises:
            OutOfRange: There is no such position.
            BadSlice: The step is zero.
            BadKey: A mask, or something that is no index at all.
        """
        if isinstance(key, slice):
            return [self._episode_at(position) for position in keys.sliced_any_way(key, len(self))]
        if keys.are_several(key):
            return [self._episode_at(int(position)) for position in keys.several_positions(key, len(self))]
        return self._episode_at(keys.one_position(key, len(self)))

    @final
    def __iter__(self) -> Iterator[Episode]:
        return (self._episode_at(position) for position in range(len(self)))

    @final
    def __reversed__(self) -> Iterator[Episode]:
        return (self._episode_at(position) for position in reversed(range(len(self))))

    @final
    def filter(self, predicate: Callable[[Episode], bool]) -> Dataset:
        """Give the episodes for which a function says yes; each is asked once, when it is first needed."""
        from playhead.dataset.views import FilterDataset

        return FilterDataset(self, predicate)

    @final
    def transform(self, function: Callable[[Episode], Episode]) -> Dataset:
        """Give a dataset whose episodes are made of these by a function, when they are asked for."""
        from playhead.dataset.views import TransformedDataset

        return TransformedDataset(self, function)

    @final
    def cached(self, episodes: int = 128) -> Dataset:
        """Give a dataset that keeps the episodes used last open.

        Args:
            episodes: How many.
        """
        from playhead.dataset.views import CachedDataset

        return CachedDataset(self, episodes)

    @final
    def __add__(self, other: Dataset) -> Dataset:
        from playhead.dataset.views import ConcatDataset

        return ConcatDataset(self, other) if isinstance(other, Dataset) else NotImplemented

    @final
    def __radd__(self, other: Any) -> Dataset:
        return self if other == 0 else NotImplemented  # sum(datasets) begins with 0

    def __repr__(self) -> str:
        return f"<{type(self).__name__}, {counted(len(self), 'episode')}>"


class DatasetWriter(ABC):
    """Makes episodes. It may be used in a `with` statement; each episode ends by itself."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave what was recorded as it is."""
        return

    @abstractmethod
    def new_episode(self) -> EpisodeWriter:
        """Begin an episode; the writer is a context manager."""
