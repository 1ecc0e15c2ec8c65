"""Images of another size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from playhead.errors import WrongShape, WrongType
from playhead.signal import keys
from playhead.signal.arrays import Positions
from playhead.signal.contract import Signal
from playhead.signal.derived.base import Derived, each_once, in_blocks

if TYPE_CHECKING:
    from PIL.Image import Image

T = TypeVar("T")

_BLENDED = ("uint8", "uint16", "float32")


def resized(signal: Signal[T], height: int, width: int, *, smooth: bool = True) -> Signal[T]:
    """Show images in another size, in their own dtype.

    Args:
        signal: Images of H×W, or H×W×C with any number of channels.
        height: Rows of the new images.
        width: Columns of the new images.
        smooth: Blend all pixels that fall into a new one (a triangle filter as wide as the new pixels, so that
            shrinking gives no false patterns, and no value leaves the range of its neighbours); for uint8, uint16 and
            float32. Without it, take the nearest pixel, of any dtype: for masks, labels, and depth, where a mean means
            nothing.

    Raises:
        WrongShape: A side is less than 1; or, when values are read, they are no images.
        WrongType: When values of another dtype are read.
    """
    return Resized(signal, height, width, smooth=smooth)


class Resized(Derived[T]):
    """Images in another size; see `resized`."""

    def __init__(self, source: Signal[T], height: int, width: int, *, smooth: bool = True) -> None:
        super().__init__(source)
        self._height, self._width = keys.as_integer(height, "a height"), keys.as_integer(width, "a width")
        if self._height < 1 or self._width < 1:
            raise WrongShape(f"an image has at least one pixel, not {height}×{width}")
        self._is_smooth = smooth

    def _values_at(self, positions: Positions) -> NDArray[Any]:
        return each_once(positions, lambda different: in_blocks(different, self._BLOCK, self._make))

    def _make(self, positions: Positions) -> NDArray[Any]:
        images = self._source._values_at(positions)
        if not len(self._source):
            return images
        if images.ndim not in (3, 4) or 0 in images.shape[1:]:
            raise WrongShape(f"only images, H×W or H×W×C, can be resized, not values of shape {images.shape[1:]}")
        if images.shape[1:3] == (self._height, self._width):
            return images
        return self._blended(images) if self._is_smooth else self._picked(images)

    def _picked(self, images: NDArray[Any]) -> NDArray[Any]:
        count, height, width, *channels = images.shape
        pixels = _centres(height, self._height)[:, np.newaxis] * width + _centres(width, self._width)
        picked: NDArray[Any] = images.reshape(count, height * width, *channels).take(pixels, axis=1)
        return picked

    def _blended(self, images: NDArray[Any]) -> NDArray[Any]:
        if images.dtype.name not in _BLENDED:
            raise WrongType(
                f"images of {images.dtype} cannot be blended, only {', '.join(_BLENDED)}: "
                "convert them with mapped(…, batch=True), or pass smooth=False to take the nearest pixels"
            )
        small = np.empty((len(images), self._height, self._width, *images.shape[3:]), images.dtype)
        for image, target in zip(images, small, strict=True):
            if image.ndim == 2 or (image.shape[2] == 3 and image.dtype == np.uint8):
                target[...] = self._blend(image)
            else:
                for channel in range(image.shape[2]):
                    target[..., channel] = self._blend(image[..., channel])
        return small

    def _blend(self, image: NDArray[Any]) -> NDArray[Any]:
        from PIL.Image import Resampling

        pixels = np.asarray(_as_picture(image).resize((self._width, self._height), Resampling.BILINEAR))
        return np.rint(pixels) if image.dtype == np.uint16 else pixels


def _as_picture(image: NDArray[Any]) -> Image:
    from PIL import Image

    # Pillow blends 16 bits only as floats, which hold them exactly.
    return Image.fromarray(np.ascontiguousarray(image if image.dtype == np.uint8 else image.astype(np.float32)))


def _centres(old: int, new: int) -> NDArray[np.int64]:
    """Give the old pixel under the centre of each new one."""
    return (2 * np.arange(new, dtype=np.int64) + 1) * old // (2 * new)
