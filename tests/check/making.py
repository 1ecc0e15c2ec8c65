"""Episodes for tests: small, and wrong in ways that are known."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from playhead.dataset import LocalDatasetWriter
from playhead.episode import DiskEpisodeWriter

START = 1_790_000_000_000_000_000
MS = 1_000_000
SECOND = 1_000_000_000


def record(root: Path, fill: Callable[[DiskEpisodeWriter], None], **options: Any) -> Path:
    """Record one episode into a dataset; give its folder."""
    with LocalDatasetWriter(root).new_episode(created_ts_ns=START, **options) as episode:
        fill(episode)
    return episode.path


def leave_unfinished(root: Path, fill: Callable[[DiskEpisodeWriter], None]) -> Path:
    """Record one episode that an exception ends."""
    writer = LocalDatasetWriter(root).new_episode(created_ts_ns=START)
    try:
        with writer:
            fill(writer)
            raise RuntimeError("the robot fell over")
    except RuntimeError:
        return writer.path


def append(episode: DiskEpisodeWriter, name: str, values: Iterable[Any], *, hz: float = 100, at: int = START) -> None:
    """Append values at a rate."""
    for number, value in enumerate(values):
        episode.append(name, value, at + round(number * SECOND / hz))


def curve(count: int = 100) -> list[float]:
    return [float(np.sin(number / 7)) for number in range(count)]


def frame(number: int, *, height: int = 48, width: int = 64) -> np.ndarray:
    """A picture in which a square moves."""
    picture = np.full((height, width, 3), 90, np.uint8)
    picture[:, :, 0] = np.arange(width) * 3
    left = (number * 3) % (width - 12)
    picture[16:28, left : left + 12] = (255, 200, 20)
    return picture


def usual(episode: DiskEpisodeWriter) -> None:
    """What a robot records: a camera, a vector, numbers, texts; one second of it."""
    episode.set_static("task", "pick up the cube")
    episode.set_static("success", True)
    append(episode, "cam", (frame(number) for number in range(30)), hz=30)
    append(episode, "joint", (np.sin(np.arange(7) + number / 10).astype(np.float32) for number in range(100)))
    append(episode, "force", curve())
    append(episode, "count", range(50), hz=50)
    append(episode, "closed", (number % 20 < 10 for number in range(100)))
    append(episode, "label", ("reach" if number < 10 else "grasp" for number in range(20)), hz=20)


def numbers(episode: DiskEpisodeWriter) -> None:
    """A recording without a camera."""
    episode.set_static("task", "push")
    append(episode, "force", curve())
    append(episode, "joint", (np.arange(3) * number / 10 for number in range(100)))


def flip(path: Path, place: int) -> None:
    """Flip one bit of a file."""
    data = bytearray(path.read_bytes())
    data[place] ^= 0x10
    path.write_bytes(data)
