"""Replay: what agents saw, did and got, as episodes and by reference."""

from playhead.replay.episode import ReplayEpisode, Transition, open_episode
from playhead.replay.reader import ReplayReader
from playhead.replay.resimulated import Resimulation
from playhead.replay.resolver import FrameResolver
from playhead.replay.writer import ReplayWriter

__all__ = [
    "FrameResolver",
    "ReplayEpisode",
    "ReplayReader",
    "ReplayWriter",
    "Resimulation",
    "Transition",
    "open_episode",
]
