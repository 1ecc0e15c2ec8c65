"""PyTorch, or word of how to get it."""

from __future__ import annotations

from playhead.errors import MissingExtra

try:
    import torch
    from torch.utils.data import DataLoader, Dataset
except ImportError as error:
    raise MissingExtra("torch", "torch") from error

__all__ = ["DataLoader", "Dataset", "torch"]
