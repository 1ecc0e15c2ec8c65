"""What a picture of an episode shows: which signals are cameras, which are curves, and the time they share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead.check.timing import Timing, timing_of
from playhead.episode import Episode
from playhead.errors import Damaged, Empty, NotFound
from playhead.replay.naming import ActionNames
from playhead.signal import Signal

_SAME_CLOCK_NS = 3600 * 10**9
_LEAST_SIDE = 8  # of an image; smaller ones are matrices


@dataclass(frozen=True)
class Camera:
    """A signal of images."""

    name: str
    signal: Signal[Any]
    timing: Timing
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Curve:
    """A signal of numbers or texts; without values where they could not be read."""

    name: str
    timing: Timing
    stamps: NDArray[np.int64]
    values: NDArray[Any]
    problem: str = ""


@dataclass(frozen=True)
class Material:
    """All that goes on a page.

    Attributes:
        cameras: The signals of images.
        curves: The others.
        start: The first time, in nanoseconds.
        seconds: From the first to the last.
    """

    cameras: list[Camera]
    curves: list[Curve]
    start: int
    seconds: float

    def at(self, stamps: NDArray[np.int64]) -> NDArray[np.float64]:
        """Give times as seconds from the first."""
        return (stamps - self.start) / 1e9

    def is_outside(self, timing: Timing) -> bool:
        """Tell whether a signal lies in another time altogether."""
        return timing.start_ts is not None and not _is_near(timing, self.start)


def gather(episode: Episode, names: Iterable[str] | None = None) -> Material:
    """Read what a page shows.

    Args:
        episode: The episode.
        names: The signals wanted, in this order; None for all.

    Raises:
        NotFound: There is no such signal.
        Empty: There is nothing to show.
    """
    chosen = list(episode.signals) if names is None else list(names)
    cameras: list[Camera] = []
    curves: list[Curve] = []
    for name in chosen:
        if name not in episode.signals:
            raise NotFound.among("signal", name, episode.signals)
        _sort(name, episode.signals[name], cameras, curves)
    called = ActionNames(episode.static)
    if called:
        curves = [_named(curve, called) for curve in curves]
    every = [camera.timing for camera in cameras] + [curve.timing for curve in curves]
    timings = [timing for timing in every if timing.samples]
    if not timings:
        raise Empty("there is nothing to draw: no signal has a sample that can be read")
    middle = int(median([timing.start_ts or 0 for timing in timings]))
    near = [timing for timing in timings if _is_near(timing, middle)] or timings
    start = min(timing.start_ts or 0 for timing in near)
    return Material(cameras, curves, start, (max(timing.last_ts or 0 for timing in near) - start) / 1e9)


def _named(curve: Curve, names: ActionNames) -> Curve:
    """Put names in the place of the numbers of actions, if all of them have one."""
    agent, _, signal = curve.name.rpartition(".")
    if signal != "action" or curve.values.ndim != 1 or curve.values.dtype.kind not in "iu":
        return curve
    found, places = np.unique(curve.values, return_inverse=True)
    called = [names.of(one, agent or None) for one in found]
    return curve if None in called else replace(curve, values=np.array(called, object)[places])


def _is_near(timing: Timing, moment: int) -> bool:
    return abs((timing.start_ts or 0) - moment) < _SAME_CLOCK_NS


def _sort(name: str, signal: Signal[Any], cameras: list[Camera], curves: list[Curve]) -> None:
    nothing = np.empty(0, np.int64)
    try:
        stamps = signal.timestamps
        timing = timing_of(stamps)
        first = signal[0][0] if len(signal) else None
        if first is not None and is_image(first):
            cameras.append(Camera(name, signal, timing, first.shape))
        else:
            curves.append(Curve(name, timing, stamps, signal.values))
    except (Damaged, OSError) as error:
        curves.append(Curve(name, Timing(0), nothing, nothing, str(error)))


def is_image(value: Any) -> bool:
    """Tell an image from other arrays: bytes or 16 bits in two dimensions, with one, three or no channels."""
    if not isinstance(value, np.ndarray) or value.dtype not in (np.uint8, np.uint16):
        return False
    is_flat = value.ndim == 2 or (value.ndim == 3 and value.shape[2] in (1, 3))
    return is_flat and min(value.shape[:2]) >= _LEAST_SIDE
