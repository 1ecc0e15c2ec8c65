"""What a video says about itself: whether its bytes are those that were written, and whether its frames move.

Frames that were equal when they were appended are not equal when they come out of a lossy video: they settle within a
few frames, and each keyframe draws them anew. So frames count as one where no value differs by more than a little, and
a keyframe between frames that stand still does not count as movement.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from playhead.check.clocks import stretch
from playhead.check.finding import NOTE, WARNING
from playhead.clock import SECOND

if TYPE_CHECKING:
    from playhead.lanes.video import VideoSignal

_EQUAL = 4  # of 255: the noise of a camera is more, what a codec does to a still picture less
_REDRAWN = 32  # by which a keyframe may change a still picture
_FROZEN_FRAMES, _FROZEN_NS = 5, SECOND
_BLOCK_BYTES = 1 << 25


def look(signal: VideoSignal, *, deep: bool) -> Iterator[tuple[str, str]]:
    """Look at a video.

    Args:
        signal: The video.
        deep: Decode every frame.

    Yields:
        A severity and what was found.

    Raises:
        Damaged: Its bytes are not those that were written, or a frame cannot be decoded.
    """
    if not len(signal):
        yield NOTE, "has no frames"
        return
    signal.verify()
    if deep:
        yield from movement(_is_same(signal), signal.timestamps)


def movement(is_same: NDArray[np.bool_], stamps: NDArray[np.int64]) -> Iterator[tuple[str, str]]:
    """Find frames that stand still or repeat.

    Args:
        is_same: Whether each frame but the first is the same as the one before.
        stamps: The times of all frames.

    Yields:
        A severity and what was found.
    """
    runs = list(_runs(is_same))
    frozen = [
        (first, last)
        for first, last in runs
        if last - first + 1 >= _FROZEN_FRAMES or stamps[last] - stamps[first] > _FROZEN_NS
    ]
    if frozen == [(0, len(stamps) - 1)]:
        yield WARNING, f"never moves: all {len(stamps):,} frames are the same"
        return
    if frozen:
        first, last = max(frozen, key=lambda run: int(stamps[run[1]] - stamps[run[0]]))
        times = "stands still" if len(frozen) == 1 else f"stands still {len(frozen):,} times, the longest"
        yield (
            WARNING,
            f"{times} for {stretch(int(stamps[last] - stamps[first]))} ({last - first + 1:,} frames) at "
            f"{(stamps[first] - stamps[0]) / SECOND:.2f} s: the camera was frozen, or nothing moved",
        )
    repeated = sum(last - first for first, last in runs) - sum(last - first for first, last in frozen)
    if repeated:
        yield NOTE, f"{repeated:,} of {len(stamps):,} frames repeat the one before"


def _runs(is_same: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Give the first and the last frame of each row of frames that are the same."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], is_same, [False]]).astype(np.int8)))
    yield from zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)


def _is_same(signal: VideoSignal) -> NDArray[np.bool_]:
    """Compare each frame but the first with the one before."""
    largest = np.empty(max(0, len(signal) - 1))
    before: NDArray[Any] | None = None
    at = 0
    size = int(np.prod(signal.shape))
    step = max(1, min(64, _BLOCK_BYTES // size))
    for start in range(0, len(signal), step):
        for frame in signal[start : start + step].values:
            if before is not None:
                largest[at] = (np.maximum(frame, before) - np.minimum(frame, before)).max()
                at += 1
            before = frame
    exact = before is not None and before.dtype != np.uint8  # depth is always kept exactly
    is_same = largest <= (0 if exact else _EQUAL)
    if not exact and len(is_same) > 2:
        is_same[1:-1] |= is_same[:-2] & is_same[2:] & (largest[1:-1] <= _REDRAWN)
    return is_same
