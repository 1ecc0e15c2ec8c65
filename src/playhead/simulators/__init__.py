"""Simulators whose state can be saved and restored to the last bit, so that what they showed can be made again.

`find` looks into an environment and gives a `Rig`: what saves, restores and steps it. Nothing here imports an
environment's package before one of it is at hand.
"""

from __future__ import annotations

from playhead.simulators.contract import Simulator
from playhead.simulators.finding import find
from playhead.simulators.rig import Rig

__all__ = ["Rig", "Simulator", "find"]
