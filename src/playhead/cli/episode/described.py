"""Signals of an episode as plain values with stable keys, for JSON and for tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from playhead.check import timing_of
from playhead.errors import Damaged

if TYPE_CHECKING:
    from playhead.episode import Episode
    from playhead.lanes.video import VideoSignal
    from playhead.signal import Signal

CURVE_SAMPLES = 40


def described(episode: Episode) -> list[dict[str, Any]]:
    """Describe all signals; one that cannot be read has a `problem`."""
    found = []
    for name in episode.signals:
        try:
            found.append({"name": name} | _signal(episode.signals[name]) | {"problem": None})
        except (Damaged, OSError) as error:
            found.append({"name": name, "problem": str(error)})
    starts = [one["start_ts"] for one in found if one.get("start_ts") is not None]
    for one in found:
        for key in ("start", "last"):
            stamp = one.get(f"{key}_ts")
            one[key] = None if stamp is None else (stamp - min(starts)) / 1e9
    return found


def _signal(signal: Signal[Any]) -> dict[str, Any]:
    timing = timing_of(signal.timestamps)
    return {
        **_kind(signal),
        "samples": timing.samples,
        "start_ts": timing.start_ts,
        "last_ts": timing.last_ts,
        "rate_hz": timing.rate_hz,
        "jitter": _seconds(timing.jitter_ns),
        "longest_interval": _seconds(timing.longest_ns),
        "gaps": len(timing.gaps),
    }


def _kind(signal: Signal[Any]) -> dict[str, Any]:
    if hasattr(type(signal), "codec"):
        return _video(cast("VideoSignal", signal))
    values = signal.values
    is_text = values.dtype == object and (not len(values) or isinstance(values[0], str))
    return {
        "lane": "vectors",
        "dtype": "text" if is_text else "mixed" if values.dtype == object else str(values.dtype),
        "shape": list(values.shape[1:]),
        "codec": None,
        "loss": None,
        "curve": _curve(values),
    }


def _video(signal: VideoSignal) -> dict[str, Any]:
    loss = signal.loss if len(signal) else None
    return {
        "lane": "video",
        "dtype": str(signal[0][0].dtype) if len(signal) else None,
        "shape": list(signal.shape) if len(signal) else [],
        "codec": signal.codec if len(signal) else None,
        "loss": None if loss is None else {"psnr_db": loss.psnr_db, "max": loss.largest, "frames": loss.frames},
        "curve": [],
    }


def _curve(values: np.ndarray[Any, Any]) -> list[float]:
    """Give a few values of a scalar, spread over its life."""
    if values.ndim != 1 or values.dtype.kind not in "biuf" or not len(values):
        return []
    places = np.linspace(0, len(values) - 1, min(CURVE_SAMPLES, len(values))).round().astype(int)
    return [float(value) for value in values[places]]


def _seconds(nanoseconds: int | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / 1e9
