"""What PyTorch trains on; the only room that imports it.

Names are loaded when they are first used: tables give batches of NumPy where there is no PyTorch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playhead.train.episodes import EpisodeDataset
    from playhead.train.loader import EpisodeLoader
    from playhead.train.table_dataset import TableBatchSampler, TableDataset
    from playhead.train.table_samplers import PrioritizedSampler, SequenceSampler, n_step
    from playhead.train.tables import TableLoader

_HOME = {
    "EpisodeDataset": "episodes",
    "EpisodeLoader": "loader",
    "PrioritizedSampler": "table_samplers",
    "SequenceSampler": "table_samplers",
    "TableBatchSampler": "table_dataset",
    "TableDataset": "table_dataset",
    "TableLoader": "tables",
    "n_step": "table_samplers",
}

__all__ = [
    "EpisodeDataset",
    "EpisodeLoader",
    "PrioritizedSampler",
    "SequenceSampler",
    "TableBatchSampler",
    "TableDataset",
    "TableLoader",
    "n_step",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'playhead.train' has no attribute {name!r}")
    value = getattr(import_module(f"playhead.train.{_HOME[name]}"), name)
    globals()[name] = value
    return value
