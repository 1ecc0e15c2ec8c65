"""EpisodeLoader: batches in an order that is the same everywhere, and goes on where it stopped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from playhead.errors import WrongType
from playhead.order import Order
from playhead.train.episodes import EpisodeDataset
from playhead.train.pytorch import DataLoader


class EpisodeLoader:
    """Batches of an `EpisodeDataset`, epoch after epoch. Iterating gives the rest of the current epoch.

    The order depends on the seed and the epoch alone. Of the order, the first `batch_size * world` items are the first
    batches of all ranks, and so on, so a job that goes on with another number of ranks, and batches so much larger or
    smaller, sees what it would have seen. `state_dict` says which batch comes next, whatever workers read ahead.

    Args:
        dataset: What to take batches of.
        batch_size: Items in a batch of one rank.
        seed: Which order; None for no shuffling.
        rank: This process of a job.
        world: How many there are.
        workers: Processes that read ahead.
        drop_last: Leave out the items at the end that do not fill a batch of every rank.
        **options: Passed to PyTorch's `DataLoader`.
    """

    def __init__(
        self,
        dataset: EpisodeDataset,
        batch_size: int,
        *,
        seed: int | None = 0,
        rank: int = 0,
        world: int = 1,
        workers: int = 0,
        drop_last: bool = True,
        **options: Any,
    ) -> None:
        if batch_size < 1 or not 0 <= rank < world:
            raise WrongType(f"a batch has at least one item, and ranks count from 0 to {world - 1}, not {rank}")
        self._dataset = dataset
        self._size = batch_size
        self._seed = seed
        self._rank = rank
        self._world = world
        self._workers = workers
        self._drop_last = drop_last
        self._options = options
        self.epoch = 0
        self._next = 0  # the batch that comes next

    def __len__(self) -> int:
        """Count the batches of a whole epoch."""
        everyone = self._size * self._world
        return len(self._dataset) // everyone if self._drop_last else -(-len(self._dataset) // everyone)

    def batches(self, start: int = 0) -> Iterator[list[int]]:
        """Give the positions in each batch of this rank, from a batch on."""
        order = None if self._seed is None else Order(len(self._dataset), self._seed, self.epoch)
        for batch in range(start, len(self)):
            first = (batch * self._world + self._rank) * self._size
            places = np.arange(first, min(first + self._size, len(self._dataset)))
            if len(places):
                yield (places if order is None else order[places]).tolist()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        loader = DataLoader(
            self._dataset,
            batch_size=None,
            sampler=list(self.batches(self._next)),  # each index is a list, and so a batch
            num_workers=self._workers,
            **self._options,
        )
        for batch in loader:
            self._next += 1
            yield batch
        self.epoch, self._next = self.epoch + 1, 0

    def state_dict(self) -> dict[str, int | None]:
        """Say where training is: goes into a checkpoint. Counted in items of all ranks, which any number can resume."""
        return {"epoch": self.epoch, "items": self._next * self._size * self._world, "seed": self._seed}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where a checkpoint was made, also with another number of ranks or workers.

        Raises:
            WrongType: The place lies within a batch of this size and number of ranks.
        """
        everyone = self._size * self._world
        if state["items"] % everyone:
            raise WrongType(
                f"{state['items']} items are no whole number of batches of {self._size} on {self._world} ranks; "
                "choose a batch size that divides them"
            )
        self.epoch, self._seed, self._next = int(state["epoch"]), state["seed"], state["items"] // everyone

    def __repr__(self) -> str:
        return f"<EpisodeLoader, epoch {self.epoch}, batch {self._next} of {len(self)}, {self._dataset!r}>"
