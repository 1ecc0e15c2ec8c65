"""Signals made of other signals: lazy views that are signals themselves.

A derived signal keeps its source and a rule. Nothing is read or computed before somebody asks for values, and then only
what was asked for; index and time semantics are those of the contract. Views compose; a pickled one carries its sources
and its function, not what it has read.

    speed = norm(differenced(pose, per_second=True))
    small = resized(camera, 84, 84)
    state = joined(pose, shifted(force, -5_000_000))
"""

from playhead.signal.derived.cached import Cached, cached
from playhead.signal.derived.differenced import Differenced, differenced
from playhead.signal.derived.joined import Joined, joined
from playhead.signal.derived.mapped import Mapped, mapped, norm
from playhead.signal.derived.resized import Resized, resized
from playhead.signal.derived.shifted import Shifted, shifted

__all__ = [
    "Cached",
    "Differenced",
    "Joined",
    "Mapped",
    "Resized",
    "Shifted",
    "cached",
    "differenced",
    "joined",
    "mapped",
    "norm",
    "resized",
    "shifted",
]
