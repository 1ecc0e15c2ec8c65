"""Pictures as browsers show them: which arrays are pictures, how values become colours, and how these are encoded."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead.errors import BadKey, Damaged

Picture = NDArray[np.uint8]

AUTO, JPEG, PNG, WEBP = "auto", "jpeg", "png", "webp"
TYPES = {JPEG: "image/jpeg", PNG: "image/png", WEBP: "image/webp"}
QUALITY = 85

_BYTES_SIDE, _NUMBERS_SIDE = 8, 16  # what is smaller is a board or a matrix
_MOST_PLANES = 16
_COLOURS, _OPAQUE = 3, 4
_SAMPLES = 3
_LOOKED_AT = 256  # pixels on a side, in the middle, that tell which format suits
_PNG_LEVEL = 1
_WORTH = 2.5  # PNG may be so many times as large as JPEG, which loses something


@dataclass(frozen=True, slots=True)
class Form:
    """How the numbers of a picture lie in an array.

    Attributes:
        height: Of a picture.
        width: Of a picture.
        planes: Colours, or grey frames of a stack, in each pixel.
        is_first: Whether the planes lie one behind the other, and not in each pixel.
        dtype: The type of a number.
    """

    height: int
    width: int
    planes: int
    is_first: bool
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, dtype: Any, shape: tuple[int, ...]) -> Form | None:
        """Tell how a picture lies in arrays of a type and shape; None where these are no pictures."""
        kind = np.dtype(dtype)
        if kind.kind not in "buif" or len(shape) not in (2, 3):
            return None
        least = _BYTES_SIDE if kind in (np.uint8, np.uint16) else _NUMBERS_SIDE
        is_first = len(shape) == 3 and shape[2] not in (1, _COLOURS, _OPAQUE) and shape[0] < min(shape[1:])
        height, width = shape[1:] if is_first else shape[:2]
        planes = 1 if len(shape) == 2 else shape[0] if is_first else shape[2]
        is_known = is_first or planes in (1, _COLOURS, _OPAQUE)
        if min(height, width) < least or not is_known or planes == 2 or planes > _MOST_PLANES:
            return None
        return cls(height, width, planes, is_first, kind)


@dataclass(frozen=True, slots=True)
class Look:
    """How the values of one signal are shown.

    Attributes:
        form: How they lie.
        is_opaque: Whether the last of four planes says how opaque a pixel is; else it is the newest of a stack.
        low: The value that is black; bytes are shown as they are.
        high: The value that is white.
    """

    form: Form
    is_opaque: bool = False
    low: float = 0.0
    high: float = 255.0

    @classmethod
    def of(cls, form: Form, samples: list[NDArray[Any]]) -> Look:
        """Find out how to show values by some of them."""
        is_opaque = form.planes == _OPAQUE and bool(samples) and form.dtype == np.uint8
        is_opaque = is_opaque and all((_planes_last(form, one)[..., 3] == 255).all() for one in samples)
        if form.dtype == np.uint8:
            return cls(form, is_opaque)
        if form.dtype.kind == "b":
            return cls(form, high=1.0)
        return cls(form, False, *_span(form.dtype, samples))

    @property
    def scale(self) -> tuple[bool, float, float]:
        """What makes a picture look another way, and so belongs into the tag of an answer."""
        return self.is_opaque, self.low, self.high

    def shown(self, value: NDArray[Any]) -> Picture:
        """Give a value in bytes: of grey ones height and width, of others also three colours.

        Colours without opacity, of a stack the newest frame, and what is no bytes spread over its range.
        """
        picture = _planes_last(self.form, value)
        if picture.ndim == 3 and picture.shape[2] != _COLOURS:
            picture = picture[..., :_COLOURS] if self.is_opaque else picture[..., -1]
        if picture.dtype != np.uint8:
            share = np.nan_to_num((picture.astype(np.float64) - self.low) / (self.high - self.low))
            picture = (np.clip(share, 0, 1) * 255 + 0.5).astype(np.uint8)
        return np.ascontiguousarray(picture)

    def exact(self, value: NDArray[Any]) -> NDArray[Any]:
        """Give a value as PNG can keep it bit for bit, with its opacity and in 16 bits, where it can; else as shown."""
        if self.form.dtype == np.uint8 and self.is_opaque:
            return np.ascontiguousarray(_planes_last(self.form, value))
        if self.form.dtype == np.uint16 and self.form.planes != _COLOURS:
            picture = _planes_last(self.form, value)
            return np.ascontiguousarray(picture[..., -1] if picture.ndim == 3 else picture)
        return self.shown(value)


def _planes_last(form: Form, value: NDArray[Any]) -> NDArray[Any]:
    return np.moveaxis(value, 0, -1) if form.is_first else value


def _span(dtype: np.dtype[Any], samples: list[NDArray[Any]]) -> tuple[float, float]:
    """Give the range of values that is shown: 0 to 1 where all lie in it, else without the few that are far off."""
    values = np.concatenate([one.reshape(-1) for one in samples]).astype(np.float64) if samples else np.empty(0)
    values = values[np.isfinite(values)]
    if not values.size:
        return 0.0, 1.0
    if dtype.kind == "f" and values.min() >= 0 and values.max() <= 1:
        return 0.0, 1.0
    low, high = np.percentile(values, [1, 99])
    return float(low), float(high) if high > low else float(low) + 1


class Pictures:
    """The pictures of one array or signal, read one at a time. Safe in threads where `read` is.

    How they are shown, and which format suits them, is found out once, by a few of them.

    Args:
        form: How they lie.
        read: Gives the value at a place, None where there is none.
        places: Some places to look at; those without a value, and damaged ones, are passed over.
    """

    def __init__(self, form: Form, read: Callable[[int], NDArray[Any] | None], places: Iterable[int]) -> None:
        self.form = form
        self._read = read
        self._places = list(places)
        self._turn = threading.Lock()
        self._look: Look | None = None
        self._format = ""

    @property
    def look(self) -> Look:
        """How they are shown."""
        return self._known()[0]

    @property
    def format(self) -> str:
        """The format that suits them: `png` for the few colours of games, which it keeps; `jpeg` for cameras."""
        return self._known()[1]

    def _known(self) -> tuple[Look, str]:
        with self._turn:
            if self._look is None:
                samples = list(self._samples())
                look = Look.of(self.form, samples)
                self._format = suiting([look.shown(sample) for sample in samples])
                self._look = look
            return self._look, self._format

    def _samples(self) -> Iterable[NDArray[Any]]:
        chosen = np.unique(np.linspace(0, len(self._places) - 1, _SAMPLES).astype(int)) if self._places else ()
        for place in chosen:
            try:
                value = self._read(self._places[int(place)])
            except Damaged:
                continue  # said where that very picture is asked for
            if value is not None:
                yield np.asarray(value)

    def raw(self, place: int) -> NDArray[Any] | None:
        """Give a value as it was recorded; None where there is none."""
        value = self._read(place)
        return None if value is None else np.asarray(value)


def suiting(pictures: list[Picture]) -> str:
    """Choose the format that suits pictures alike."""
    parts = [_middle(one) for one in pictures]
    sizes = [(len(encoded(part, PNG)), len(encoded(part, JPEG))) for part in parts]
    return PNG if sum(png for png, _ in sizes) <= _WORTH * sum(jpeg for _, jpeg in sizes) else JPEG


def _middle(picture: Picture) -> Picture:
    top, left = (max(0, (side - _LOOKED_AT) // 2) for side in picture.shape[:2])
    return np.ascontiguousarray(picture[top : top + _LOOKED_AT, left : left + _LOOKED_AT])


def smaller(picture: Picture, width: int | None) -> Picture:
    """Bring a picture to a width, its aspect kept; one that is no wider stays as it is."""
    if width is None or width >= picture.shape[1]:
        return picture
    return resized(picture, width, max(1, round(picture.shape[0] * width / picture.shape[1])))


def resized(picture: Picture, width: int, height: int) -> Picture:
    """Bring a picture to a size; where it shrinks, each pixel is the mean of those below it."""
    from PIL import Image

    if (height, width) == picture.shape[:2]:
        return picture
    shrinks = width <= picture.shape[1] and height <= picture.shape[0]
    way = Image.Resampling.BOX if shrinks else Image.Resampling.BILINEAR
    return np.asarray(Image.fromarray(picture).resize((width, height), way))


def encoded(picture: NDArray[Any], format: str, quality: int = QUALITY) -> bytes:
    """Encode a picture.

    Args:
        picture: Grey, or with three or four colours; PNG also takes grey of 16 bits.
        format: `jpeg`, `png` or `webp`.
        quality: Of JPEG and WebP, up to 100.
    """
    match format:
        case "jpeg":
            return _jpeg(picture, quality)
        case "png":
            return _by_pillow(picture, "PNG", compress_level=_PNG_LEVEL)
        case "webp":
            return _by_pillow(picture, "WEBP", quality=quality, method=2)
    raise BadKey(f"no format {format!r} for pictures; there is: {', '.join(TYPES)}")


def _jpeg(picture: Picture, quality: int) -> bytes:
    import simplejpeg  # type: ignore[import-untyped]

    if picture.ndim == 2:
        grey = np.ascontiguousarray(picture[..., None])
        return bytes(simplejpeg.encode_jpeg(grey, quality, "GRAY", "Gray"))
    return bytes(simplejpeg.encode_jpeg(np.ascontiguousarray(picture), quality, "RGB", "420"))


def _by_pillow(picture: NDArray[Any], name: str, **options: Any) -> bytes:
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, name, **options)
    return buffer.getvalue()
