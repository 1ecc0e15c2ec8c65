"""Replay: what agents saw, did and got, as episodes and by reference."""

from playhead.replay.episode import ReplayEpisode, Transition, open_episode

__all__ = ["ReplayEpisode", "Transition", "open_episode"]
