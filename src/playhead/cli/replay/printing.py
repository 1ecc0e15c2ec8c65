"""Frames of an episode as text that stays, for pipes and for those who want to look back."""

from __future__ import annotations

import os
import shutil

import click
import numpy as np
from numpy.typing import NDArray

from playhead.cli import output
from playhead.cli.replay import cells
from playhead.export.film import Script

_ROWS = 32  # of a picture in a pipe, where nothing says how high a page is
_BAND = 3


def print_frames(script: Script, scenes: range, count: int) -> None:
    """Print frames that are evenly spread over scenes, the last one among them, each with its figures.

    Args:
        script: What is shown.
        scenes: Which part of it.
        count: How many frames.
    """
    click.echo(script.title)
    for scene in chosen(scenes, count):
        print_picture(script.picture(scene), _figures(script, scene))


def print_picture(picture: NDArray[np.uint8], caption: str) -> None:
    """Print one picture with a line below it, as large as the window allows."""
    depth = cells.depth_of(os.environ) if output.in_terminal() else cells.PLAIN
    window = shutil.get_terminal_size()
    rows = max(1, window.lines - _BAND) if output.in_terminal() else _ROWS
    tall, wide = cells.fitted(picture.shape, rows, window.columns)
    lines = cells.lines(cells.encoded(picture, tall, wide, depth), depth)
    click.echo("\n".join(["", *lines, caption]), color=depth != cells.PLAIN)


def chosen(scenes: range, count: int) -> list[int]:
    """Spread places over scenes: the first and the last, and others between them; a single one is the last."""
    places = np.linspace(scenes[0], scenes[-1], min(count, len(scenes))).round().astype(int)
    return [scenes[-1]] if count == 1 else list(dict.fromkeys(places.tolist()))


def _figures(script: Script, scene: int) -> str:
    parts = [f"{figure.label} {figure.text}" for figure in script.figures(scene)]
    return "  ".join([*parts, script.ending(scene) or script.remark(scene)]).rstrip()
