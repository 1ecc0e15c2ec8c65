"""A film as GIF: one palette for all pictures, and of each only what has changed."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead import disk
from playhead.export.film.canvas import BACKGROUND, BADGE, PLAYED, TONES, TRACK, Colour
from playhead.export.film.pictures import RGB

UNIT = 1e-2  # seconds
LEAST = 0.02  # what is shorter, browsers show for a tenth of a second

_TRANSPARENT = 255
_LONGEST = 65_535
_SHADES = 5  # between the band and each colour on it, for the smooth edges of letters
_AT_ONCE = 4096
_SAMPLES = 32  # pictures that many colours are chosen by
_PIXELS = 1_000_000
_PLAIN: list[Colour] = [BACKGROUND, TRACK, PLAYED]
_INKS: list[Colour] = [*TONES.values(), BADGE]
_MOST = _TRANSPARENT - len(_PLAIN) - _SHADES * len(_INKS)  # colours that are left for pictures


class Gif:
    """Writes pictures of one size into a GIF that repeats for ever.

    Args:
        draft: The file.
        size: Width and height of the pictures.
        band: The row at which the band below them begins.
        palette: The colours, up to 255.
        is_exact: The pictures have no other colours; else they are mixed of neighbouring dots.
    """

    def __init__(
        self, draft: disk.Draft, size: tuple[int, int], band: int, palette: NDArray[np.uint8], is_exact: bool
    ) -> None:
        self._draft = draft
        self._band = band
        self._palette = _Palette(palette)
        self._is_exact = is_exact
        self._before: NDArray[np.uint8] | None = None
        table = palette.tobytes().ljust(256 * 3, b"\0")
        draft.write(b"GIF89a" + struct.pack("<HHBBB", *size, 0b1111_0111, 0, 0) + table)
        draft.write(b"!\xff\x0bNETSCAPE2.0\x03\x01" + struct.pack("<HB", 0, 0))

    def add(self, picture: RGB, duration: int) -> None:
        """Add a picture that is shown for so many units."""
        from PIL import GifImagePlugin, Image

        shown = self._palette.nearest if self._is_exact else self._palette.mixed
        parts = [shown(picture[: self._band]), self._palette.nearest(picture[self._band :])]
        indices = np.concatenate(parts)
        top, left, changed = _changed(indices, self._before)
        self._before = indices
        image = Image.frombytes("P", changed.shape[::-1], changed.tobytes())
        options = {"duration": min(duration, _LONGEST) * 10, "transparency": _TRANSPARENT, "disposal": 1}
        for part in GifImagePlugin.getdata(image, (left, top), **options):
            self._draft.write(part)

    def finish(self) -> None:
        """Write the end of the file."""
        self._draft.write(b";")


def palette_of(pictures: Callable[[int], RGB], scenes: Sequence[int]) -> tuple[NDArray[np.uint8], bool]:
    """Choose the colours for a film: all there are, where they are few, else those that are nearest to most.

    Args:
        pictures: Gives the picture of a scene.
        scenes: The scenes.

    Returns:
        Up to 255 colours, and whether they are all there are.
    """
    seen = np.zeros(1 << 24, np.bool_)
    found: list[int] = []
    for scene in scenes:
        packed = _packed(pictures(scene))
        new = np.unique(packed[~seen[packed]])
        seen[new] = True
        found += new.tolist()
        if len(found) > _MOST:
            places = np.linspace(0, len(scenes) - 1, _SAMPLES).astype(int)
            colours = _nearest_to_most([pictures(scenes[place]) for place in np.unique(places)])
            return np.concatenate([colours, _band_colours()]), False
    return np.concatenate([_unpacked(np.array(found, np.int64)), _band_colours()]), True


def _nearest_to_most(pictures: list[RGB]) -> NDArray[np.uint8]:
    from PIL import Image

    pixels = np.concatenate([picture.reshape(-1, 3) for picture in pictures])
    pixels = pixels[:: 1 + len(pixels) // _PIXELS]
    found = Image.fromarray(pixels[None]).quantize(_MOST, Image.Quantize.MEDIANCUT).getpalette() or []
    return np.array(found[: _MOST * 3], np.uint8).reshape(-1, 3)


def _band_colours() -> NDArray[np.uint8]:
    shares = np.linspace(0, 1, _SHADES + 1)[1:, None]
    mixed = [np.array(BACKGROUND) * (1 - shares) + np.array(ink) * shares for ink in _INKS]
    return np.concatenate([np.array(_PLAIN), *mixed]).round().astype(np.uint8)


def _packed(picture: RGB) -> NDArray[np.int64]:
    wide = picture.astype(np.int64)
    packed: NDArray[np.int64] = wide[..., 0] << 16 | wide[..., 1] << 8 | wide[..., 2]
    return packed


def _unpacked(colours: NDArray[np.int64]) -> NDArray[np.uint8]:
    return np.stack([colours >> 16, colours >> 8 & 255, colours & 255], axis=-1).astype(np.uint8)


class _Palette:
    """Colours by number."""

    def __init__(self, colours: NDArray[np.uint8]) -> None:
        from PIL import Image

        self._colours = colours.astype(np.int32)
        self._known = np.full(1 << 24, _TRANSPARENT, np.uint8)
        self._image: Any = Image.new("P", (1, 1))
        # Pillow fills up what is missing with black, which then would be found under a number that is not ours.
        filled = np.concatenate([colours, np.repeat(colours[-1:], 256 - len(colours), axis=0)])
        self._image.putpalette(filled.tobytes())

    def nearest(self, picture: RGB) -> NDArray[np.uint8]:
        """Give the number of the nearest colour for each pixel. Pillow's own way takes some that are only near."""
        packed = _packed(picture)
        found: NDArray[np.uint8] = self._known[packed]
        if (new := np.unique(packed[found == _TRANSPARENT])).size:
            for part in np.array_split(new, 1 + len(new) // _AT_ONCE):
                distances = np.square(_unpacked(part).astype(np.int32)[:, None] - self._colours).sum(axis=-1)
                self._known[part] = distances.argmin(axis=-1)
            found = self._known[packed]
        return found

    def mixed(self, picture: RGB) -> NDArray[np.uint8]:
        """Give numbers of colours that are right in the mean of neighbouring pixels."""
        from PIL import Image

        found = Image.fromarray(picture).quantize(palette=self._image, dither=Image.Dither.FLOYDSTEINBERG)
        numbers: NDArray[np.uint8] = np.minimum(np.asarray(found), np.uint8(len(self._colours) - 1))
        return numbers


def _changed(indices: NDArray[np.uint8], before: NDArray[np.uint8] | None) -> tuple[int, int, NDArray[np.uint8]]:
    """Give the part of a picture that differs from the one before, and where it lies; what does not is left open."""
    if before is None:
        return 0, 0, indices
    differs = indices != before
    rows, columns = np.flatnonzero(differs.any(axis=1)), np.flatnonzero(differs.any(axis=0))
    if not len(rows):
        return 0, 0, np.full((1, 1), _TRANSPARENT, np.uint8)
    part = np.s_[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    return int(rows[0]), int(columns[0]), np.where(differs[part], indices[part], np.uint8(_TRANSPARENT))
