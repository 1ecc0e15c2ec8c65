"""A curve in one line of block characters."""

from __future__ import annotations

import math
from collections.abc import Sequence

_BLOCKS = "▁▂▃▄▅▆▇█"
_GAP = " "


def sparkline(values: Sequence[float | None]) -> str:
    """Draw values from the lowest block to the highest; what is not finite leaves a gap.

    Example:
        >>> sparkline([0, 1, 2, None, 4])
        '▁▂▄ █'
    """
    finite = [value for value in values if value is not None and math.isfinite(value)]
    if not finite:
        return ""
    low, high = min(finite), max(finite)
    return "".join(_block(value, low, high) for value in values)


def _block(value: float | None, low: float, high: float) -> str:
    if value is None or not math.isfinite(value):
        return _GAP
    if high == low:
        return _BLOCKS[len(_BLOCKS) // 2 - 1]
    if math.isinf(high - low):
        value, low, high = value / 2, low / 2, high / 2
    share = (value - low) / (high - low)
    return _BLOCKS[min(int(share * len(_BLOCKS)), len(_BLOCKS) - 1)]
