"""The care of a store: is everything as it was written, what can be mended, removed, made smaller, and what takes room.

Every lane tells of its *things*: a run, a reel, an episode, a table, an artifact, a shard of the pool. A check walks
over things, so that it can go on tomorrow where it stopped today.
"""

from playhead.care.finding import DAMAGE, NOTE, WARNING, Finding
from playhead.care.verifying import verify

__all__ = ["DAMAGE", "NOTE", "WARNING", "Finding", "verify"]
