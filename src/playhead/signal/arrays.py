"""The two things that signals do with NumPy arrays: show them without letting them change, and pick rows of them."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Positions = range | NDArray[np.int64]

_Kind = TypeVar("_Kind", bound=np.generic)


def frozen(array: NDArray[_Kind]) -> NDArray[_Kind]:
    """Give a view of an array that cannot be written through."""
    if not array.flags.writeable:
        return array
    view = array.view()
    view.flags.writeable = False
    return view


def take(array: NDArray[Any], positions: Positions) -> NDArray[Any]:
    """Take positions, all of which exist, out of an array, without a copy where they are evenly spaced."""
    if isinstance(positions, range):
        return array[positions.start : positions.stop : positions.step]
    return array.take(positions, axis=0)  # for rows of several numbers four times as fast as array[positions]
