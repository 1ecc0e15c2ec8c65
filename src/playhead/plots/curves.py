"""A signal drawn over time, whatever its values are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead.plots.material import Curve, Material
from playhead.plots.style import ALARM, BANDS, FAINT, INK, LINES, drawable, width_of

_MOST_LINES = 64  # numbers of one value that are drawn as lines of their own
_BUCKETS = 1400  # places along a curve at which more samples cannot be told apart
_LABELLED = len(LINES)


def draw(axes: Any, curve: Curve, material: Material, width: float) -> None:
    """Draw a curve.

    Args:
        axes: Where; its width is the time of the material.
        curve: The signal.
        material: All that is on the page.
        width: Of the axes, in inches.
    """
    if curve.problem:
        _say(axes, "cannot be read", ALARM)
    elif not curve.timing.samples:
        _say(axes, "no samples", FAINT)
    elif material.is_outside(curve.timing):
        _say(axes, "lies in another time: a different clock?", ALARM)
    elif curve.values.dtype == object:
        _draw_words(axes, curve, material, width)
    elif curve.values.dtype == np.bool_ and curve.values.ndim == 1:
        _draw_truth(axes, curve, material)
    else:
        _draw_numbers(axes, curve, material)


def colours_of(curve: Curve) -> list[str]:
    """Give the colour of each number of a vector, where there are few enough to tell them apart."""
    if curve.problem or curve.values.dtype == object or curve.values.ndim < 2:
        return []
    count = int(np.prod(curve.values.shape[1:]))
    return list(LINES[:count]) if 1 < count <= _LABELLED else []


def kind_of(curve: Curve) -> str:
    """Say in a few characters what a signal is."""
    if curve.problem:
        return "damaged"
    values = curve.values
    if values.dtype == object:
        return "text" if len(values) and isinstance(values[0], str) else "mixed"
    shape = "×".join(map(str, values.shape[1:]))
    return f"{values.dtype} [{shape}]" if shape else str(values.dtype)


def _say(axes: Any, text: str, colour: str) -> None:
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color=colour, size=8)
    axes.set_yticks([])


def _until(curve: Curve, material: Material) -> NDArray[np.float64]:
    """Give the times of the samples and of the end: the last value holds until the end of the recording."""
    return np.append(material.at(curve.stamps), max(material.seconds, float(material.at(curve.stamps[-1:])[0])))


def _draw_words(axes: Any, curve: Curve, material: Material, width: float) -> None:
    texts = [str(value) for value in curve.values]
    times = _until(curve, material)
    starts = [0, *(at for at in range(1, len(texts)) if texts[at] != texts[at - 1])]
    known = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    total = axes.get_xlim()[1] - axes.get_xlim()[0]
    shown = starts if len(starts) <= _BUCKETS else starts[:: len(starts) // _BUCKETS + 1]
    edges = list(zip(shown, [*shown[1:], len(texts)], strict=True))
    bands = [(times[at], times[following] - times[at]) for at, following in edges]
    axes.broken_barh(bands, (0.1, 0.8), facecolors=[BANDS[known[texts[at]] % len(BANDS)] for at in shown], lw=0)
    for at, following in edges:
        left, right = times[at], times[following]
        label = drawable(" ".join(texts[at].split()))[:60]
        room = (right - left) / total * width
        if label and width_of(label, 7.5) + 0.08 < room:
            x = left + 0.04 / width * total
            axes.text(x, 0.5, label, size=7.5, color=INK, va="center", clip_on=True, parse_math=False)
    axes.set_ylim(0, 1)
    axes.set_yticks([])


def _draw_truth(axes: Any, curve: Curve, material: Material) -> None:
    values = np.append(curve.values, curve.values[-1]).astype(float)
    times = _until(curve, material)
    axes.fill_between(times, values, step="post", color=LINES[0], alpha=0.18, lw=0)
    axes.step(times, values, where="post", color=LINES[0], lw=1.0)
    axes.set_ylim(-0.12, 1.12)
    axes.set_yticks([0, 1], ["false", "true"])


def _draw_numbers(axes: Any, curve: Curve, material: Material) -> None:
    values = curve.values.reshape(len(curve.values), -1).astype(float)
    values[~np.isfinite(values)] = np.nan
    count = values.shape[1]
    if not count or np.isnan(values).all():
        _say(axes, "no finite value", ALARM)
        return
    if count > _MOST_LINES:
        _draw_range(axes, curve, material, values)
    else:
        _draw_lines(axes, curve, material, values)
    _scale(axes, values)


def _draw_lines(axes: Any, curve: Curve, material: Material, values: NDArray[np.float64]) -> None:
    count = values.shape[1]
    colours = LINES[:count] if count <= _LABELLED else [_between(place / (count - 1)) for place in range(count)]
    is_dense = count > _LABELLED or len(values) > _BUCKETS
    looks = {"lw": 0.7 if is_dense else 1.0, "alpha": 0.7 if count > _LABELLED else 1.0}
    broken = np.searchsorted(curve.stamps, np.array(curve.timing.gaps, np.int64), "right")
    if len(values) <= 2 * _BUCKETS:  # as what it is: each value holds until the next, over a gap as dots
        times, held = _until(curve, material), np.vstack([values, values[-1:]])
        for column, colour in zip(held.T, colours, strict=True):
            interrupted = np.insert(times, broken, times[broken - 1]), np.insert(column, broken, np.nan)
            axes.step(*interrupted, where="post", color=colour, **looks)
            axes.hlines(column[broken - 1], times[broken - 1], times[broken], color=colour, ls=":", lw=0.8)
        return
    times = np.insert(material.at(curve.stamps), broken, np.nan)
    for column, colour in zip(values.T, colours, strict=True):
        axes.plot(*thinned(times, np.insert(column, broken, np.nan)), color=colour, **looks)


def _draw_range(axes: Any, curve: Curve, material: Material, values: NDArray[np.float64]) -> None:
    """Draw the range of many numbers and their mean."""
    rows = np.linspace(0, len(values) - 1, min(len(values), _BUCKETS)).astype(int)
    picked = np.where(np.isnan(values[rows]).all(axis=1, keepdims=True), 0.0, values[rows])
    times = material.at(curve.stamps[rows])
    axes.fill_between(times, np.nanmin(picked, axis=1), np.nanmax(picked, axis=1), color=LINES[0], alpha=0.15, lw=0)
    axes.plot(times, np.nanmean(picked, axis=1), color=LINES[0], lw=1.0)


def thinned(times: NDArray[np.float64], values: NDArray[np.float64]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Keep the lowest and the highest value of each stretch too short to be seen."""
    if len(values) <= 4 * _BUCKETS:
        return times, values
    size = len(values) // _BUCKETS + 1
    padded = -len(values) % size
    grid = np.pad(values, (0, padded), constant_values=np.nan).reshape(-1, size)
    moments = np.pad(times, (0, padded), mode="edge").reshape(-1, size)[:, 0]
    empty = np.isnan(grid).all(axis=1)
    low = np.where(empty, np.nan, np.where(np.isnan(grid), np.inf, grid).min(axis=1))
    high = np.where(empty, np.nan, np.where(np.isnan(grid), -np.inf, grid).max(axis=1))
    return np.repeat(moments, 2), np.column_stack([low, high]).reshape(-1)


def _scale(axes: Any, values: NDArray[np.float64]) -> None:
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    if low == high:
        pad = abs(low) * 0.1 or 1.0
        axes.set_ylim(low - pad, high + pad)
        axes.set_yticks([low], [_number(low, 0.0)])
        return
    pad = (high - low) * 0.08
    axes.set_ylim(low - pad, high + pad)
    axes.set_yticks([low, high], [_number(low, high - low), _number(high, high - low)])


def _number(value: float, span: float) -> str:
    """Give as many digits as tell the ends of a range apart."""
    scale = max(abs(value), abs(span))
    if value and not 1e-3 <= scale < 1e6:
        return f"{value:.3g}".replace("-", "−")
    decimals = 2 - math.floor(math.log10(span or abs(value) or 1.0))
    text = f"{value:.{min(6, max(0, decimals))}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text).replace("-", "−")


def _between(share: float) -> str:
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    return str(to_hex(colormaps["viridis"](0.05 + 0.85 * share)))
