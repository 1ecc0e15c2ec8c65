"""Where a caller puts plain steps down by himself, so that nothing is called for each of them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from playhead import clock
from playhead.lanes.arrays.rows import Step

# Newer interpreters can do without the lock that makes a change of a list one thing.
has_lock: Callable[[], bool] = getattr(sys, "_is_gil_enabled", lambda: True)


class Hand(NamedTuple):
    """Where a caller puts steps down by himself.

    A step has a time after `stamps.last`, an info of at most `most_info` bytes, and the number `numbers[0]`. Its values
    are added to `held`, a `rows.Step` to `steps`, and `stamps` and `numbers` moved on: all that without a call in
    between, so that neither a signal's exception nor another thread comes between two of these.
    """

    held: list[Any]
    steps: list[Step]
    numbers: dict[int, int]
    stamps: clock.Stamps
    episode: int
    has: int
    most_info: int
