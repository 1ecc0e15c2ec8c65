"""The pictures of an episode: which signal they are, and any of them as RGB."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead.episode import Episode
from playhead.errors import Empty, NotFound, WrongShape, WrongType
from playhead.export.film.blocks import Blocks
from playhead.signal import Signal

FRAME = "frame"

RGB = NDArray[np.uint8]

_LEAST_SIDE = 8  # smaller arrays of bytes are boards and tables, not pictures; their names may still be given
_PLANES_LAST = (1, 3, 4)
_SAMPLES = 8


class Pictures:
    """The pictures of one signal, each as an array of height, width and three colours.

    Grey is made colour, what is not of 8 bits is spread over its range, and of a stack of grey frames the newest is
    shown.

    Args:
        name: The signal.
        signal: Its samples; there are some, and they are pictures.
        final: One more picture behind the last, where there is one.

    Attributes:
        name: The signal.
        height: Of a picture.
        width: Of a picture.
    """

    def __init__(self, name: str, signal: Signal[Any], final: NDArray[Any] | None = None) -> None:
        self.name = name
        self._signal = signal
        self._blocks = Blocks(signal)
        self._shape = self._blocks.first.shape
        self._is_rgba = _is_rgba(self._blocks.first)
        self._span = _span(signal)
        self.final = final if final is not None and final.shape == self._shape else None
        self.height, self.width = self[0].shape[:2]

    @property
    def timestamps(self) -> NDArray[np.int64]:
        """When each picture was taken."""
        return self._signal.timestamps

    def __getitem__(self, position: int) -> RGB:
        """Give a picture; the one behind the last is the final one."""
        return self._shown(self.raw(position))

    def __len__(self) -> int:
        return len(self._signal)

    def raw(self, position: int) -> NDArray[Any]:
        """Give a picture as it was recorded.

        Raises:
            WrongShape: It has another size than the first.
        """
        if position == len(self) and self.final is not None:
            return self.final
        value: NDArray[Any] = np.asarray(self._blocks[position])
        if value.shape != self._shape:
            found = f"the first is of shape {self._shape}, number {position} of {value.shape}"
            raise WrongShape(f"the pictures of {self.name!r} differ in size: {found}")
        return value

    def prepare(self, position: int) -> None:
        """Read ahead."""
        self._blocks.prepare(position)

    def blank(self) -> RGB:
        """Give a black picture, for the time before the first one."""
        return np.zeros((self.height, self.width, 3), np.uint8)

    def _shown(self, value: NDArray[Any]) -> RGB:
        picture = _planes_last(value)
        if picture.ndim == 3 and picture.shape[2] != 3:
            picture = picture[..., :3] if self._is_rgba else picture[..., -1]
        if picture.dtype != np.uint8:
            low, high = self._span
            share = np.nan_to_num((picture.astype(np.float64) - low) / (high - low))
            picture = (np.clip(share, 0, 1) * 255 + 0.5).astype(np.uint8)
        if picture.ndim == 2:
            picture = np.repeat(picture[..., None], 3, axis=2)
        return np.ascontiguousarray(picture)


def choose(episode: Episode, name: str | None = None) -> Pictures:
    """Find the pictures of an episode.

    Args:
        episode: The episode.
        name: The signal; without it `frame`, else the first one whose values are pictures.

    Raises:
        NotFound: There is no such signal.
        WrongType: It has no pictures.
        Empty: No signal has, or the chosen one has no samples.
    """
    signals = episode.signals
    if name is not None:
        if name not in signals:
            raise NotFound.among("signal", name, signals, hint=_offer(_with_pictures(episode)))
        if not len(signals[name]):
            raise Empty(f"the signal {name!r} has no samples: there is nothing to show")
        if not is_picture(signals[name][0][0], least=1):
            raise WrongType(f"the signal {name!r} has no pictures. {_offer(_with_pictures(episode))}")
        return Pictures(name, signals[name], _final(episode, name))
    found = next(iter(_with_pictures(episode)), None)
    if found is None:
        listed = ", ".join(signals) or "none at all"
        raise Empty(f"there are no pictures in this episode; its signals are: {listed}. --json prints its steps")
    return Pictures(found, signals[found], _final(episode, found))


def is_picture(value: Any, *, least: int = _LEAST_SIDE) -> bool:
    """Tell pictures from other values; with `least=1`, also small ones and those of numbers that are not bytes."""
    if not isinstance(value, np.ndarray) or value.ndim not in (2, 3):
        return False
    if value.dtype not in (np.uint8, np.uint16) and (least > 1 or value.dtype.kind not in "buif"):
        return False
    return bool(min(_planes_last(value).shape[:2]) >= least)


def _with_pictures(episode: Episode) -> Iterable[str]:
    """List the signals that have pictures, frames first."""
    signals = episode.signals
    frames = [name for name in signals if name == FRAME or name.endswith(f".{FRAME}")]
    for name in [*frames, *(name for name in signals if name not in frames)]:
        if len(signals[name]) and is_picture(signals[name][0][0]):
            yield name


def _offer(names: Iterable[str]) -> str:
    listed = ", ".join(names)
    return f"Pictures are in: {listed}" if listed else "No signal of this episode has pictures"


def _final(episode: Episode, name: str) -> NDArray[Any] | None:
    """Give what was seen after the last step, which only episodes of agents keep."""
    found: NDArray[Any] | None = getattr(episode, "final", {}).get(name)
    return found


def _planes_last(value: NDArray[Any]) -> NDArray[Any]:
    """Turn stacks, and colours, that lie one behind the other into ones that lie in each pixel."""
    if value.ndim == 3 and value.shape[2] not in _PLANES_LAST and value.shape[0] < min(value.shape[1:]):
        return np.moveaxis(value, 0, -1)
    return value


def _is_rgba(first: NDArray[Any]) -> bool:
    """Tell four colours from four grey frames: the fourth colour is how opaque a pixel is, mostly all of it."""
    picture = _planes_last(first)
    return picture.ndim == 3 and picture.shape[2] == 4 and bool((picture[..., 3] == 255).all())


def _span(signal: Signal[Any]) -> tuple[float, float]:
    """Give the range of values that is shown, without the few that are far off."""
    places = np.unique(np.linspace(0, len(signal) - 1, _SAMPLES).astype(int))
    if np.asarray(signal[0][0]).dtype == np.uint8:
        return 0.0, 255.0
    values = np.asarray(signal[places].values, np.float64)
    values = values[np.isfinite(values)]
    low, high = np.percentile(values, [1, 99]) if values.size else (0.0, 1.0)
    return float(low), float(high) if high > low else float(low) + 1
