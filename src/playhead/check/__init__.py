"""The check of what was recorded: whether it can be read whole, and whether it is any good."""

from playhead.check.episodes import verify_dataset, verify_episode
from playhead.check.finding import DAMAGE, NOTE, WARNING, Finding
from playhead.check.replays import verify_replay
from playhead.check.timing import Timing, timing_of

__all__ = [
    "DAMAGE",
    "NOTE",
    "WARNING",
    "Finding",
    "Timing",
    "timing_of",
    "verify_dataset",
    "verify_episode",
    "verify_replay",
]
