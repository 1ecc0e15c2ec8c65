"""The moments of a dataset at which training looks: in which episode, and when."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from playhead.dataset import Dataset
from playhead.episode import Episode
from playhead.errors import Empty, NotFound, WrongType


class Span(NamedTuple):
    """The moments of one episode: positions in the anchor signal, or a first time and a step."""

    first: int
    size: int


class Moments:
    """All moments of all episodes, numbered through.

    Args:
        dataset: The episodes.
        anchor: A signal, each sample of which is a moment, or a rate in moments a second.
        reach: How far windows reach in nanoseconds, by signal: the earliest and the latest offset.
        is_padded: Also take moments whose windows reach out of their episode.
    """

    def __init__(
        self, dataset: Dataset, anchor: str | float, reach: Mapping[str, tuple[int, int]], *, is_padded: bool
    ) -> None:
        self._anchor = anchor
        self._step = _step(anchor)
        self._reach = reach
        self._is_padded = is_padded
        self._spans = [self._span(episode) for episode in dataset]
        self._ends = np.cumsum([span.size for span in self._spans], dtype=np.int64)

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def _span(self, episode: Episode) -> Span:
        for name in self._reach if self._step else (*self._reach, str(self._anchor)):
            if name not in episode.signals:
                raise NotFound.among(
                    "signal", name, episode.signals, hint=f"It is missing in the episode {episode.uid}"
                )
        if self._is_padded and not self._step:
            return Span(0, len(episode.signals[str(self._anchor)]))
        try:
            earliest, latest = self._bounds(episode)
        except Empty:
            return Span(0, 0)
        if self._step:
            return Span(earliest, max(0, (latest - earliest) // self._step + 1))
        stamps = episode.signals[str(self._anchor)].timestamps
        first, end = np.searchsorted(stamps, earliest, "left"), np.searchsorted(stamps, latest, "right")
        return Span(int(first), max(0, int(end - first)))

    def _bounds(self, episode: Episode) -> tuple[int, int]:
        """Give the first and the last time at which every window is whole, or, padded, at which there are samples."""
        if self._is_padded:
            return episode.start_ts, episode.last_ts
        signals = episode.signals
        earliest = max(signals[name].start_ts - early for name, (early, _) in self._reach.items())
        return earliest, min(signals[name].last_ts - late for name, (_, late) in self._reach.items())

    def locate(self, numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Give the episode and the place within it of some moments."""
        episodes = np.searchsorted(self._ends, numbers, "right")
        starts = np.concatenate([[0], self._ends])[episodes]
        return episodes, numbers - starts

    def times(self, episode: Episode, number: int, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give the times of moments of one episode."""
        span = self._spans[number]
        if self._step:
            return span.first + places * self._step
        found: NDArray[np.int64] = episode.signals[str(self._anchor)].timestamps[span.first + places]
        return found


def _step(anchor: str | float) -> int:
    if isinstance(anchor, str):
        return 0
    if isinstance(anchor, bool) or not isinstance(anchor, (int, float)) or not 0 < anchor <= 1e9:
        raise WrongType(f"moments are at the samples of a signal, or at a rate in Hz above 0, not {anchor!r}")
    return round(1e9 / anchor)
