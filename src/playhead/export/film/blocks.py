"""A signal read in blocks: what is played is read once, and never all of it is in memory."""

from __future__ import annotations

from collections import OrderedDict
from contextlib import suppress
from typing import Any

import numpy as np

from playhead.errors import Damaged
from playhead.signal import Signal

_BYTES = 4 << 20  # of a block: some frames of a game, one or two of a large camera
_MOST = 256
_KEPT = 3


class Blocks:
    """The values of a signal by position.

    Args:
        signal: The signal; it has samples.
    """

    def __init__(self, signal: Signal[Any]) -> None:
        self._signal = signal
        self.first = signal[0][0]
        size = getattr(self.first, "nbytes", 64)
        self._length = max(1, min(_MOST, _BYTES // max(1, size)))
        self._kept: OrderedDict[int, Any] = OrderedDict()

    def __getitem__(self, position: int) -> Any:
        """Give one value; its block is read where it is not at hand."""
        number, place = divmod(position, self._length)
        return self._block(number)[place]

    def prepare(self, position: int) -> None:
        """Read the block behind that of a position, unless it is at hand: there is time now."""
        number = position // self._length + 1
        if number * self._length < len(self._signal):
            with suppress(Damaged, OSError):  # said when it is to be shown; what comes before can be
                self._block(number)

    def _block(self, number: int) -> Any:
        if number not in self._kept:
            start = number * self._length
            self._kept[number] = np.asarray(self._signal[start : start + self._length].values)
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(number)
        return self._kept[number]
