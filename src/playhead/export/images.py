"""Frames as image files."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead import disk
from playhead.episode import Episode
from playhead.errors import Empty, Exists, WrongType
from playhead.export.chosen import choose, file_name, is_video, regular_times
from playhead.paths import GivenPath, as_folder
from playhead.signal import Signal

Progress = Callable[[Sequence[int]], Iterable[int]]

_INDEX = "frames.csv"
_OURS = re.compile(r"\d{6,}\.png")


def to_frames(
    episode: Episode,
    target: GivenPath,
    *,
    signals: Iterable[str] | None = None,
    rate: float | None = None,
    force: bool = False,
    watch: Progress | None = None,
) -> dict[str, int]:
    """Write the frames of cameras as PNG files, without a loss: `TARGET/SIGNAL/000000.png` and so on.

    Beside them, `frames.csv` has the file, the index and the time of each. Of a signal whose name cannot be that of a
    folder, what stands in the way is percent-encoded: `left/arm` lies in `left%2Farm`.

    Args:
        episode: The episode.
        target: The folder.
        signals: Only these cameras. Without them, all.
        rate: So many frames a second, each the newest at its time; without it, every frame.
        force: Replace frames that are there.
        watch: Given the places of the frames, walks over them; a place for a progress bar.

    Returns:
        How many frames were written of each camera.

    Raises:
        Exists: There are files in the folder of a camera.
        NotFound: There is no such signal.
        WrongType: A signal is no images.
        Empty: There are no images.
    """
    wanted = None if signals is None else list(signals)
    chosen = choose(episode, wanted)
    others = [name for name, signal in chosen.items() if not _is_drawable(signal)]
    if others and wanted:
        raise WrongType(f"{others[0]!r} is not images that PNG can hold; export it as csv, parquet or npz")
    cameras = {name: signal for name, signal in chosen.items() if name not in others}
    if not cameras:
        raise Empty("there are no frames to export: no signal of the episode is images")
    root = as_folder(target, "what holds frames")
    folders = {name: root / file_name(name) for name in cameras}
    for folder in folders.values():
        if folder.exists() and any(folder.iterdir()) and not force:
            raise Exists(f"{folder} holds files; choose another folder, or replace frames with force=True")
    return {name: _write(signal, folders[name], rate, watch or iter) for name, signal in cameras.items()}


def _is_drawable(signal: Signal[Any]) -> bool:
    if not is_video(signal) or not len(signal):
        return is_video(signal)
    frame = signal[0][0]
    channels = frame.shape[2] if frame.ndim == 3 else 1
    return bool(frame.size) and channels <= (4 if frame.dtype == np.uint8 else 1)


def _write(signal: Signal[Any], folder: Path, rate: float | None, watch: Callable[..., Iterable[int]]) -> int:
    disk.make_folders(folder)
    for old in folder.iterdir():
        if _OURS.fullmatch(old.name):
            disk.remove(old)
    places = _places(signal, rate)
    lines = ["file,index,ts_ns"]
    for number in watch(range(len(places))):
        place = int(places[number])
        frame, stamp = signal[place]
        disk.replace(folder / f"{number:06}.png", png(frame), durable=False)
        lines.append(f"{number:06}.png,{place},{stamp}")
    disk.replace(folder / _INDEX, ("\n".join(lines) + "\n").encode())
    return len(places)


def _places(signal: Signal[Any], rate: float | None) -> NDArray[np.int64]:
    if rate is None or not len(signal):
        return np.arange(len(signal))
    return np.searchsorted(signal.timestamps, regular_times({"": signal}, rate), "right") - 1


def png(frame: NDArray[Any]) -> bytes:
    """Encode an image of 8 bits, in colour or grey, or of 16 bits in grey."""
    from PIL import Image

    flat = frame[..., 0] if frame.ndim == 3 and frame.shape[2] == 1 else frame
    buffer = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(flat)).save(buffer, "PNG", compress_level=3)
    return buffer.getvalue()
