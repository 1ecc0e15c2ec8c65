"""Frames to record, and the few steps that every test of videos takes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead.lanes.video import VideoSignal, VideoSignalWriter

TICK = 33_000_000


def clip(count: int, height: int = 48, width: int = 64, seed: int = 0) -> list[NDArray[np.uint8]]:
    """Make smooth colours with a bright square that moves, so that neighbours differ."""
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[0:height, 0:width]
    base = np.stack([rows * 3 % 256, columns * 2 % 256, (rows + columns) % 256], axis=-1).astype(np.float64)
    frames = []
    for i in range(count):
        frame = base * 0.5 + 40 + rng.normal(0, 2, base.shape)
        top, left = (i * 3) % max(height - 8, 1), (i * 5) % max(width - 8, 1)
        frame[top : top + 8, left : left + 8] = 230
        frames.append(np.clip(frame, 0, 255).astype(np.uint8))
    return frames


def grey(count: int, height: int = 48, width: int = 64) -> list[NDArray[np.uint8]]:
    return [frame[..., 0].copy() for frame in clip(count, height, width)]


def depth(count: int, height: int = 48, width: int = 64) -> list[NDArray[np.uint16]]:
    """Make values that use all of the sixteen bits."""
    rng = np.random.default_rng(7)
    return [rng.integers(0, 1 << 16, (height, width), dtype=np.uint16) for _ in range(count)]


class Paths:
    """Where a video and its index go."""

    def __init__(self, folder: Path, name: str = "cam") -> None:
        self.video = folder / f"{name}.mp4"
        self.frames = folder / f"{name}.frames.parquet"

    def write(self, frames: Sequence[NDArray[Any]], **options: Any) -> VideoSignal:
        """Record frames one tick apart."""
        with VideoSignalWriter(self.video, self.frames, **options) as writer:
            for i, frame in enumerate(frames):
                writer.append(frame, i * TICK)
        return self.read()

    def read(self) -> VideoSignal:
        return VideoSignal(self.video, self.frames)


def psnr(found: NDArray[Any], expected: NDArray[Any]) -> float:
    squared = np.square(found.astype(np.float64) - expected).mean()
    return float("inf") if squared == 0 else float(10 * np.log10(255**2 / squared))
