"""Scenes as pictures of a film: the frame enlarged, and a band below it with the figures."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from playhead.errors import WrongShape
from playhead.export.film.figures import BAD, FAINT, GOOD, PLAIN, Figure
from playhead.export.film.pictures import RGB
from playhead.export.film.script import Script

HEIGHT = 480  # to which small pictures are enlarged, about
_LEAST_WIDTH = 320  # of a film, so that the band has room
_MOST = 8192  # pixels on a side that encoders take

Colour = tuple[int, int, int]

BACKGROUND: Colour = (18, 20, 26)
TRACK: Colour = (46, 50, 61)
PLAYED: Colour = (90, 150, 250)
LABEL: Colour = (136, 144, 162)
TONES: dict[str, Colour] = {
    PLAIN: (236, 239, 244),
    FAINT: LABEL,
    GOOD: (92, 214, 132),
    BAD: (255, 107, 99),
}
BADGE: Colour = (240, 180, 60)
_BADGE_INK: Colour = (28, 22, 8)


def factor_for(height: int) -> int:
    """Give the whole factor that brings a picture near the height of a film."""
    return max(1, round(HEIGHT / height))


class Canvas:
    """Draws the scenes of a script, all of one size.

    Args:
        script: What is shown.
        scenes: Which scenes.
        scale: By how much pictures are enlarged; without it, to about 480 pixels of height.

    Raises:
        WrongShape: They become too large.

    Attributes:
        width: Of the film, an even number.
        height: Likewise.
        band: The first row of the band below the picture.
        left: The first column of the picture.
        scale: By how much pictures are enlarged.
    """

    def __init__(self, script: Script, scenes: range, scale: int | None = None) -> None:
        pictures = script.pictures
        self._script = script
        self._scenes = scenes
        self.scale = scale or factor_for(pictures.height)
        wide, tall = pictures.width * self.scale, pictures.height * self.scale
        self.width = _even(max(wide, _LEAST_WIDTH))
        if max(wide, tall) > _MOST:
            hint = "" if self.scale == 1 else f"; enlarge them less than {self.scale} times"
            raise WrongShape(f"a film has no room for pictures of {wide}×{tall} pixels{hint}")
        self.left = (self.width - wide) // 2
        self.band = tall
        self._unit = min(2.5, max(1.0, self.width / 480))
        self._margin = round(14 * self._unit)
        self._rows = self._arranged()
        self.height = _even(tall + self._band_height())

    def draw(self, scene: int) -> RGB:
        """Draw a scene whole."""
        canvas = np.empty((self.height, self.width, 3), np.uint8)
        canvas[: self.band] = BACKGROUND
        picture = enlarged(self._script.picture(scene), self.scale)
        canvas[: picture.shape[0], self.left : self.left + picture.shape[1]] = picture
        canvas[self.band :] = self.draw_band(scene)
        return canvas

    def picture(self, scene: int) -> RGB:
        """Give the picture of a scene as it is, without a band."""
        return self._script.picture(scene)

    def draw_band(self, scene: int) -> RGB:
        """Draw what is below the picture."""
        from PIL import Image, ImageDraw

        image = Image.new("RGB", (self.width, self.height - self.band), BACKGROUND)
        draw = ImageDraw.Draw(image)
        self._draw_bar(draw, scene)
        figures = {figure.label: figure for figure in self._script.figures(scene)}
        for row, labels in enumerate(self._rows):
            top = round(19 * self._unit) + row * self._row_height()
            for label, (x, room) in labels.items():
                draw.text((x, top), label.upper(), LABEL, _font(self._small), anchor="ls")
                figure = figures.get(label, Figure(label, ""))
                text = fitted(_spaced(figure.text), room, self._large)
                draw.text((x, top + round(17 * self._unit)), text, TONES[figure.tone], _font(self._large), anchor="ls")
        self._draw_foot(draw, scene)
        return np.asarray(image)

    @property
    def _small(self) -> int:
        return round(11 * self._unit)

    @property
    def _large(self) -> int:
        return round(15 * self._unit)

    def _row_height(self) -> int:
        return round(38 * self._unit)

    def _band_height(self) -> int:
        return len(self._rows) * self._row_height() + round(34 * self._unit)

    def _arranged(self) -> list[dict[str, tuple[int, int]]]:
        """Give each figure a place, and the room that its widest text needs; one that finds none begins a row."""
        room = self.width - 2 * self._margin
        widest: dict[str, int] = {}
        for figures in self._script.samples():
            for figure in figures:
                text, label = _spaced(figure.text), figure.label.upper()
                needed = max(width_of(text, self._large), width_of(label, self._small))
                widest[figure.label] = min(room, max(widest.get(figure.label, 0), needed))
        spare = (room - sum(widest.values())) // max(1, len(widest) - 1)
        gap = min(round(28 * self._unit), max(round(8 * self._unit), spare))
        rows: list[dict[str, tuple[int, int]]] = [{}]
        x = self._margin
        for label, needed in widest.items():
            if x > self._margin and x + needed > self._margin + room:
                rows.append({})
                x = self._margin
            rows[-1][label] = (x, needed + gap // 2)
            x += needed + gap
        for row in rows:  # the last of a row has all that is left
            label = list(row)[-1]
            row[label] = (row[label][0], self._margin + room - row[label][0])
        return rows

    def _draw_bar(self, draw: Any, scene: int) -> None:
        thick = max(2, round(2 * self._unit))
        played = (scene - self._scenes.start) / max(1, len(self._scenes) - 1)
        draw.rectangle((0, 0, self.width, thick - 1), TRACK)
        if played > 0:
            draw.rectangle((0, 0, max(0, round(self.width * played) - 1), thick - 1), PLAYED)

    def _draw_foot(self, draw: Any, scene: int) -> None:
        """Write what it is, at the bottom; at the right how it ended, or of which step the picture is."""
        base = round(20 * self._unit) + len(self._rows) * self._row_height() + round(2 * self._unit)
        right = self.width - self._margin
        if ending := self._script.ending(scene).upper():
            wide, pad = width_of(ending, self._small), round(5 * self._unit)
            box = (right - wide - 2 * pad, base - round(11 * self._unit), right, base + round(5 * self._unit))
            draw.rounded_rectangle(box, round(3 * self._unit), BADGE)
            draw.text((box[0] + pad, base), ending, _BADGE_INK, _font(self._small), anchor="ls")
            right = box[0] - pad
        elif remark := self._script.remark(scene):
            wide = width_of(remark, self._small)
            draw.text((right - wide, base), remark, LABEL, _font(self._small), anchor="ls")
            right -= wide + round(10 * self._unit)
        title = fitted(_spaced(self._script.title, " · "), right - self._margin, self._small)
        draw.text((self._margin, base), title, LABEL, _font(self._small), anchor="ls")


def _spaced(text: str, what: str = " ") -> str:
    """Widen spaces, which are narrow in the font that Pillow brings."""
    return text.replace(what, f" {what} " if what.strip() else f"{what} ")


def enlarged(picture: NDArray[Any], factor: int) -> NDArray[Any]:
    """Repeat each pixel."""
    return picture.repeat(factor, axis=0).repeat(factor, axis=1) if factor > 1 else picture


def width_of(text: str, size: int) -> int:
    """Measure a text in pixels."""
    return int(_font(size).getlength(text) + 0.5)


def fitted(text: str, room: int, size: int) -> str:
    """Cut a text to a width in pixels, with an ellipsis where something is missing."""
    if width_of(text, size) <= room:
        return text
    low, high = 0, len(text)
    while low < high:
        kept = (low + high + 1) // 2
        low, high = (kept, high) if width_of(f"{text[:kept]}…", size) <= room else (low, kept - 1)
    return f"{text[:low].rstrip()}…"


@lru_cache(maxsize=16)
def _font(size: int) -> Any:
    from PIL import ImageFont

    return ImageFont.load_default(size)


def _even(number: int) -> int:
    return number + number % 2
