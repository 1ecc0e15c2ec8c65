"""A camera as a strip of frames along the time that all signals share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead.errors import Damaged
from playhead.plots.material import Camera, Material
from playhead.plots.style import ALARM, DPI, FAINT, PANEL, SOFT

_OUTLINE = "#dfe3e8"

LABEL = 0.2  # inches below the frames, for their times
_GAP = 0.06  # inches between frames
_MOST_HEIGHT, _LEAST_HEIGHT, _LEAST_WIDTH = 1.7, 0.55, 0.85
_LEAST_FRAMES = 4
_NOTHING, _OLD, _WHOLE = -1, 10**8, 1 << 62


def cell_of(camera: Camera, width: float, frames: int) -> tuple[int, float, float]:
    """Choose how many frames a strip has, and their size in inches.

    Args:
        camera: The camera.
        width: Of the strip in inches.
        frames: How many are wanted.
    """
    height, wide = camera.shape[:2]
    least = max(_LEAST_WIDTH, _LEAST_HEIGHT * wide / height)
    count = max(1, min(frames, max(_LEAST_FRAMES, int(width / least)), camera.timing.samples))
    cell = width / count - _GAP
    return count, cell, min(cell * height / wide, _MOST_HEIGHT)


def draw(figure: Any, camera: Camera, material: Material, box: tuple[float, float, float], frames: int) -> None:
    """Draw a strip.

    Args:
        figure: The page.
        camera: The camera.
        material: All that is on the page.
        box: Left, bottom and width of the strip in inches; the bottom is that of the times below the frames.
        frames: How many frames are wanted.
    """
    left, bottom, width = box
    count, cell, height = cell_of(camera, width, frames)
    if material.is_outside(camera.timing):
        _say(figure, (left, bottom, width, height + LABEL), "lies in another time: a different clock?")
        return
    moments = material.start + ((np.arange(count) + 0.5) / count * material.seconds * 1e9).astype(np.int64)
    try:
        found = _frames_at(camera, moments)
    except (Damaged, OSError):
        _say(figure, (left, bottom, width, height + LABEL), "cannot be read")
        return
    span = _span([frame for frame, _ in found if frame is not None])
    for place, (frame, stamp) in enumerate(found):
        x = left + place * (width / count) + _GAP / 2
        axes = _axes(figure, (x, bottom + LABEL, cell, height))
        if frame is None or stamp is None:
            axes.set_facecolor(PANEL)
            label = "no frame"
        else:
            _show(axes, _sized(frame, cell, height, span))
            label = f"{(stamp - material.start) / 1e9:.2f} s"
        axes.text(
            0.5, -0.045 / height, label, transform=axes.transAxes, ha="center", va="top", size=7,
            color=SOFT if frame is not None else FAINT,
        )  # fmt: skip


def _frames_at(camera: Camera, moments: NDArray[np.int64]) -> list[tuple[NDArray[Any] | None, int | None]]:
    stamps = camera.signal.timestamps
    places = np.searchsorted(stamps, moments, "right") - 1
    # A frame that is older than a place of the strip is long would pass for one of its time.
    stale = moments - stamps[places] > max(int(moments[1] - moments[0]) if len(moments) > 1 else _WHOLE, _OLD)
    places[stale & (places >= 0)] = _NOTHING
    wanted = sorted({int(place) for place in places if place >= 0})
    frames = dict(zip(wanted, camera.signal[wanted].values, strict=True)) if wanted else {}
    return [(frames[int(at)], int(stamps[at])) if at >= 0 else (None, None) for at in places]


def _span(frames: list[NDArray[Any]]) -> tuple[float, float]:
    """Give the range of depth that a strip shows, without the few pixels that are far off."""
    if not frames or frames[0].dtype == np.uint8:
        return 0.0, 255.0
    low, high = np.percentile(np.stack(frames), [1, 99])
    return float(low), max(float(high), float(low) + 1)


def _sized(frame: NDArray[Any], width: float, height: float, span: tuple[float, float]) -> NDArray[Any]:
    """Make a frame as large as it is drawn, with a better filter than drawing has."""
    from PIL import Image

    if frame.dtype != np.uint8:
        low, high = span
        frame = (np.clip((frame.astype(float) - low) / (high - low), 0, 1) * 255).astype(np.uint8)
    if frame.ndim == 3 and frame.shape[2] == 1:
        frame = frame[..., 0]
    scale = min(width * DPI / frame.shape[1], height * DPI / frame.shape[0])
    size = (max(1, round(frame.shape[1] * scale)), max(1, round(frame.shape[0] * scale)))
    filtered = (
        Image.Resampling.LANCZOS if scale < 1 else Image.Resampling.BICUBIC if scale < 4 else Image.Resampling.NEAREST
    )
    return np.asarray(Image.fromarray(np.ascontiguousarray(frame)).resize(size, filtered))


def _show(axes: Any, image: NDArray[Any]) -> None:
    axes.imshow(image, cmap="gray", vmin=0, vmax=255, interpolation="nearest", aspect="equal")
    axes.set_facecolor(PANEL)
    for spine in axes.spines.values():  # a picture may be as white as the page
        spine.set(visible=True, color=_OUTLINE, linewidth=0.8)


def _axes(figure: Any, box: tuple[float, float, float, float]) -> Any:
    wide, high = figure.get_size_inches()
    axes = figure.add_axes((box[0] / wide, box[1] / high, box[2] / wide, box[3] / high))
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)
    return axes


def _say(figure: Any, box: tuple[float, float, float, float], text: str) -> None:
    axes = _axes(figure, box)
    axes.set_facecolor(PANEL)
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", size=8, color=ALARM)
