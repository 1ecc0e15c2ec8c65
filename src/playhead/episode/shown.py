"""What a notebook shows of an episode's signals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from playhead import markup
from playhead.errors import PlayheadError
from playhead.signal import Signal

_LEAST_SIDE = 8  # pixels of what is taken for a picture


def line_of(named: tuple[str, Signal[Any]]) -> list[str]:
    """Give the cells of a signal: its name, how many samples, and how often they come."""
    name, signal = named
    count = len(signal)
    seconds = (signal.last_ts - signal.start_ts) / 1e9 if count > 1 else 0.0
    rate = f"{(count - 1) / seconds:.3g} a second" if seconds else ""
    return [markup.text(name), markup.soft(f"{count:,} samples"), markup.soft(rate)]


def picture_of(signals: Mapping[str, Signal[Any]]) -> str:
    """Show the sample in the middle of the first signal of pictures; nothing where there is none."""
    for name, signal in signals.items():
        if not len(signal):
            continue
        try:
            value = np.asarray(signal[len(signal) // 2][0])
        except PlayheadError as error:
            return markup.line(markup.soft(f"{name}: {error}"))
        is_picture = value.dtype == np.uint8 and (value.ndim == 2 or (value.ndim == 3 and value.shape[2] in (3, 4)))
        if is_picture and min(value.shape[:2]) >= _LEAST_SIDE:
            return markup.line(markup.picture(value, label=name))
    return ""
