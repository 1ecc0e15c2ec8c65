"""What a worker process does with a signal; apart, so that it starts quickly."""

from __future__ import annotations

from typing import Any

from playhead.signal import Signal


def read(signal: Signal[Any]) -> tuple[list[tuple[Any, int]], Any, bool]:
    return list(signal), signal.time[25], signal.values.flags.writeable
