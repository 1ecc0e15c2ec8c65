"""Spaces as JSON, and structured values put together again from the arrays of a recording."""

from __future__ import annotations

from playhead.simulators.spaces import ACTIONS, FRAMES, OBSERVATIONS, describe, leaves, parts, restore

__all__ = ["ACTIONS", "FRAMES", "OBSERVATIONS", "describe", "leaves", "parts", "restore"]
