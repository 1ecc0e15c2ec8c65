"""Several pictures as one: the sub-environments of a vector environment in a grid."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from playhead.errors import WrongShape, WrongType
from playhead.lanes.live.ring import Picture

_MOST_PIXELS = 1920 * 1080  # of a grid; the pictures of a larger one lose rows and columns


class Grid(NamedTuple):
    """How pictures lie beside each other.

    Attributes:
        rows: Of pictures.
        columns: Of pictures.
        every: Only each so-manieth row and column of a picture is shown.
        height: Of what is shown of a picture.
        width: Of what is shown of a picture.
        channels: 3, or 4 where the pictures have transparency. Grey ones become colours, which every viewer knows.
    """

    rows: int
    columns: int
    every: int
    height: int
    width: int
    channels: int

    @classmethod
    def of(cls, count: int, shape: tuple[int, ...]) -> Grid:
        """Lay out so many pictures of a shape, about as many rows as columns; one alone is kept as it is."""
        columns = math.ceil(math.sqrt(count))
        rows = math.ceil(count / columns)
        pixels = rows * columns * shape[0] * shape[1]
        every = 1 if count == 1 else max(1, math.ceil(math.sqrt(pixels / _MOST_PIXELS)))
        height, width = math.ceil(shape[0] / every), math.ceil(shape[1] / every)
        return cls(rows, columns, every, height, width, 4 if len(shape) == 3 and shape[2] == 4 else 3)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Height, width and channels of the whole."""
        return self.rows * self.height, self.columns * self.width, self.channels

    def fill(self, whole: Picture, pictures: Sequence[Picture]) -> None:
        """Copy pictures to their places; places that are left over are black."""
        if len(pictures) == 1:
            whole[...] = pictures[0][..., None] if pictures[0].ndim == 2 else pictures[0]
            return
        for place in range(self.rows * self.columns):
            row, column = divmod(place, self.columns)
            top, left = row * self.height, column * self.width
            target = whole[top : top + self.height, left : left + self.width]
            if place >= len(pictures):
                target[...] = 0
                continue
            picture = pictures[place][:: self.every, :: self.every]
            target[...] = picture[..., None] if picture.ndim == 2 else picture


def check(picture: object) -> Picture:
    """See that something is a picture that can be shown.

    Raises:
        WrongType: It is no array of bytes.
        WrongShape: It is not height × width, or that × 1, 3 or 4.
    """
    dtype: Any = getattr(picture, "dtype", None)
    shape: tuple[int, ...] = getattr(picture, "shape", ())
    if dtype != "uint8":
        raise WrongType(f"a live frame is a NumPy array of uint8, not {dtype or type(picture).__name__}")
    if len(shape) not in (2, 3) or 0 in shape or (len(shape) == 3 and shape[2] not in (1, 3, 4)):
        raise WrongShape(f"a live frame is height × width, or that × 1, 3 or 4, not {list(shape)}")
    return picture  # type: ignore[return-value]  # it has the type and the shape of one
