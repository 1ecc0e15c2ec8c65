"""Datasets: episodes in order, on disk or as views of others."""

from playhead.dataset.contract import Dataset, DatasetWriter
from playhead.dataset.edits import EditedDataset
from playhead.dataset.local import LocalDataset, LocalDatasetWriter
from playhead.dataset.views import CachedDataset, ConcatDataset, FilterDataset, TransformedDataset

__all__ = [
    "CachedDataset",
    "ConcatDataset",
    "Dataset",
    "DatasetWriter",
    "EditedDataset",
    "FilterDataset",
    "LocalDataset",
    "LocalDatasetWriter",
    "TransformedDataset",
]
