"""Observations that are stacks of the last frames, put together from frames that are stored once."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from playhead.lanes.arrays.kind import PREFIXES
from playhead.lanes.arrays.reel import Reel
from playhead.lanes.arrays.spans import Span


def read_stacked(reel: Reel, name: str, start: int, stop: int) -> NDArray[Any]:
    """Give the stacks of steps that follow one another in one episode: a view in which frames are shared."""
    span = _span_of(reel, start)
    depth = reel.kind(name).stack
    return _windows(_frames(reel, name, span, start, stop, depth), depth)


def take_stacked(reel: Reel, name: str, positions: NDArray[np.int64]) -> NDArray[Any]:
    """Give the stacks of any steps, in their order."""
    kind = reel.kind(name)
    out = np.empty((len(positions), kind.stack, *kind.shape), np.dtype(kind.dtype))
    if not len(positions):
        return out
    # Rows of all stacks are fetched at once; those before the begin of an episode are put in after.
    wanted = positions[:, None] + np.arange(1 - kind.stack, 1)
    begins = np.array([span.start for span in reel.spans])
    starts = begins[np.searchsorted(begins, positions, "right") - 1]
    rows, places = np.unique(np.maximum(wanted, starts[:, None]), return_inverse=True)
    out[:] = reel.take(name, rows)[places.reshape(wanted.shape)]
    for at in np.flatnonzero(wanted[:, 0] < starts):
        position = int(positions[at])
        out[at] = read_stacked(reel, name, position, position + 1)[0]
    return out


def final_stack(reel: Reel, name: str, span: Span, newest: NDArray[Any]) -> NDArray[Any]:
    """Give the stack that was seen after the last step of an episode.

    Args:
        reel: The reel.
        name: The array.
        span: The episode.
        newest: Its newest frame.
    """
    depth = reel.kind(name).stack
    last = span.start + span.length - 1
    before = read_stacked(reel, name, last, last + 1)[0]
    return np.concatenate([before[1:depth], newest[None]])


def _span_of(reel: Reel, position: int) -> Span:
    spans = reel.spans
    return spans[bisect_right(spans, position, key=lambda span: span.start) - 1]


def _frames(reel: Reel, name: str, span: Span, start: int, stop: int, depth: int) -> NDArray[Any]:
    """Read the frames of stacks that overlap: those of the steps, and `depth - 1` from before."""
    kind = reel.kind(name)
    first = max(span.start, start - depth + 1)
    missing = depth - 1 - (start - first)
    frames = np.empty((missing + stop - first, *kind.shape), np.dtype(kind.dtype))
    reel.read(name, first, stop, out=frames[missing:])
    if missing:
        if span.prefix is not None and name in span.prefix[1]:
            row = span.prefix[0]
            frames[:missing] = reel.read(name, row, row + 1, axis=PREFIXES)[0][depth - 1 - missing :]
        else:
            frames[:missing] = frames[missing]
    return frames


def _windows(frames: NDArray[Any], depth: int) -> NDArray[Any]:
    return np.moveaxis(sliding_window_view(frames, depth, axis=0), -1, 1)
