"""What PyTorch trains on; the only room that imports it."""

from playhead.train.episodes import EpisodeDataset
from playhead.train.loader import EpisodeLoader

__all__ = ["EpisodeDataset", "EpisodeLoader"]
