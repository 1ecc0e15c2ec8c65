"""Episodes: signals that were recorded together, and what did not change meanwhile."""

from playhead.episode.contract import Episode, EpisodeView, EpisodeWriter
from playhead.episode.reader import DiskEpisode, static_of
from playhead.episode.unfinished import Unfinished
from playhead.episode.writer import DiskEpisodeWriter

__all__ = ["DiskEpisode", "DiskEpisodeWriter", "Episode", "EpisodeView", "EpisodeWriter", "Unfinished", "static_of"]
