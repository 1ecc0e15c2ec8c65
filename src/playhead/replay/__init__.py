"""Replay: what agents saw, did and got, as episodes and by reference."""

from playhead.replay.episode import ReplayEpisode, Transition, open_episode
from playhead.replay.reader import ReplayReader
from playhead.replay.resolver import FrameResolver
from playhead.replay.writer import ReplayWriter

__all__ = ["FrameResolver", "ReplayEpisode", "ReplayReader", "ReplayWriter", "Transition", "open_episode"]
