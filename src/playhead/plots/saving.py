"""Figures as files: PNG, SVG or PDF by the end of the name."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from playhead import disk
from playhead.errors import BadName
from playhead.paths import GivenPath, as_path
from playhead.plots.style import DPI

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_FORMATS = ("png", "svg", "pdf")


def check_ending(path: GivenPath | None) -> str:
    """Give the format that a path asks for; PNG where there is none.

    Raises:
        BadName: It asks for another one.
    """
    ending = "png" if path is None else as_path(path).suffix.lower().removeprefix(".")
    if ending not in _FORMATS:
        raise BadName(f"{path} does not say what to draw: let it end with {', '.join(f'.{one}' for one in _FORMATS)}")
    return ending


def save(figure: Figure, path: GivenPath | None) -> None:
    """Write a figure, whole or not at all; nowhere where the path is None."""
    if path is not None:
        picture = io.BytesIO()
        figure.savefig(picture, format=check_ending(path), dpi=DPI, facecolor="white")
        disk.save(as_path(path), picture.getvalue())
