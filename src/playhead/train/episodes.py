"""EpisodeDataset: windows of signals around moments, as tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from playhead import sampling
from playhead.dataset import Dataset
from playhead.episode import Episode
from playhead.errors import BadName, Empty, NotFound, WrongShape
from playhead.signal import keys
from playhead.train.moments import Moments
from playhead.train.pytorch import Dataset as TorchDataset
from playhead.train.pytorch import torch
from playhead.wording import counted

if TYPE_CHECKING:
    from playhead.train.loader import EpisodeLoader

Windows = Mapping[str, Sequence[float]]
_EPISODE, _TIME, _MASK, _STALENESS = "episode", "ts_ns", "mask", "staleness"  # what an item holds besides signals
OPEN_EPISODES = 32  # kept open in each worker, with their decoders


class EpisodeDataset(TorchDataset[dict[str, Any]]):
    """What every signal was around every moment, at the offsets and by the rules that training wants.

        data = EpisodeDataset(store.dataset("teleop"), {"camera": [-0.1, 0], "action": (0, 1.6, 0.1)}, rate=30)
        data[0]["camera"]               # 2 × H × W × 3
        data[0]["mask"]["action"]       # 16 truth values: False where the window reaches out of the episode
        for batch in data.loader(64, seed=0, workers=4): ...

    `data[i]` is one item, `data[[i, j]]` a batch with one more dimension in front: a dict with a tensor for each
    signal, `mask` and `staleness` (nanoseconds) by signal, `episode`, `ts_ns`, and the static items asked for.

    Args:
        dataset: The episodes.
        windows: For each signal the offsets in seconds: a list, or a tuple of start, stop and step.
        anchor: The signal whose samples are the moments; by default the first of `windows`.
        rate: Moments a second instead, on an even grid.
        rules: For each signal `hold` (the default), `nearest`, `linear` or `next`.
        tolerance: How stale a value may be, in nanoseconds, before it counts as padding; for all, or by signal.
        padded: Also take moments whose windows reach out of their episode; the mask tells. Without, they are left out.
        static: Names of static items to add; they become tensors where they are numbers.
        transform: Applied to each item or batch at the end, in the worker.

    Raises:
        NotFound: An episode lacks one of the signals; a rule does not exist, or is for a signal without a window.
        BadName: A signal or static item is called as what an item holds besides.
        WrongShape: When a batch is read whose episodes have values of different shapes.
    """

    def __init__(
        self,
        dataset: Dataset,
        windows: Windows,
        *,
        anchor: str | None = None,
        rate: float | None = None,
        rules: Mapping[str, str] | None = None,
        tolerance: int | Mapping[str, int] | None = None,
        padded: bool = True,
        static: Sequence[str] = (),
        transform: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
    ) -> None:
        if not windows:
            raise Empty("windows name at least one signal: {'camera': [-0.1, 0]}")
        for name in (*windows, *static):
            if name in (_EPISODE, _TIME, _MASK, _STALENESS):
                raise BadName(
                    f"an item has its own {name!r} besides the signals; give the episodes another name for theirs with "
                    "dataset.transform(…)"
                )
        self._dataset = dataset.cached(OPEN_EPISODES)
        self._offsets = {name: sampling.offsets_ns(offsets) for name, offsets in windows.items()}
        self._rules = dict.fromkeys(self._offsets, "hold") | dict(rules or {})
        self._tolerance = tolerance if isinstance(tolerance, Mapping) else dict.fromkeys(self._offsets, tolerance)
        for name in (*self._rules, *self._tolerance):
            if name not in self._offsets:
                raise NotFound.among("window", name, list(self._offsets))
        for rule in self._rules.values():
            sampling.check_rule(rule)
        self._static = tuple(static)
        self._transform = transform
        reach = {name: (int(offsets.min()), int(offsets.max())) for name, offsets in self._offsets.items()}
        start: str | float = rate if rate is not None else anchor or next(iter(self._offsets))
        self._moments = Moments(dataset, start, reach, is_padded=padded)

    def __len__(self) -> int:
        return len(self._moments)

    def __getitem__(self, key: int | Sequence[int] | NDArray[Any]) -> dict[str, Any]:
        """Give an item, or a batch for a list of positions."""
        if keys.are_several(key):
            found = self._batch(keys.several_positions(key, len(self)))
        else:
            batch = self._batch(np.array([keys.one_position(key, len(self))]))
            found = {name: _first(value) for name, value in batch.items()}
        return found if self._transform is None else self._transform(found)

    def loader(
        self, batch_size: int, *, seed: int | None = 0, rank: int = 0, world: int = 1, workers: int = 0, **options: Any
    ) -> EpisodeLoader:
        """Make batches in a shuffled order that is the same each time, and can be resumed at any batch.

        Args:
            batch_size: Items in a batch of one rank.
            seed: Which order; None for no shuffling.
            rank: This process of a job.
            world: How many there are; each sees other batches of the same order.
            workers: Processes that read ahead.
            **options: Passed to PyTorch's `DataLoader`.
        """
        from playhead.train.loader import EpisodeLoader

        return EpisodeLoader(self, batch_size, seed=seed, rank=rank, world=world, workers=workers, **options)

    def _batch(self, numbers: NDArray[np.int64]) -> dict[str, Any]:
        episodes, places = self._moments.locate(numbers)
        rows = _Rows(len(numbers))
        for number in np.unique(episodes):
            chosen = np.flatnonzero(episodes == number)
            self._add(rows, chosen, self._dataset[int(number)], int(number), places[chosen])
        return rows.tensors()

    def _add(
        self, rows: _Rows, chosen: NDArray[np.int64], episode: Episode, number: int, places: NDArray[np.int64]
    ) -> None:
        times = self._moments.times(episode, number, places)
        rows.put((), _EPISODE, chosen, np.full(len(chosen), number))
        rows.put((), _TIME, chosen, times)
        last = episode.last_ts
        for name, offsets in self._offsets.items():
            found = sampling.sample_one(
                episode.signals[name],
                times[:, np.newaxis] + offsets,
                self._rules[name],
                tolerance=self._tolerance.get(name),
                until=last,
            )
            rows.put((), name, chosen, found.values)
            rows.put((_MASK,), name, chosen, found.mask)
            rows.put((_STALENESS,), name, chosen, found.staleness)
        static = episode.static
        for name in self._static:
            value = np.empty(len(chosen), object)
            value[:] = [static.get(name)] * len(chosen)
            rows.put((), name, chosen, value)

    def __repr__(self) -> str:
        signals = ", ".join(f"{name}: {len(offsets)}" for name, offsets in self._offsets.items())
        amount = f"{counted(len(self), 'moment')} of {counted(len(self._dataset), 'episode')}"
        return f"<EpisodeDataset, {amount}, windows {{{signals}}}>"


class _Rows:
    """A batch that is filled episode by episode."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._arrays: dict[tuple[str, ...], NDArray[Any]] = {}

    def put(self, group: tuple[str, ...], name: str, chosen: NDArray[np.int64], values: NDArray[Any]) -> None:
        key = (*group, name)
        if key not in self._arrays:
            if len(chosen) == self._count:
                self._arrays[key] = values
                return
            self._arrays[key] = np.empty((self._count, *values.shape[1:]), values.dtype)
        self._widen(key, values)
        self._arrays[key][chosen] = values

    def _widen(self, key: tuple[str, ...], values: NDArray[Any]) -> None:
        """Make room for the values of another episode, which may be of another type."""
        rows = self._arrays[key]
        if rows.shape[1:] != values.shape[1:]:
            raise WrongShape(
                f"the values of {key[-1]!r} have the shape {rows.shape[2:]} in one episode and {values.shape[2:]} in "
                "another, so that no batch holds both; make them alike with dataset.transform(…)"
            )
        if rows.dtype != values.dtype:
            self._arrays[key] = rows.astype(np.result_type(rows, values))

    def tensors(self) -> dict[str, Any]:
        batch: dict[str, Any] = {}
        for (*group, name), array in self._arrays.items():
            place = batch
            for part in group:
                place = place.setdefault(part, {})
            place[name] = _tensor(array)
        return batch


def _tensor(array: NDArray[Any]) -> Any:
    if array.dtype == object:
        objects = array.tolist()
        try:
            array = np.array(objects)
        except ValueError:
            return objects
        if array.dtype.kind not in "biuf":
            return objects  # not as NumPy's text, which numbers among them become, and which forgets a NUL at its end
    if array.dtype.kind not in "biuf":
        return array.tolist()
    return torch.from_numpy(np.require(array, requirements=["C", "W"]))


def _first(value: Any) -> Any:
    return {name: _first(item) for name, item in value.items()} if isinstance(value, dict) else value[0]
