"""Trace: a history of states that was never stored whole, and can be had at any step."""

from playhead.lanes.keyframes import retention, tiers
from playhead.trace.trace import Trace
from playhead.trace.writing import TraceWriter

__all__ = ["Trace", "TraceWriter", "retention", "tiers"]
